/** A client of the HTTP API: the operations by the names of their methods, messages with their runs, and files. */
import type { FilePart } from "../../../src/conversation/Part.ts"
import type { IncomingEvent } from "../../../src/delivery/IncomingEvent.ts"
import type { AcceptedJson, MessageJson } from "../../../src/operation/ConversationsApi.ts"
import type { PublishedJson } from "../../../src/operation/EventsApi.ts"
import type { Ask, CallOptions, ClientOptions } from "./Connection.ts"
import { Connection, jsonOf, segment } from "./Connection.ts"
import type { WatchItem } from "./ConversationWatch.ts"
import { watchConversation } from "./ConversationWatch.ts"
import type { SentRun } from "./FollowedRun.ts"
import { followRun, outcomeOf } from "./FollowedRun.ts"
import { routes } from "./MethodRoutes.ts"
import { isObject, unreadable, wrongInput } from "./TroupeError.ts"
import type { AnswerOf, AnswerSchema, PartOf } from "./SchemaAnswer.ts"
import { jsonSchemaOf, typedEnd } from "./SchemaAnswer.ts"

/** A message to an agent. */
export type MessageInput<S = never> = MessageJson & {
  /** The text of the message; may be empty if there are parts, or with `replaces`. */
  readonly text: string
  /** Images, audio, other files and texts between them, which follow the text; 1 to 32. `upload` gives one. */
  readonly parts?: NonNullable<MessageJson["parts"]>
  /** JSON Schema of an object that the answer has to fit, in place of `answer`. Customers may not send one. */
  readonly answer_schema?: NonNullable<MessageJson["answer_schema"]>
  /** Data for the agent and the tools of the run, which the model does not see. Customers may not send it. */
  readonly context?: NonNullable<MessageJson["context"]>
  /** What the application notes of the conversation that this message begins. Customers may not send it. */
  readonly metadata?: NonNullable<MessageJson["metadata"]>
  /** The conversation that it goes on with. Absent = a new one, for which the message names its `agent`. */
  readonly conversation?: string
  /**
   * Under one key a message is accepted once, also where it is sent again after a page was closed: 1 to 200 characters. Absent = one
   * that the client makes for each call, so that its own retries make one run.
   */
  readonly idempotency_key?: string
  /** The header `baggage` of the request that led to this message: the new run is nested in that run. Absent = it is not. */
  readonly baggage?: string
  /** A schema of the answer, such as one of zod: the answer has a `value` of it. Absent = any text, or `answer_schema`. */
  readonly answer?: S
}

/** A message that is durable. */
export interface Sent {
  /** The id of the run that answers it. */
  readonly run: string
  /** The id of its conversation. */
  readonly conversation: string
  /** The message's number in its conversation, from 1. */
  readonly ordinal: number
  /** The message waits behind an earlier run, which waits for people to answer these questions. Absent = it does not. */
  readonly queued_behind?: NonNullable<AcceptedJson["queued_behind"]>
}

/** A run that was sent before, to be followed again. */
export interface StreamedRun<S = never> extends SentRun {
  /** The `cursor` of the last part that was had: the stream goes on behind it. Absent = from the run's start. */
  readonly after?: string
  /** The schema that the message was sent with: the answer has a `value` of it. */
  readonly answer?: S
}

/** What is said of a file that is uploaded. */
export interface UploadOptions extends CallOptions {
  /** Its name. Absent = that of a `File`, or none. */
  readonly name?: string
  /** Its media type. Absent = that of the file, or `application/octet-stream`. */
  readonly media_type?: string
}

const upload_ms = 600_000

/** 128 random bits. `randomUUID` is not there in a page over plain HTTP. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0")
  ).join("")

/** Each of them does something more. */
const anew: ReadonlySet<string> = new Set<keyof typeof routes>([
  "authorize",
  "createToken",
  "createWebhook",
  "rotateWebhookSecret"
])

/** The method of a route: its parts go where the route has them, and all others into the query or the body. */
const methodOf = (connection: Connection, name: keyof typeof routes) => {
  const [method = "", path = "", ...places]: ReadonlyArray<string> = routes[name]
  const steps = path.split("/")
  const isRead = method === "GET" || method === "DELETE"
  const takesBody = !isRead && places.some((place) => !steps.includes(`:${place}`))
  return async (...args: ReadonlyArray<unknown>): Promise<unknown> => {
    const rest = args[places.indexOf("input")] ?? {}
    if (!isObject(rest)) throw wrongInput("expected an object")
    const named = places.map((place, at) => [place, args[at]] as const)
    const given: Record<string, unknown> = { ...rest, ...Object.fromEntries(named) }
    delete given["input"]
    if (name === "fork") given["idempotency_key"] ??= newKey()
    const filled = steps.map((step) => {
      if (!step.startsWith(":")) return step
      const { [step.slice(1)]: id } = given
      delete given[step.slice(1)]
      return segment(step.slice(1), id)
    })
    const ask: Ask = {
      method,
      path: filled.join("/"),
      isAnew: anew.has(name),
      ...(isRead ? { query: given } : undefined),
      ...(takesBody ? asJson(given) : undefined)
    }
    return connection.json(ask, args[places.length] as CallOptions | undefined)
  }
}

const asJson = (value: unknown, type = "application/json") => ({
  body: jsonOf(value),
  headers: { "content-type": type }
})

const sendMessage = async (
  connection: Connection,
  message: MessageInput<AnswerSchema>,
  options?: CallOptions
): Promise<Sent> => {
  if (!isObject(message)) throw wrongInput("expected a message")
  const { answer, baggage, conversation, idempotency_key = newKey(), ...said } = message
  const { body, headers } = asJson({
    ...said,
    ...(answer === undefined ? undefined : { answer_schema: jsonSchemaOf(answer) })
  })
  const accepted = (await connection.json(
    {
      method: "POST",
      path:
        conversation === undefined
          ? "/v1/messages"
          : `/v1/conversations/${segment("conversation", conversation)}/messages`,
      headers: {
        ...headers,
        "idempotency-key": idempotency_key,
        ...(baggage === undefined ? undefined : { baggage })
      },
      body
    },
    options
  )) as Partial<AcceptedJson> | undefined
  const { conversation_id, ordinal, queued_behind, run_id } = accepted ?? {}
  if (run_id === undefined || conversation_id === undefined || ordinal === undefined) {
    throw unreadable("it names no run")
  }
  return {
    run: run_id,
    conversation: conversation_id,
    ordinal,
    ...(queued_behind && { queued_behind })
  }
}

const upload = (
  connection: Connection,
  file: Blob | Uint8Array<ArrayBuffer>,
  { media_type, name, signal, timeout_ms = upload_ms }: UploadOptions
): Promise<unknown> => {
  const own = file as { readonly name?: unknown; readonly type?: string }
  const named = name ?? (typeof own.name === "string" ? own.name : undefined)
  const headers = { "content-type": media_type ?? (own.type || "application/octet-stream") }
  const ask = { method: "POST", path: "/v1/files", query: { name: named }, headers, body: file }
  return connection.json(ask, { signal, timeout_ms })
}

/** Sent when a loop begins, and again by each other loop, unless it has a key or names a run. */
async function* streamOf(
  connection: Connection,
  given: MessageInput<AnswerSchema> | StreamedRun<AnswerSchema>,
  { signal, timeout_ms }: CallOptions
) {
  if (!isObject(given)) throw wrongInput("expected a message, or a run")
  const again = "run" in given ? (given as StreamedRun<AnswerSchema>) : undefined
  const sent = again ?? (await sendMessage(connection, given, { signal, timeout_ms }))
  for await (const part of followRun(connection, sent, again?.after, signal)) {
    if (part.type !== "end") yield part
    else yield { type: "end", answer: await typedEnd(given.answer, part.answer) }
  }
}

const outcome = async (
  connection: Connection,
  sent: SentRun,
  answer: AnswerSchema | undefined,
  signal: AbortSignal | undefined
) => {
  const found = await outcomeOf(connection, sent, signal)
  return found.status === "awaiting_approval" ? found : typedEnd(answer, found)
}

/** An iterable whose every loop begins anew. */
const looping = <A>(begin: () => AsyncIterator<A>): AsyncIterable<A> => ({
  [Symbol.asyncIterator]: begin
})

/** What is not derived from routes. */
const written = (connection: Connection) => ({
  send: (message: MessageInput<AnswerSchema>, options?: CallOptions) =>
    sendMessage(connection, message, options),
  ask: async (message: MessageInput<AnswerSchema>, options: CallOptions = {}) => {
    const sent = await sendMessage(connection, message, options)
    return outcome(connection, sent, message.answer, options.signal)
  },
  result: (sent: StreamedRun<AnswerSchema>, { signal }: CallOptions = {}) =>
    outcome(connection, sent, sent.answer, signal),
  stream: (
    given: MessageInput<AnswerSchema> | StreamedRun<AnswerSchema>,
    options: CallOptions = {}
  ) => looping(() => streamOf(connection, given, options)),
  watch: (conversation: string, after = "0", { signal }: CallOptions = {}) =>
    looping(() => watchConversation(connection, conversation, after, signal)),
  upload: (file: Blob | Uint8Array<ArrayBuffer>, options: UploadOptions = {}) =>
    upload(connection, file, options),
  file: async (conversation: string, digest: string, options?: CallOptions) => {
    const place = `${segment("conversation", conversation)}/files/${segment("digest", digest)}`
    return connection.whole({ method: "GET", path: `/v1/conversations/${place}` }, options)
  },
  publish: (event: unknown, options?: CallOptions) =>
    connection.json(
      {
        method: "POST",
        path: "/v1/events",
        ...asJson(event, "application/cloudevents+json")
      },
      options
    )
})

/** All methods of a client. Throws `InvalidInput` for options that are none. */
export const serviceClient = (options: ClientOptions) => {
  const connection = new Connection(options)
  const derived = Object.keys(routes).map((given) => {
    const name = given as keyof typeof routes
    return [name, methodOf(connection, name)] as const
  })
  return { ...Object.fromEntries(derived), ...written(connection) }
}

/** The methods that no operation declares: messages, streams, files and events. */
export interface WrittenMethods {
  /**
   * Sends a message, which is durable when this resolves. Its retries make one run: they have one `idempotency_key`, which the client
   * makes unless the message has one.
   */
  send<S extends AnswerSchema = never>(
    message: MessageInput<S>,
    options?: CallOptions
  ): Promise<Sent>
  /**
   * Sends a message and waits for the end of its run (`complete`, `failed` or `cancelled`, with its text) or for its first question
   * (`awaiting_approval`, with the approvals). `result` waits again. Aborting the wait cancels nothing.
   */
  ask<S extends AnswerSchema = never>(
    message: MessageInput<S>,
    options?: CallOptions
  ): Promise<AnswerOf<S>>
  /** Waits as `ask` does, for a run that was sent before. */
  result<S extends AnswerSchema = never>(
    sent: SentRun & {
      /** The schema that the message was sent with. */
      readonly answer?: S
    },
    options?: CallOptions
  ): Promise<AnswerOf<S>>
  /**
   * Sends the message when the loop over it begins, and goes on until its run has ended: it yields the answer's text as the model
   * writes it, the events of the run, and the answer. Where the connection is lost it goes on by itself, at the very place in the
   * text, with nothing left out or given twice; a turn that was begun anew meanwhile comes after a `restart`. Each new loop sends
   * the message again, unless it has an `idempotency_key`. Leaving the loop cancels nothing.
   *
   * `{ run, conversation, after }` sends nothing: it gives a run that goes on or has ended, behind the `cursor` of a part.
   */
  stream<S extends AnswerSchema = never>(
    message: MessageInput<S> | StreamedRun<S>,
    options?: CallOptions
  ): AsyncIterable<PartOf<S>>
  /**
   * Everything that happens in a conversation: first the past from its start, or behind the cursor `after`, then what follows, over
   * lost connections, until the signal is aborted. Leaving the loop cancels nothing.
   */
  watch(conversation: string, after?: string, options?: CallOptions): AsyncIterable<WatchItem>
  /** Uploads a file for a message. Give what comes among the `parts` of a message, within a day. */
  upload(
    file: Blob | Uint8Array<ArrayBuffer>,
    options?: UploadOptions
  ): Promise<(typeof FilePart)["Encoded"]>
  /** The bytes of a file of a conversation, with their media type. */
  file(conversation: string, digest: string, options?: CallOptions): Promise<Blob>
  /** Publishes a CloudEvent 1.0, which is durable when this resolves. The same source and id again does nothing more. */
  publish(event: (typeof IncomingEvent)["Encoded"], options?: CallOptions): Promise<PublishedJson>
}
