/**
 * A call whose result comes from the client of the conversation, as the client reads it, and the result as the client sends it.
 */
import { Schema } from "effect"
import { ApprovalId, CallId, RunId } from "../value/Ids.ts"
import type { Approval } from "./Approval.ts"
import { Reason } from "./DecisionPayload.ts"

export const ClientCall = Schema.Struct({
  id: ApprovalId,
  run_id: RunId,
  call: CallId,
  tool: Schema.String,
  /** The arguments of the model, or those with which an approver replaced them. */
  arguments: Schema.Json,
  /** JSON Schema of the result; `{}` = any JSON. */
  output_schema: Schema.Record(Schema.String, Schema.Json),
  /** ms since 1970. */
  requested_at: Schema.Int,
  /** When the call fails if no result has arrived, in ms since 1970. Absent = it waits without a limit. */
  expires_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "ClientCall" })
export interface ClientCall extends Schema.Schema.Type<typeof ClientCall> {}

/** The call that an approval's record stands for; undefined if the record is a question to approvers. */
export const clientCallOf = ({
  arguments: args,
  call,
  client,
  expires_at,
  id,
  payload,
  requested_at,
  run_id
}: Approval): ClientCall | undefined =>
  client === undefined
    ? undefined
    : {
        id,
        run_id,
        call,
        tool: payload.tool_name,
        arguments: args,
        output_schema: client.output_schema ?? {},
        requested_at,
        ...(expires_at === undefined ? undefined : { expires_at })
      }

/** The error message for a payload of any other shape. */
export const client_answer_expected =
  "Expected an object with result, which is any JSON, or with error, a text of 1 to 4,000 characters"

/** What the client sends: the result, or a text that says why there is none, which the model reads. */
export const ClientAnswer = Schema.Union([
  Schema.Struct({ result: Schema.Json }),
  Schema.Struct({ error: Reason })
]).annotate({ identifier: "ClientAnswer", message: client_answer_expected })
export type ClientAnswer = typeof ClientAnswer.Type
