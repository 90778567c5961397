import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { ToolError } from "../../src/error/ToolError.ts"
import { effectivePermission, Policy } from "../../src/permission/Policy.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { Governance } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { decodeToolSpec, encodeToolSpec } from "../../src/tool/ToolSpec.ts"

const declared = (given: object) =>
  tool(
    { namespace: "n", name: "t", side_effects: "write", input: Schema.Struct({}), ...given },
    () => "ran"
  )

const wrong = (given: object) => Effect.flip(declared(given))

const truths = ["idempotent", "deprecated", "transactional", "stop_loop", "text_result"]

/** A field, and what of its fix says which values it takes. */
const others: Readonly<Record<string, string>> = {
  namespace: 'such as "shop"',
  name: 'such as "refund_order"',
  version: "Write a tag",
  side_effects: "none, read, write or external",
  replay_policy: "must-stub, fail-loud or recorded-result",
  produces: 'Write "proposal", or leave it out',
  category: "read, suggest or mutate",
  group: "core, inspect",
  capabilities: "a list of at most 32",
  permission: "allow, ask or deny",
  rule_arguments: "the names of 1 to 16 arguments",
  needs_approval: "Write true beside",
  approval: "at-call or at-publication-gate",
  approvers: "a list of roles: viewer, approver, operator, admin, customer",
  approval_expires_ms: "whole milliseconds above 0",
  effect_description: "a text of at most 1000",
  idempotency: "with the scope run, conversation or tenant",
  cost_estimate: "the amount as a text",
  examples: "a list of at most 16",
  tags: "a list of at most 32 words",
  timeout_ms: "whole milliseconds, from 1 to 3600000",
  retry: "{ max_attempts",
  rate_limit: "from 1 to 1000000 and from 1 to 86400000",
  circuit: "from 1 to 1000 and from 1 to 3600000",
  concurrency_max: "from 1 to 10000",
  result_bytes_max: "from 1 to 64000000",
  description: "a text of at most 4000"
}

describe("the fix of a declaration", () => {
  it.effect("is that of the wrong field, whichever it is", () =>
    Effect.gen(function* () {
      for (const [field, says] of Object.entries(others)) {
        const value = field === "retry" ? { max_attempts: "x" } : [{ wrong: 1 }]
        const { message } = yield* wrong({ [field]: value })
        assert.include(message, `field "${field}`)
        assert.include(message, says)
        assert.notInclude(message, "Write true or false")
      }
      for (const field of truths) {
        const { message } = yield* wrong({ [field]: "yes" })
        assert.isTrue(message.endsWith("Write true or false, or leave it out."), message)
      }
    })
  )

  it.effect("of an unknown field is a near name or the known ones", () =>
    Effect.gen(function* () {
      const { message } = yield* wrong({ timeoutms: 3 })
      const asks = ': there is no such member. Did you mean "timeout_ms"?'
      assert.isTrue(message.endsWith(asks), message)
      const strange = (yield* wrong({ zzzzzzzzzzzz: 3 })).message
      assert.include(strange, ": there is no such member. There is: namespace, version, ")
    })
  )
})

const asked = (spec: { readonly permission?: "allow" | "ask" | "deny" }) =>
  effectivePermission(
    Policy.make({ mode: "allow" }),
    { name: "t", category: "read", read_only: true, ...spec },
    {},
    false
  )

describe("needs_approval", () => {
  it.effect("AG-63 is the permission ask, in a declaration, a family and a record", () =>
    Effect.gen(function* () {
      const spec = yield* declared({ side_effects: "read", needs_approval: true }).spec
      assert.strictEqual(spec.permission, "ask")
      assert.notProperty(spec, "needs_approval")
      // Nothing else would have asked for this read.
      assert.strictEqual(asked(spec), "ask")
      const unsaid = yield* declared({ side_effects: "read" }).spec
      assert.strictEqual(asked(unsaid), "allow")

      const kit = Toolkit.make(Tool.make("t", { success: Schema.String, failure: ToolError }))
      const t: Governance = { namespace: "n", side_effects: "read", needs_approval: true }
      const [made] = yield* govern(kit, { t }, { t: () => Effect.succeed("x") })
      assert.strictEqual(made?.spec.permission, "ask")

      const record = yield* encodeToolSpec(unsaid)
      const read = yield* decodeToolSpec({ ...record, needs_approval: true })
      assert.deepStrictEqual(read, spec)
      assert.notProperty(yield* encodeToolSpec(read), "needs_approval")
    })
  )

  it.effect(
    "AG-63 does not change a deny, contradicts an allow, and has no meaning when it is false",
    () =>
      Effect.gen(function* () {
        const denied = yield* declared({ needs_approval: true, permission: "deny" }).spec
        assert.strictEqual(denied.permission, "deny")
        const same = yield* declared({ needs_approval: true, permission: "ask" }).spec
        assert.strictEqual(same.permission, "ask")
        const error = yield* wrong({ needs_approval: true, permission: "allow" })
        assert.deepInclude(error, { tool: "t", field: "needs_approval" })
        assert.include(error.message, "allow says that nobody is asked. Write true beside no")
        assert.notProperty(yield* declared({ needs_approval: false }).spec, "permission")
        const allowed = yield* declared({ needs_approval: false, permission: "allow" }).spec
        assert.strictEqual(allowed.permission, "allow")
      })
  )
})
