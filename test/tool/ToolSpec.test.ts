import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { parseCapability, requiredCapabilities } from "../../src/capability/Capability.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { Governance } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { argumentsNamed, businessKey, sideEffectIdentity } from "../../src/tool/Idempotency.ts"
import { decodeToolSpec, encodeToolSpec, toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { minimal } from "./MinimalTool.ts"

const wrong = (record: object) => Effect.map(Effect.flip(decodeToolSpec(record)), (e) => e.message)

describe("a tool's record", () => {
  it.effect("SG-01 is refused without any one of its seven fields, which is named", () =>
    Effect.gen(function* () {
      for (const field of Object.keys(minimal)) {
        const { [field as keyof typeof minimal]: _, ...rest } = minimal
        assert.include(yield* wrong(rest), field)
      }
    })
  )

  it.effect("SG-02 is complete with these seven fields", () =>
    Effect.gen(function* () {
      const spec = yield* decodeToolSpec(minimal)
      assert.deepInclude(spec, {
        ...minimal,
        replay_policy: "must-stub",
        capabilities: [],
        idempotency: null,
        cost_estimate: null,
        examples: [],
        tags: [],
        deprecated: false,
        category: "read",
        approvers: [],
        effect_description: "Asks the broker.",
        idempotent: false,
        transactional: false,
        reconcile: false,
        timeout_ms: 60_000
      })
      assert.notProperty(spec, "permission")
      assert.notProperty(spec, "retry")
      assert.notProperty(spec, "rate_limit")
    })
  )

  it.effect("SG-03 is refused with a field that no tool has, at any depth", () =>
    Effect.gen(function* () {
      assert.include(yield* wrong({ ...minimal, side_efects: "read" }), "side_efects")
      const rate_limit = { calls_max: 1, window_ms: 1, burst: 2 }
      assert.include(yield* wrong({ ...minimal, rate_limit }), "burst")
    })
  )

  it.effect("SG-05 SG-10 SG-11 survives a round trip over the wire under Stargraph's names", () =>
    Effect.gen(function* () {
      const record = {
        ...minimal,
        side_effects: "external",
        replay_policy: "fail-loud",
        permissions: ["tools:broker_request", "net"],
        idempotency_key: "ask-{intent}",
        cost_estimate: "0.10",
        examples: [{ input: { intent: "x" }, output: [1] }],
        tags: ["broker"],
        deprecated: true,
        retry: {
          max_attempts: 3,
          backoff_initial_ms: 100,
          backoff_max_ms: 2_000,
          retry_on_kinds: ["timeout"]
        },
        rate_limit: { calls_max: 10, window_ms: 1_000 }
      }
      const spec = yield* decodeToolSpec(record)
      assert.deepStrictEqual(spec.capabilities, record.permissions)
      assert.isTrue(spec.idempotent)
      const wire: unknown = JSON.parse(JSON.stringify(yield* encodeToolSpec(spec)))
      assert.deepInclude(wire as object, record)
      assert.notProperty(wire, "capabilities")
      assert.notProperty(wire, "idempotency")
      assert.notProperty(wire, "idempotency_scope")
      assert.deepStrictEqual(yield* decodeToolSpec(wire), spec)
      const wide = yield* decodeToolSpec({ ...record, idempotency_scope: "tenant" })
      assert.deepStrictEqual(wide.idempotency, { key: "ask-{intent}", scope: "tenant" })
      assert.deepStrictEqual(yield* decodeToolSpec(yield* encodeToolSpec(wide)), wide)
      assert.include(yield* wrong({ ...minimal, idempotency_scope: "tenant" }), "without a key")
      for (const side_effects of ["READ", "mutating", "", null]) {
        assert.include(yield* wrong({ ...minimal, side_effects }), "side_effects")
      }
      for (const cost_estimate of [0.1, 1, "1e3", "-1", "0.10 USD", "", "1."]) {
        assert.include(yield* wrong({ ...minimal, cost_estimate }), "cost_estimate")
      }
    })
  )

  it("SG-04 SG-07 has a key of namespace, name and version, whatever the form of the version", () => {
    assert.strictEqual(toolKeyOf(minimal), "nautilus.broker_request@1")
    assert.strictEqual(
      toolKeyOf({ ...minimal, version: "2026.4-rc_1" }),
      "nautilus.broker_request@2026.4-rc_1"
    )
  })

  it.effect("SG-34 SG-37 asks for capabilities of a name and a scope after its first colon", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(requiredCapabilities("a:b"), ["a:b"])
      assert.deepStrictEqual(requiredCapabilities(null), [])
      assert.deepStrictEqual(parseCapability("net.fetch:https://x/*"), {
        name: "net.fetch",
        scope: "https://x/*"
      })
      assert.deepStrictEqual(parseCapability("tools:"), { name: "tools", scope: null })
      assert.deepStrictEqual(parseCapability("tools"), { name: "tools", scope: null })
      for (const capability of [
        "",
        ":x",
        "a b",
        "*",
        "fs.*:x",
        "a:\n",
        "a:".padEnd(600, "x"),
        ".a"
      ]) {
        const said = yield* wrong({ ...minimal, permissions: [capability] })
        assert.include(said, "permissions", capability)
      }
    })
  )
})

interface Mistake {
  readonly given: object
  readonly field: string
  /** What of the problem and of the fix its text has to hold. */
  readonly says: ReadonlyArray<string>
}

const mistakes: ReadonlyArray<Mistake> = [
  { given: { namespace: "my shop" }, field: "namespace", says: ["64 letters", "shop"] },
  { given: { side_effects: "mutating" }, field: "side_effects", says: ["none, read, write"] },
  { given: { replay_policy: "must_stub" }, field: "replay_policy", says: ["must-stub"] },
  { given: { capabilities: "fs read" }, field: "capabilities.0", says: ["name or name:scope"] },
  { given: { cost_estimate: 0.1 }, field: "cost_estimate", says: ['"0.10"'] },
  { given: { timeout_ms: 0 }, field: "timeout_ms", says: ["3600000"] },
  { given: { result_bytes_max: 1e12 }, field: "result_bytes_max", says: ["64000000"] },
  { given: { rate_limit: { calls_max: 5 } }, field: "rate_limit.window_ms", says: ["calls_max"] },
  { given: { retry: { attempts: 5 } }, field: "retry.attempts", says: ["max_attempts"] },
  { given: { retry: { max_attempts: 1e9 } }, field: "retry.max_attempts", says: ["max_attempts"] },
  { given: { time_out_ms: 5 }, field: "time_out_ms", says: ["no such member", '"timeout_ms"'] },
  {
    given: { idempotency: { key: "{or der}", scope: "run" } },
    field: "idempotency.key",
    says: ["order-{order_id}"]
  },
  {
    given: { idempotency: { key: "{id}", scope: "run" } },
    field: "idempotency.key",
    says: ['"id"', "order_id"]
  },
  {
    given: { idempotency: { key: "{order_id}" } },
    field: "idempotency.scope",
    says: ["run, conversation or tenant"]
  },
  {
    given: { idempotency: "refund-{order_id}" },
    field: "idempotency",
    says: ["run, conversation or tenant"]
  },
  {
    given: { idempotency: { key: "{order_id}", scope: "tenant", days: 3 } },
    field: "idempotency.days",
    says: ["run, conversation or tenant"]
  },
  {
    given: { idempotency_key: "refund-{order_id}" },
    field: "idempotency_key",
    says: ["how far the key reaches", "idempotency: {"]
  },
  {
    given: { idempotency: { key: "{order_id}", scope: "tenant", holds_ms: 999 } },
    field: "idempotency.holds_ms",
    says: ["holds_ms from 1000"]
  },
  {
    given: {
      side_effects: "external",
      idempotency: { key: "{order_id}", scope: "run", holds_ms: "1 day" }
    },
    field: "idempotency.holds_ms",
    says: ["as long as the run"]
  },
  {
    given: { side_effects: "read", idempotency: { key: "{order_id}", scope: "tenant" } },
    field: "idempotency.scope",
    says: ["side_effects are read", "Set scope to run"]
  },
  {
    given: { side_effects: "external", retry: { max_attempts: 2 } },
    field: "retry.max_attempts",
    says: ["external", "idempotency", "max_attempts to 1"]
  },
  {
    given: {
      side_effects: "write",
      transactional: true,
      idempotent: true,
      retry: { max_attempts: 2 }
    },
    field: "retry",
    says: ["transaction", "Drop retry"]
  },
  {
    given: { side_effects: "external", transactional: true },
    field: "transactional",
    says: ["side_effects write"]
  },
  {
    given: { side_effects: "write", transactional: true, timeout_ms: 6_000 },
    field: "timeout_ms",
    says: ["5000"]
  },
  {
    given: { reconcile: () => Effect.succeed({ _tag: "Unknown" }) },
    field: "reconcile",
    says: ["side_effects write or external"]
  },
  {
    given: { examples: [{ input: { order_id: 7 } }] },
    field: "examples.0.input",
    says: ["order_id", "arguments that the tool's input takes"]
  },
  {
    given: { examples: [{ input: { order_id: "7" }, output: 7 }] },
    field: "examples.0.output",
    says: ["leave it out"]
  },
  { given: { name: "no spaces" }, field: "name", says: ["letters"] },
  { given: { deprecated: "yes" }, field: "deprecated", says: ["true or false"] },
  { given: { tags: ["two words"] }, field: "tags.0", says: ["words without spaces"] }
]

const declared = (given: object) =>
  tool(
    {
      namespace: "shop",
      name: "refund",
      side_effects: "read",
      input: Schema.Struct({ order_id: Schema.String }),
      output: Schema.String,
      ...given
    },
    () => Effect.succeed("done")
  )

describe("a declaration", () => {
  it.effect("ends the start with a text that names the tool, the field and the fix", () =>
    Effect.gen(function* () {
      for (const { field, given, says } of mistakes) {
        const error = yield* Effect.flip(declared(given))
        assert.deepInclude(error, { _tag: "MisdeclaredTool", field })
        const name = "name" in given ? "no spaces" : "refund"
        assert.strictEqual(error.tool, name)
        assert.isTrue(error.message.startsWith(`tool "${name}", field "${field}": `), error.message)
        for (const part of says) assert.include(error.message, part)
        assert.notInclude(error.message, "\n    at ")
      }
    })
  )

  it.effect("of a family follows the same rules, tool by tool", () =>
    Effect.gen(function* () {
      const kit = Toolkit.make(Tool.make("look", { success: Schema.String, failure: ToolError }))
      const handlers = { look: () => Effect.succeed("x") }
      const governed = (look: unknown) =>
        Effect.flip(govern(kit, { look } as { look: Governance }, handlers))
      const retry = { max_attempts: 2 }
      const error = yield* governed({ namespace: "test", side_effects: "write", retry })
      assert.deepInclude(error, { tool: "look", field: "retry.max_attempts" })
      assert.deepInclude(yield* governed(undefined), { tool: "look", field: "governance" })
      const none = Effect.flip(
        govern(kit, { look: { namespace: "test", side_effects: "read" } }, {} as typeof handlers)
      )
      assert.deepInclude(yield* none, { tool: "look", field: "handler" })
    })
  )

  it.effect("SG-12 SG-13 SG-14 derives what is left out, and keeps what is declared", () =>
    Effect.gen(function* () {
      const derived = yield* declared({
        side_effects: "external",
        idempotency: { key: "{order_id}", scope: "tenant", holds_ms: "1 day" }
      }).spec
      assert.deepInclude(derived, {
        version: "1",
        category: "mutate",
        replay_policy: "must-stub",
        idempotent: true,
        idempotency: { key: "{order_id}", scope: "tenant", holds_ms: 86_400_000 }
      })
      const said = {
        version: "7",
        side_effects: "external",
        replay_policy: "recorded-result",
        category: "read",
        group: "meta",
        idempotency: { key: "{order_id}", scope: "run" },
        idempotent: false,
        effect_description: "Pays back.",
        permission: "ask",
        approval: "at-publication-gate",
        approvers: ["operator"],
        approval_expires_ms: 60_000,
        tags: ["money"],
        examples: [{ input: { order_id: "7" }, output: "done", note: "the usual" }],
        timeout_ms: 5,
        result_bytes_max: 10,
        rate_limit: { calls_max: 1, window_ms: 2 },
        stop_loop: true,
        deprecated: true,
        cost_estimate: "1"
      }
      assert.deepInclude((yield* declared(said).spec) as object, said)
      assert.deepStrictEqual((yield* declared({ capabilities: ["a", "b:c"] }).spec).capabilities, [
        "a",
        "b:c"
      ])
    })
  )

  it.effect("retries a write only with an idempotency key, and a read without one", () =>
    Effect.gen(function* () {
      const retry = { max_attempts: 3 }
      const complete = {
        max_attempts: 3,
        backoff_initial_ms: 100,
        backoff_max_ms: 2_000,
        retry_on_kinds: ["timeout", "external", "network"]
      }
      assert.deepStrictEqual((yield* declared({ retry }).spec).retry as unknown, complete)
      for (const more of [
        { idempotent: true },
        { idempotency: { key: "{order_id}", scope: "run" } }
      ]) {
        const spec = yield* declared({ side_effects: "write", retry, ...more }).spec
        assert.deepStrictEqual(spec.retry as unknown, complete)
      }
      const once = { side_effects: "write", retry: { max_attempts: 0 } }
      assert.strictEqual((yield* declared(once).spec).retry?.max_attempts, 1)
    })
  )
})

describe("an idempotency key", () => {
  const refund = { namespace: "shop", name: "refund" }
  const keyed = (key: string | null) => (key === null ? null : ({ key, scope: "run" } as const))
  const identity = (key: string | null, args: unknown) =>
    sideEffectIdentity({ ...refund, idempotency: keyed(key) }, args)

  it("SG-09 is equal for equal named arguments, and for no others", () => {
    assert.deepStrictEqual(argumentsNamed("a-{b}-{c.d}"), ["b", "c.d"])
    const of = (args: unknown) => identity("refund-{order.id}-{part}", args)
    const first = of({ order: { id: 7, note: "x" }, part: "a", trace: 1 })
    assert.strictEqual(first, of({ trace: 2, part: "a", order: { note: "y", id: 7 } }))
    for (const other of [
      { order: { id: "7" }, part: "a" },
      { order: { id: 7 }, part: "b" },
      { order: { id: 7 } },
      { order: 7, part: "a" },
      {}
    ]) {
      assert.notStrictEqual(first, of(other))
    }
    // Text that stands on one side of a joint is not text on the other.
    assert.notStrictEqual(
      identity("{a}-{b}", { a: "x-y", b: "z" }),
      identity("{a}-{b}", { a: "x", b: "y-z" })
    )
  })

  it("SG-09 without arguments identifies one side effect in a run, and its absence none", () => {
    assert.strictEqual(identity("once", { a: 1 }), identity("once", { a: 2 }))
    assert.notStrictEqual(
      identity("once", {}),
      sideEffectIdentity({ ...refund, name: "pay", idempotency: keyed("once") }, {})
    )
    assert.strictEqual(identity(null, { a: 1 }), undefined)
    assert.isString(identity("{constructor}", JSON.parse('{"__proto__":{"constructor":1}}')))
  })

  it("has a text with the values of its arguments", () => {
    const of = (key: string, args: unknown) => businessKey({ key, scope: "tenant" }, args)
    assert.strictEqual(of("refund-{order_id}", { order_id: "1004" }), "refund-1004")
    assert.strictEqual(of("a-{b.c}-{d}", { b: { c: 7 }, d: { f: 1, e: [] } }), 'a-7-{"e":[],"f":1}')
    assert.strictEqual(of("{order_id}/{order_id}", {}), "/")
    assert.strictEqual(of("{$a}", { $a: "$&" }), "$&")
  })
})
