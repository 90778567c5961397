/** The operation that takes an event of another system. Over HTTP it has the two forms of CloudEvents, as `EventsApi` declares it. */
import { Schema } from "effect"
import { ReceivedEvent } from "../delivery/IncomingEvent.ts"
import { operation } from "./Operation.ts"

export const publish = operation({
  id: "publish",
  name: "publish",
  method: "POST",
  path: "/v1/events",
  /** The event in structured form. */
  payload: Schema.Struct({ event: Schema.Unknown }),
  success: ReceivedEvent,
  problems: [409, 422],
  right: "publish",
  args: ["event"],
  summary: "Take an event (CloudEvents 1.0)"
})
