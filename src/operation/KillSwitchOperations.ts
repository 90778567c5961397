/**
 * The operations of the kill switch, which stops every tool in the caller's tenant at once.
 */
import { Schema } from "effect"
import { operation } from "./Operation.ts"

const State = Schema.Struct({ on: Schema.Boolean })

export const get = operation({
  id: "get",
  name: "toolsStopped",
  method: "GET",
  path: "/v1/kill-switch",
  success: State,
  right: "inspect",
  summary: "Are the tools of this tenant stopped?"
})

export const turn = operation({
  id: "turn",
  name: "stopTools",
  method: "PUT",
  path: "/v1/kill-switch",
  payload: State,
  success: State,
  right: "stopTools",
  args: ["on"],
  summary: "Stop the tenant's tools, or let them run again",
  description:
    "Holds for every call of the tenant's runs that has not begun: at once in the process that answers, about two seconds later in the others, and after restarts, until it is turned again. Where the store is away the answer is 503, and tells nothing of the switch: with a token that the service was started with the process that answers has stopped the tools, with a stored one it could not look who asks. Other tenants are not touched. `on` stays true while the process itself has stopped every tool."
})
