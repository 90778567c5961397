/** The gate of a worker, which has a policy and no kill switch. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { PermissionPolicy } from "../../services/PermissionPolicy.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { policyOf } from "../../src/permission/Policy.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const called = Effect.fnUntraced(function* (to: string) {
  const queue = yield* ToolQueue
  const payload = { id: to, name: "t.say@1", arguments: { to }, loop_id: "loop", trace_id: "trace" }
  yield* queue.send({
    id: to,
    tool: "t.say@1",
    tenant: Tenant.make("acme"),
    expires_at: 4_000_000_000_000,
    payload: payload as never
  })
  return yield* queue.awaited(to)
})

it.live(
  "AG-59 a worker refuses what its policy denies, and its bodies can ask which other calls are permitted",
  () => {
    const answers: Array<ReadonlyArray<boolean | undefined>> = []
    const say = tool(
      {
        namespace: "t",
        name: "say",
        side_effects: "read",
        input_schema: { type: "object", properties: { to: { type: "string" } } }
      },
      (_, { permits }) =>
        Effect.sync(() => {
          answers.push(["bob", "eve", "who"].map((to) => permits?.({ to })))
          return "done"
        })
    )
    const policy = policyOf({
      rules: [
        { pattern: "say(eve:*)", permission: "deny" },
        { pattern: "say(who:*)", permission: "ask" },
        { pattern: "say(cat:*)", permission: "deny", unless_roles: ["admin"] }
      ]
    })
    return Effect.gen(function* () {
      assert.deepInclude(yield* called("bob"), { content: '"done"' })
      assert.deepStrictEqual(answers, [[true, false, false]])
      const denied = yield* called("eve")
      assert.deepInclude(denied, { error_kind: "permission", error: '"say" is not permitted.' })
      assert.deepNestedInclude(denied, { "metadata.error_reason": "PERMISSION_DENIED" })
      assert.match((yield* called("who")).error!, /^approval_required: /)
      assert.deepInclude(yield* called("cat"), {
        error: '"say" is not permitted for whoever sent the message.'
      })
      assert.lengthOf(answers, 1)
    }).pipe(
      Effect.provide(
        ToolWorker.layer({ tools: [say] }).pipe(
          Layer.provide(Layer.succeed(PermissionPolicy, policy)),
          Layer.provideMerge(EphemeralToolQueue.layer)
        )
      )
    )
  }
)
