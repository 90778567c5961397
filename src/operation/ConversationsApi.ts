/**
 * The endpoints of conversations and of messages to agents.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Metadata } from "../conversation/Conversation.ts"
import { FileDigest, FileName, MediaType, parts_max } from "../conversation/Part.ts"
import { TaskStatus } from "../delivery/AgentTask.ts"
import { AgentName, ConversationId, RunId } from "../value/Ids.ts"
import { CheckedAnswerSchema } from "../run/AnswerSchema.ts"
import { QueuedBehind } from "../run/QueuedBehind.ts"
import { CheckedRunContext } from "../run/RunContext.ts"
import { change, get, importHistory, list, remove } from "./ConversationOperations.ts"
import { endpointOf } from "./Endpoint.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Problem404, Problem409, Problem413, Problem422, Problem429 } from "./Problem.ts"

const described = {
  type: Schema.Literals(["image", "audio", "file"]),
  media_type: MediaType,
  name: Schema.optionalKey(FileName)
}
const PartInputPayload = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String.check(Schema.isMinLength(1)) }),
  Schema.Struct({ ...described, digest: FileDigest, size: Schema.optionalKey(Schema.Int) }),
  Schema.Struct({ ...described, data: Schema.String })
]).annotate({ identifier: "Part" })

const message = {
  /**
   * The text and the texts among the parts have at most 1,000,000 bytes of UTF-8 together. The text may be empty if there are
   * parts.
   */
  text: Schema.String,
  /**
   * Images, audio and other files, and texts between them, which follow the text; 1 to 32 parts. A file is named by the result
   * of its upload (`POST /v1/files`), or comes with `data`: its bytes in base64.
   */
  parts: Schema.optionalKey(Schema.Array(PartInputPayload).check(Schema.isMaxLength(parts_max))),
  /**
   * JSON Schema of an object that the answer has to fit, at most 65,536 characters. Customers may not send one. Absent = any
   * text is an answer.
   */
  answer_schema: Schema.optionalKey(CheckedAnswerSchema),
  /**
   * Context for the run's instructions, permissions and tools, which the model does not see: at most 16,384 characters of JSON.
   * Customers may not send one. Absent = none.
   */
  context: Schema.optionalKey(CheckedRunContext),
  /**
   * What the application notes of the conversation that this message begins; of another one it is left as it is. Customers may
   * not send it. Absent = nothing.
   */
  metadata: Schema.optionalKey(Metadata)
}
const MessagePayload = Schema.Struct({ agent: AgentName, ...message }).annotate({
  identifier: "Message"
})
const FurtherMessagePayload = Schema.Struct({
  /**
   * The agent that receives the message. Absent = the agent that has the conversation now: the one to which it was handed over,
   * or to which its last message was sent.
   */
  agent: Schema.optionalKey(AgentName),
  ...message,
  /**
   * A run of this conversation that is over, in place of which this message stands: a branch beside it, which later messages
   * follow. With an empty text and no parts that run's message is said again. What the replaced run did is not undone.
   */
  replaces: Schema.optionalKey(RunId)
}).annotate({ identifier: "FurtherMessage" })

/** A message as JSON has it. Absent `agent`: only in a conversation. */
export type MessageJson = typeof FurtherMessagePayload.Encoded
/** What is known of a message once it is durable, as JSON has it. */
export type AcceptedJson = typeof AcceptedMessage.Encoded

const AcceptedMessage = Schema.Struct({
  task_id: RunId,
  run_id: RunId,
  conversation_id: ConversationId,
  /** The run's number in its conversation, from 1. It is the first half of the ids of its events. */
  ordinal: Schema.Int,
  status: TaskStatus,
  /** The message waits behind an earlier run, which waits for people to answer these questions. Absent = it does not. */
  queued_behind: Schema.optionalKey(QueuedBehind)
}).annotate({ identifier: "AcceptedMessage" })

const posting = {
  headers: {
    "idempotency-key": Schema.optionalKey(
      Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
    ),
    /** W3C Baggage. Its members that begin with `troupe.` name the run from within which the message is sent. */
    baggage: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(8_192)))
  },
  payload: MessagePayload,
  success: HttpApiSchema.WithHeaders(AcceptedMessage.pipe(HttpApiSchema.status(202)), {
    location: Schema.String
  }),
  error: [Problem404, Problem409, Problem413, Problem422, Problem429]
} as const

const postDescription =
  "The answer comes as a run. The same Idempotency-Key with the same message is the same task; with another message it is refused (422). Pass on the `baggage` of a request that a run sent: a message that is nested too deep is refused (403), and its run stays within what is left of the outer run's budget. With an `answer_schema`, the text of a complete run is JSON that fits it; a run whose second answer does not fit fails (`answer_unfit`)."

const send = HttpApiEndpoint.post("send", "/v1/messages", posting)
  .annotate(Needs, "send")
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send a message in a new conversation",
      description: postDescription
    })
  )
  .middleware(RequestBody)

const sendTo = HttpApiEndpoint.post("sendTo", "/v1/conversations/:id/messages", {
  ...posting,
  payload: FurtherMessagePayload,
  params: { id: ConversationId }
})
  .annotate(Needs, "send")
  .annotateMerge(
    OpenApi.annotations({
      summary: "Send a message in a conversation",
      description: postDescription
    })
  )
  .middleware(RequestBody)

const events = HttpApiEndpoint.get("events", "/v1/conversations/:id/events", {
  params: { id: ConversationId },
  query: { after: Schema.optionalKey(Schema.String) },
  headers: { "last-event-id": Schema.optionalKey(Schema.String) },
  success: HttpApiSchema.StreamSse({ data: Schema.Json }),
  error: Problem404
})
  .annotate(Needs, "follow")
  .annotateMerge(
    OpenApi.annotations({
      summary: "A conversation's events, as they happen (server-sent events)",
      description:
        "Event ids are `{run_ordinal}.{seq}`, with `~{run_ordinal}.{seq}` behind it where runs answer beside that one. `Last-Event-ID`, or `after`, resumes behind an event; without it, or with 0, the stream begins at event 0. A cursor in a run that the conversation has not had yet is refused (400, `cursor-ahead`); of a run at work that has no such event, all events are given. The event's name is its type in snake_case; `delta` events are pieces of the turn in progress, have no id, and begin anew where `offset` is 0. A `queued` event, without an id, says that the message of `run_id` waits for the answers of people to the questions in `behind`. A fault ends the stream with an `error` event; of a run in quarantine that is over, its id resumes with the runs behind it. Closing the stream cancels nothing."
    })
  )

export class ConversationsApi extends HttpApiGroup.make("conversations")
  .add(
    send,
    sendTo,
    endpointOf(list),
    endpointOf(get),
    endpointOf(change),
    endpointOf(remove),
    endpointOf(importHistory),
    events
  )
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Conversations" })) {}
