import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { failureOf } from "../../src/error/ToolError.ts"
import { filterApproval, isApprovalRequired } from "../../src/permission/ApprovalFilter.ts"
import { Policy } from "../../src/permission/Policy.ts"
import * as CallMessages from "../../src/semstreams/CallMessage.ts"
import type { CallMessage } from "../../src/semstreams/CallMessage.ts"
import { call, text } from "../../layers/model/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const ids = (calls: ReadonlyArray<unknown>) =>
  calls.map((each) => (isRecord(each) ? (each.id ?? each.call_id) : each))

const filtered = (input: Fields, expect: Fields): void => {
  const { approved, rejected } = filterApproval(
    input.approvalRequired as ReadonlyArray<string> | null,
    input.calls as ReadonlyArray<CallMessage>
  )
  if (Array.isArray(expect.approved)) assert.deepStrictEqual(ids(approved), ids(expect.approved))
  if (Array.isArray(expect.rejected)) {
    assert.deepStrictEqual(ids(rejected.map((each) => each.call)), ids(expect.rejected))
  }
  if ("reason" in expect) {
    const failure = failureOf(rejected[0]!.error)
    assert.strictEqual(failure.message, expect.reason)
    assert.strictEqual(failure.kind, expect.errorKind)
    assert.strictEqual(failure.class, expect.errorClass)
    assert.isTrue(isApprovalRequired(failure.message))
  }
}

/** Whatever a model writes, in the call or in its arguments, a listed tool asks. */
const gated = Effect.fnUntraced(function* (given: Fields, expected: unknown) {
  const name = String(given.name)
  const wire = CallMessages.fromModel({ id: "1", ...given } as CallMessage)
  assert.lengthOf(filterApproval([name], [wire]).rejected, expected === true ? 1 : 0)
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
    return { rows: "SM-48 SM-49", run: Effect.sync(() => filtered(input, expect)) }
  }
  if (hasShape(input, ["isApprovalRequired"])) {
    const said = isApprovalRequired(String(input.isApprovalRequired))
    return { rows: "SM-48", run: Effect.sync(() => assert.strictEqual(said, expect)) }
  }
  if (hasShape(input, ["modelToolCall"]) && isRecord(input.modelToolCall) && isRecord(expect)) {
    return { rows: "SM-21 SM-49", run: gated(input.modelToolCall, expect.gated) }
  }
  return undefined
})
