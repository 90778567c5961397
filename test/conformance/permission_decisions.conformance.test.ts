import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Subject } from "../../src/permission/Policy.ts"
import { effectivePermission, PermissionMode, policyOf } from "../../src/permission/Policy.ts"
import type { Permission, SideEffects } from "../../src/tool/SideEffects.ts"
import { categoryOf } from "../../src/tool/SideEffects.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const server = "mcp:vec"

const policyFrom = (input: Fields) =>
  policyOf({
    ...(input.default === null || input.default === undefined
      ? undefined
      : { mode: input.default }),
    rules: input.rules ?? [],
    servers: typeof input.serverPermission === "string" ? { [server]: input.serverPermission } : {}
  })

const effects = (hint: unknown): SideEffects =>
  hint === true ? "read" : hint === false ? "write" : "external"

const subject = (input: Fields, name: string): Subject => ({
  name,
  category: categoryOf(effects(input.readOnlyHint)),
  read_only: typeof input.readOnlyHint === "boolean" ? input.readOnlyHint : null,
  server,
  ...(typeof input.specPermission === "string"
    ? { permission: input.specPermission as Permission }
    : undefined)
})

const isMode = Schema.is(PermissionMode)

const decided = (stored: unknown) => (stored === "allow" || stored === "deny" ? stored : undefined)

/** The permission of a call, by the function that the gate uses. */
const effective = (input: Fields, name: string) =>
  effectivePermission(
    policyFrom(input),
    subject(input, name),
    input.args,
    input.killSwitch === true
  )

/**
 * Plays the call on a real run. A stored decision is made at the desk, which is possible only where the call asks for an
 * approval.
 */
const gated = Effect.fnUntraced(function* (input: Fields, expect: Fields, name: string) {
  let bodies = 0
  yield* Stage.stage(
    {
      tools: {
        [name]: {
          governance: {
            side_effects: effects(input.readOnlyHint),
            ...(typeof input.specPermission === "string"
              ? { permission: input.specPermission as Permission }
              : undefined)
          },
          provider: server,
          body: () => Effect.sync(() => ++bodies)
        }
      },
      policy: policyFrom(input),
      script: [call(name, (isRecord(input.args) ? input.args : {}) as never), text("done")]
    },
    Effect.gen(function* () {
      if (input.killSwitch === true) {
        yield* KillSwitch.use(({ turn }) => turn(true, Stage.operator))
      }
      const run = yield* Stage.begin
      const asked = yield* Stage.pending
      assert.lengthOf(asked, expect.effective === "ask" ? 1 : 0)
      if ("storedConsulted" in expect) {
        assert.strictEqual(asked.length > 0, expect.storedConsulted)
      }
      const stored = decided(input.storedDecision)
      if (asked.length > 0 && stored !== undefined) {
        const decision = stored === "allow" ? { _tag: "Approve" } : { _tag: "Deny", reason: "no" }
        yield* ApprovalDesk.use((desk) =>
          desk.decide(asked[0]!.id, decision as never, Stage.operator)
        )
        yield* Stage.settle
      }
      const [settled] = Stage.tagged(yield* Stage.events(run), "CallSettled")
      assert.strictEqual(bodies, expect.verdict === "allow" ? 1 : 0)
      switch (expect.verdict) {
        case "allow":
          return assert.strictEqual(settled?.outcome._tag, "Value")
        case "pendingApproval":
          return assert.isUndefined(settled)
        default:
          return assert.include(["Failed", "Denied"], settled?.outcome._tag)
      }
    })
  )
})

const verdicts: ReadonlyArray<unknown> = ["allow", "deny", "pendingApproval"]

conformance("permission_decisions", ({ expect, input }): Driven =>
  isRecord(expect) &&
  verdicts.includes(expect.verdict) &&
  hasShape(
    input,
    [],
    [
      "default specPermission readOnlyHint storedDecision toolName args rules serverPermission killSwitch".split(
        " "
      )
    ].flat()
  )
    ? {
        rows: rowsOf(
          [true, "AG-58 AG-59"],
          [Array.isArray(input.rules) && input.rules.length > 1, "AG-60"],
          ["storedConsulted" in expect || input.storedDecision !== undefined, "AG-61"],
          [input.killSwitch === true || !isMode(input.default), "AG-62"],
          [expect.verdict !== "allow", "AG-64"]
        ),
        run: Effect.gen(function* () {
          const name = typeof input.toolName === "string" ? input.toolName : "touch"
          assert.strictEqual(effective(input, name), expect.effective)
          if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) yield* gated(input, expect, name)
        })
      }
    : undefined
)
