import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Policy } from "../../src/permission/Policy.ts"
import type { CallMessage } from "../../src/queue/CallMessage.ts"
import { isApprovalRequired } from "../../src/queue/CallMessage.ts"
import { readReply } from "../../src/queue/ToolMessage.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Component from "./Component.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const ids = (calls: ReadonlyArray<unknown>) =>
  calls.map((each) => (isRecord(each) ? (each.id ?? each.call_id) : each))

/** Sends the calls to a component with this list of `approval_required`. */
const filtered = Effect.fnUntraced(function* (input: Fields, expect: Fields) {
  const given = input.calls as ReadonlyArray<CallMessage>
  // Ids of their own, because a case may leave them out or repeat them.
  const messages = given.map((each, n) => ({ ...each, id: `call-${n}` }))
  const names = [...new Set(messages.map(({ name }) => name))]
  const ran: Array<string> = []
  const registry = yield* Component.registryOf(
    names.map((name) => Component.reading(name, () => Effect.sync(() => void ran.push(name))))
  )
  const config = { approval_required: input.approvalRequired ?? [] }
  yield* Component.over(
    registry,
    config,
    Effect.gen(function* () {
      const executed = yield* Effect.forEach(messages, Component.execute)
      const [approved, rejected] = [false, true].map((waits) =>
        given.filter((_, n) => executed[n]!.awaits_approval === waits)
      )
      assert.strictEqual(ran.length, approved!.length)
      if (Array.isArray(expect.approved))
        assert.deepStrictEqual(ids(approved!), ids(expect.approved))
      if (Array.isArray(expect.rejected))
        assert.deepStrictEqual(ids(rejected!), ids(expect.rejected))
      if (!("reason" in expect)) return
      const refused = executed.find((each) => each.awaits_approval)!.result
      assert.strictEqual(refused.error, expect.reason)
      assert.strictEqual(refused.error_kind, expect.errorKind)
      assert.isTrue(isApprovalRequired(refused.error!))
      const reply = readReply((yield* Component.published(refused.call_id))!)
      assert.nestedPropertyVal(reply, "error._tag", expect.errorClass)
    })
  )
})

/** A model that claims an approval in its call or its arguments still needs one. */
const gated = Effect.fnUntraced(function* (given: Fields, expected: unknown) {
  const name = String(given.name)
  yield* Stage.stage(
    {
      tools: { [name]: { governance: { side_effects: "read" }, body: () => Effect.succeed(1) } },
      policy: Policy.make({ approval_required: [name] }),
      script: [call(name, given.arguments as never, given), text("done")]
    },
    Effect.gen(function* () {
      yield* Stage.begin
      assert.strictEqual((yield* Stage.pending).length > 0, expected)
    })
  )
})

conformance("approval_filter", ({ expect, input }): Driven => {
  if (hasShape(input, ["approvalRequired", "calls"]) && isRecord(expect)) {
    return { rows: "SM-48 SM-49", run: filtered(input, expect) }
  }
  if (hasShape(input, ["isApprovalRequired"])) {
    const isRefusal = isApprovalRequired(String(input.isApprovalRequired))
    return { rows: "SM-48", run: Effect.sync(() => assert.strictEqual(isRefusal, expect)) }
  }
  if (hasShape(input, ["modelToolCall"]) && isRecord(input.modelToolCall) && isRecord(expect)) {
    return { rows: "SM-21 SM-49", run: gated(input.modelToolCall, expect.gated) }
  }
  return undefined
})
