/**
 * A call that was dispatched and whose outcome is unknown: its run waits until an operator settles it.
 */
import { Schema } from "effect"
import { AgentName, CallId, ConversationId, RunId } from "../value/Ids.ts"

export const UnknownCall = Schema.Struct({
  run_id: RunId,
  call: CallId,
  /** Its tool, as the model called it. Empty where its event is of a release that did not say. */
  tool: Schema.String,
  agent: AgentName,
  conversation: ConversationId,
  /** Since when; ms since 1970. */
  since: Schema.Int
}).annotate({ identifier: "UnknownCall" })
export interface UnknownCall extends Schema.Schema.Type<typeof UnknownCall> {}
