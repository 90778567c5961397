/**
 * The operations on calls whose results the client of a conversation sends, such as a browser.
 */
import { Schema } from "effect"
import { ClientAnswer, ClientCall } from "../approval/Approval.ts"
import { ApprovalId, ConversationId } from "../value/Ids.ts"
import { operation } from "./Operation.ts"

export const list = operation({
  id: "list",
  name: "clientCalls",
  method: "GET",
  path: "/v1/conversations/:id/client-calls",
  params: Schema.Struct({ id: ConversationId }),
  success: Schema.Struct({ items: Schema.Array(ClientCall) }),
  problems: [404, 409],
  right: "answer",
  args: ["id"],
  gives: "items",
  summary: "Calls that wait for the conversation's client, oldest first",
  description:
    "At most 100 of each unfinished run. The event `client_requested` of the conversation says when to ask."
})

export const answer = operation({
  id: "answer",
  name: "answerClientCall",
  method: "POST",
  path: "/v1/client-calls/:id/result",
  params: Schema.Struct({ id: ApprovalId }),
  payload: ClientAnswer,
  problems: [404, 409, 410, 422],
  right: "answer",
  args: ["id"],
  summary: "Give the result of a call",
  description:
    "Once: a second one is told so (409), also after a cancel. A call that waited too long is gone (410). A result that does not fit the call's `output_schema`, or has more than 1,000,000 bytes, is refused (422), and the call waits on."
})
