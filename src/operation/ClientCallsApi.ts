/**
 * The endpoints of calls whose results the client of a conversation sends, such as a browser.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ClientAnswer, ClientCall } from "../approval/ClientCall.ts"
import { ApprovalId, ConversationId } from "../value/Ids.ts"
import { rolesFor } from "../principal/Rights.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Problem404, Problem409, Problem410, Problem422 } from "./Problem.ts"

const list = HttpApiEndpoint.get("list", "/v1/conversations/:id/client-calls", {
  params: { id: ConversationId },
  success: Schema.Struct({ items: Schema.Array(ClientCall) }),
  error: [Problem404, Problem409]
})
  .annotate(Needs, rolesFor("answer"))
  .annotateMerge(
    OpenApi.annotations({
      summary: "Calls that wait for the conversation's client, oldest first",
      description:
        "At most 100 of each unfinished run. The event `client_requested` of the conversation says when to ask."
    })
  )

const answer = HttpApiEndpoint.post("answer", "/v1/client-calls/:id/result", {
  params: { id: ApprovalId },
  payload: ClientAnswer,
  error: [Problem404, Problem409, Problem410, Problem422]
})
  .annotate(Needs, rolesFor("answer"))
  .annotateMerge(
    OpenApi.annotations({
      summary: "Give the result of a call",
      description:
        "Once: a second one is told so (409), also after a cancel. A call that waited too long is gone (410). A result that does not fit the call's `output_schema`, or has more than 1,000,000 bytes, is refused (422), and the call waits on."
    })
  )
  .middleware(RequestBody)

export class ClientCallsApi extends HttpApiGroup.make("clientCalls")
  .add(list, answer)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Client calls" })) {}
