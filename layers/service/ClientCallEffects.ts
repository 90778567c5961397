/** Calls that the client of a conversation answers. The approval desk checks the result and who may give it. */
import { Effect } from "effect"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { ClientAnswer } from "../../src/approval/Approval.ts"
import * as ClientCallOperations from "../../src/operation/ClientCallOperations.ts"
import { conversationFor } from "./CustomerRules.ts"
import { serve } from "./Served.ts"

export const list = serve(
  ClientCallOperations.list,
  Effect.fnUntraced(function* ({ id }, by) {
    yield* conversationFor(by, "answer", id)
    return { items: yield* ApprovalDesk.use((desk) => desk.clientCalls(id, by)) }
  })
)

export const answer = serve(ClientCallOperations.answer, ({ id, ...result }, by) =>
  ApprovalDesk.use((desk) => desk.answer(id, result as ClientAnswer, by))
)
