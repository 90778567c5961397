import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { grantsOf, globMatches } from "../../src/capability/Capability.ts"
import { effectivePermission, Policy, policyOf } from "../../src/permission/Policy.ts"
import { read_only_groups } from "../../src/tool/ToolGroup.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const counted = () => {
  const ran: Array<number> = []
  return { ran, body: (n: number) => Effect.sync(() => ran.push(n)) }
}

const reasons = (all: Parameters<typeof H.settled>[0]) =>
  H.settled(all).map(({ outcome }) =>
    outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
  )

const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    lines.push(`${logLevel}: ${String(message)}`)
  })
  return { lines, layer: Logger.layer([logger]) }
}

describe("capabilities", () => {
  it.live("SG-35 SG-43 a call whose capability is missing never runs, and says which", () => {
    const { body, ran } = counted()
    const { layer, lines } = logged()
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(all), ["CAPABILITY_DENIED", "Value"])
      assert.deepStrictEqual(ran, [2])
      const [shown] = H.resultsShown((yield* H.requests)[1])
      assert.include(shown, '"vault.read:prod/db"')
      assert.include(shown, "ToolPolicyError (permission")
      // An operator reads at the start what a model would find out call by call.
      assert.lengthOf(
        lines.filter((line) => line.includes('needs the capability "vault.read:prod/db"')),
        1
      )
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            secret: H.reads(body, { capabilities: ["files.read", "vault.read:prod/db"] }),
            file: H.reads(body, { capabilities: "files.read:/work/a.txt" })
          },
          agent: { capabilities: ["files.read", "vault.read:test/*"] },
          script: [calls([call("secret", { n: 1 }), call("file", { n: 2 })]), text("done")]
        }).pipe(Layer.provide(layer))
      )
    )
  })

  it.live("SG-44 what an agent was granted cannot be widened by a body that runs", () => {
    const capabilities = ["files.read"]
    const { body, ran } = counted()
    const widens = () => Effect.sync(() => capabilities.push("secrets.read"))
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(all), ["Value", "CAPABILITY_DENIED"])
      assert.deepStrictEqual(capabilities, ["files.read", "secrets.read"])
      assert.deepStrictEqual(ran, [])
      const grants = grantsOf([{ name: "a", scope: null }], false)
      assert.throws(() => (grants.granted as Array<unknown>).push("b"))
      assert.throws(() => Object.assign(grants.granted[0]!, { name: "b" }))
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            widens: H.reads(widens),
            secret: H.reads(body, { capabilities: "secrets.read" })
          },
          agent: { capabilities },
          script: [call("widens", { n: 1 }), call("secret", { n: 2 }), text("done")]
        })
      )
    )
  })

  it("SG-39 a scope is a case-sensitive glob that is matched in linear time", () => {
    assert.isTrue(globMatches("/workspace/*", "/workspace/a/b.csv"))
    assert.isFalse(globMatches("/workspace/*", "/Workspace/a"))
    assert.isTrue(globMatches("db-[0-9]?", "db-4x"))
    assert.isFalse(globMatches("db-[!0-9]", "db-4"))
    assert.isTrue(globMatches("[]]", "]"))
    assert.isTrue(globMatches("a[", "a["))
    assert.isFalse(globMatches("", "a"))
    assert.isFalse(globMatches(`${"*a".repeat(250)}b`, "a".repeat(512)))
  })
})

const kinds = {
  none: { side_effects: "none" },
  read: { side_effects: "read" },
  write: { side_effects: "write" },
  external: { side_effects: "external" },
  proposal: { side_effects: "external", produces: "proposal" }
} as const

describe("permission", () => {
  for (const permission of ["allow", "ask", "deny"] as const) {
    it.live(
      `AG-58 AG-64 ${permission} means the same for every kind of tool, and only an allowed one runs`,
      () => {
        const { body, ran } = counted()
        const tools = Object.fromEntries(
          Object.entries(kinds).map(([name, governance]) => [name, { governance, body }])
        )
        const names = Object.keys(kinds)
        return Effect.gen(function* () {
          const run = yield* H.send("hello")
          if (permission === "ask") {
            yield* H.happened(run, "ApprovalRequested", names.length)
            assert.lengthOf(yield* H.pending, names.length)
            assert.lengthOf(ran, 0)
            return
          }
          const all = yield* H.ended(run)
          const expected = permission === "allow" ? "Value" : "PERMISSION_DENIED"
          assert.deepStrictEqual(
            reasons(all),
            names.map(() => expected)
          )
          assert.lengthOf(ran, permission === "allow" ? names.length : 0)
          assert.lengthOf(yield* H.pending, 0)
        }).pipe(
          Effect.provide(
            H.layer({
              tools,
              policy: Policy.make({ rules: names.map((pattern) => ({ pattern, permission })) }),
              script: [calls(names.map((name, n) => call(name, { n }))), text("done")]
            })
          )
        )
      }
    )
  }

  it.live("SM-48 a tool on the list asks, though it would have been allowed", () => {
    const { body, ran } = counted()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      assert.lengthOf(ran, 0)
      yield* H.decide(approval, H.approve)
      assert.strictEqual(H.outcome(yield* H.ended(run))?._tag, "Value")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: H.reads(body, { permission: "allow" }) },
          policy: Policy.make({ mode: "allow", approval_required: ["test.t@1"] }),
          script: [call("t", { n: 1 }), text("done")]
        })
      )
    )
  })

  it.live("AG-62 the kill switch refuses the next call, until an operator turns it off", () => {
    const { body, ran } = counted()
    return Effect.gen(function* () {
      const switched = yield* KillSwitch
      const stranger = H.person("victor", ["viewer"])
      assert.strictEqual((yield* Effect.flip(switched.turn(true, stranger)))._tag, "NotEntitled")
      assert.isFalse(switched.isOn(H.tenant))
      yield* switched.turn(true, H.alice)
      const stopped = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(stopped), ["KILL_SWITCH"])
      const shown = H.resultsShown((yield* H.requests)[1])
      assert.include(shown[0], "every tool is stopped.")
      assert.lengthOf(ran, 0)
      yield* switched.turn(false, H.alice)
      const let_run = yield* H.ended(yield* H.send("hello", "c-2"), "c-2")
      assert.deepStrictEqual(reasons(let_run), ["Value"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { t: H.reads(body, { permission: "allow" }) },
          script: ({ transcript }) => (transcript.length === 1 ? call("t", { n: 1 }) : text("done"))
        })
      )
    )
  })

  it.live(
    "AG-62 an approval does not outlive the kill switch: the call passes the whole gate again",
    () => {
      const { body, ran } = counted()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        yield* KillSwitch.use(({ turn }) => turn(true, H.alice))
        yield* H.decide(approval, H.approve)
        assert.deepStrictEqual(reasons(yield* H.ended(run)), ["KILL_SWITCH"])
        assert.lengthOf(ran, 0)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { t: H.asks(body) },
            script: [call("t", { n: 1 }), text("done")]
          })
        )
      )
    }
  )

  it.live(
    "AG-62 the kill switch ends the attempts of a call, and calls that wait their turn",
    () => {
      let turn: KillSwitch["Service"]["turn"] | undefined
      let ran = 0
      const stops = () =>
        Effect.suspend(() => {
          ran++
          return Effect.andThen(
            Effect.orDie(turn!(true, H.alice)),
            Effect.fail(new ToolTransientError({ kind: "external", reason: "BUSY", message: "" }))
          )
        })
      const retry = { max_attempts: 3, backoff_initial_ms: 1, backoff_max_ms: 1 }
      const tools = {
        again: H.reads(stops, { retry }),
        one: H.writes(stops, { concurrency_max: 1 })
      }
      const script = [
        call("again", { n: 1 }),
        text("done"),
        calls([call("one", { n: 1 }), call("one", { n: 2 })]),
        text("done")
      ]
      return Effect.gen(function* () {
        turn = (yield* KillSwitch).turn
        assert.deepStrictEqual(reasons(yield* H.ended(yield* H.send("hello"))), ["BUSY"])
        yield* turn(false, H.alice)
        const all = yield* H.ended(yield* H.send("hello", "c-2"), "c-2")
        assert.sameMembers(reasons(all), ["BUSY", "KILL_SWITCH"])
        assert.strictEqual(ran, 2)
      }).pipe(Effect.provide(H.layer({ tools, script })))
    }
  )

  it.live(
    "AG-62 a tenant's switch stops the tools of that tenant alone, and no other tenant can turn it",
    () => {
      const { body, ran } = counted()
      const other = H.person("otto", ["operator"], Tenant.make("other"))
      return Effect.gen(function* () {
        const { turn, turnAll } = yield* KillSwitch
        const become = Effect.fnUntraced(function* (conversation: string, by: Principal) {
          return reasons(
            yield* H.ended(yield* H.send("hello", conversation, by), conversation, by)
          )[0]
        })
        yield* turn(true, H.alice)
        assert.strictEqual(yield* become("c-1", H.alice), "KILL_SWITCH")
        assert.strictEqual(yield* become("c-2", other), "Value")
        yield* turn(false, other)
        assert.strictEqual(yield* become("c-3", H.alice), "KILL_SWITCH")
        yield* turn(true, other)
        yield* turn(false, H.alice)
        assert.strictEqual(yield* become("c-4", H.alice), "Value")
        assert.strictEqual(yield* become("c-5", other), "KILL_SWITCH")
        yield* turn(false, other)
        yield* turnAll(true)
        yield* turn(false, H.alice)
        assert.strictEqual(yield* become("c-6", H.alice), "KILL_SWITCH")
        assert.strictEqual(yield* become("c-7", other), "KILL_SWITCH")
        yield* turnAll(false)
        assert.strictEqual(yield* become("c-8", H.alice), "Value")
        assert.lengthOf(ran, 3)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { t: H.reads(body, { permission: "allow" }) },
            script: ({ transcript }) =>
              transcript.length === 1 ? call("t", { n: 1 }) : text("done")
          })
        )
      )
    }
  )

  it.live("a call that the gate refuses does not count in its tool's rate limit", () => {
    const { body, ran } = counted()
    const policy = Policy.make({ rules: [{ pattern: "t(no:*)", permission: "deny" }] })
    const args = (to: string) => ({ n: 1, to })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(reasons(all), [
        "INPUT_SCHEMA",
        "PERMISSION_DENIED",
        "Value",
        "RATE_LIMITED"
      ])
      assert.lengthOf(ran, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            t: {
              ...H.reads(body, {
                rate_limit: { calls_max: 1, window_ms: 600_000 }
              }),
              parameters: { n: H.anyFields.n, to: H.textField }
            }
          },
          policy,
          script: [
            call("t", { n: "one" }),
            call("t", args("nobody")),
            call("t", args("bob")),
            call("t", args("bob")),
            text("done")
          ]
        })
      )
    )
  })

  it.live("an approval given under one policy is asked again under another", () => {
    const { body, ran } = counted()
    const options = (policy: Policy): H.Options => ({
      tools: { t: H.asks(body) },
      policy,
      script: ({ transcript }) => (transcript.length === 1 ? call("t", { n: 1 }) : text("done"))
    })
    return Effect.gen(function* () {
      const first = yield* H.boot(options(Policy.make({})))
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const second = yield* H.boot(options(Policy.make({ servers: { "mcp:x": "deny" } })))
      yield* second.run(H.decide(approval, H.approve))
      const again = yield* second.run(H.question(run, 2))
      assert.notStrictEqual(again.approval, approval)
      assert.lengthOf(ran, 0)
      yield* second.run(H.decide(again.approval, H.approve))
      yield* second.run(H.ended(run))
      assert.lengthOf(ran, 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.live("a policy that allows everything is logged at the start", () => {
    const { layer, lines } = logged()
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      assert.isTrue(lines.some((line) => line.startsWith("Warn") && line.includes('"allow"')))
    }).pipe(
      Effect.provide(
        H.layer({ policy: Policy.make({ mode: "allow" }), script: [text("hi")] }).pipe(
          Layer.provide(layer)
        )
      )
    )
  })

  it.live("a policy that cannot be decoded ends the start with what is wrong", () => {
    const { layer, lines } = logged()
    const rules = [{ pattern: "t", permission: "yes" }]
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const said = lines.filter((line) => line.startsWith("Warn"))
      assert.lengthOf(said, 1)
      assert.include(said[0], "cannot be read")
      assert.include(said[0], 'at ["rules"][0]["permission"]')
      assert.include(said[0], 'at ["mood"]')
    }).pipe(
      Effect.provide(
        H.layer({ policy: policyOf({ mood: "allow", rules }), script: [text("hi")] }).pipe(
          Layer.provide(layer)
        )
      )
    )
  })

  it("AG-62 a policy that cannot be decoded asks, and its rules allow nothing", () => {
    const broken = policyOf({ mode: "allow", rules: [{ pattern: "t", permission: "yes" }] })
    const reader = { name: "t", category: "read", read_only: true } as const
    assert.strictEqual(effectivePermission(broken, reader, {}, false), "ask")
    assert.strictEqual(effectivePermission(policyOf(undefined), reader, {}, false), "allow")
  })

  it("AG-59 a rule reads the argument that the tool declares first, wherever the model wrote it", () => {
    const policy = Policy.make({
      mode: "ask",
      rules: [
        { pattern: "run(npm test:*)", permission: "allow" },
        { pattern: "run(npm test --fix:*)", permission: "deny" }
      ]
    })
    const tool = {
      name: "run",
      category: "mutate",
      read_only: false,
      arguments: ["command", "why"]
    } as const
    const of = (args: unknown) => effectivePermission(policy, tool, args, false)
    assert.strictEqual(of({ command: "npm test" }), "allow")
    assert.strictEqual(of({ why: "npm test", command: "rm -rf /" }), "ask")
    assert.strictEqual(of({ command: "npm test --fix" }), "deny")
  })
})

describe("groups", () => {
  it.live(
    "SM-83 an agent that only explores is shown the read-only groups, and calls no other",
    () => {
      const { body, ran } = counted()
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepStrictEqual(reasons(all), ["NOT_ALLOWED", "Value"])
        assert.deepStrictEqual(ran, [2])
        const [request] = yield* H.requests
        assert.deepStrictEqual(
          request!.tools.map(({ name }) => name),
          ["web_search", "lookup"]
        )
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              bash: H.reads(body),
              web_search: H.reads(body),
              lookup: H.reads(body, { group: "knowledge" })
            },
            agent: { groups: read_only_groups },
            script: [calls([call("bash", { n: 1 }), call("lookup", { n: 2 })]), text("done")]
          })
        )
      )
    }
  )
})
