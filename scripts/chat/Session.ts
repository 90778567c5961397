/**
 * One conversation with an agent, over the HTTP API: send, follow, decide.
 */
import { randomUUID } from "node:crypto"
import { Schema } from "effect"
import type { CustomerEvent } from "../../src/conversation/CustomerView.ts"
import { RunEvent } from "../../src/run/RunEvent.ts"
import { listNames } from "../../src/value/Nearest.ts"
import { ApiClient, ApiError } from "./ApiClient.ts"
import { Payload, View } from "./View.ts"

// What this client reads of the answers; other members are left out.
const Accepted = Schema.Struct({
  run_id: Schema.String,
  conversation_id: Schema.String,
  ordinal: Schema.Int
})

const RunAnswer = Schema.Struct({
  id: Schema.String,
  conversation: Schema.String,
  agent: Schema.String,
  ordinal: Schema.Int,
  status: Schema.String,
  length: Schema.Int,
  pending_approvals: Schema.Array(Schema.Struct({ payload: Payload })),
  unknown_calls: Schema.Array(Schema.Struct({ call: Schema.String })),
  client_calls: Schema.Array(Schema.Struct({ id: Schema.String }))
})

export interface Run extends Omit<typeof RunAnswer.Type, "ordinal"> {
  /** Its place in the conversation. */
  ordinal: number
  /** Of a customer, who reads no run: it is known by its conversation's events alone. */
  readonly own?: true
}

const Runs = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ id: Schema.String, conversation: Schema.String, ordinal: Schema.Int })
  )
})

const Approval = Schema.Struct({ id: Schema.String, run_id: Schema.String, payload: Payload })
const Approvals = Schema.Struct({ items: Schema.Array(Approval) })
type Approval = typeof Approval.Type

const Message = Schema.Struct({
  role: Schema.String,
  content: Schema.String,
  run_id: Schema.optionalKey(Schema.String)
})
const Messages = Schema.Struct({
  messages: Schema.Array(Message),
  next_after: Schema.optionalKey(Schema.Int)
})
export type Message = typeof Message.Type

const Events = Schema.Struct({
  items: Schema.Array(Schema.Struct({ seq: Schema.Int, event: RunEvent })),
  next_after: Schema.optionalKey(Schema.Int)
})

/** Where following a run stopped. */
export type Pause =
  | { readonly how: "ended"; readonly status: string }
  | { readonly how: "asked"; readonly questions: ReadonlyArray<Payload> }
  | { readonly how: "unknown" }
  /** Another client of the conversation has to give a call its result. */
  | { readonly how: "client" }
  /** People are asked, and this token may not answer. */
  | { readonly how: "waits" }

export type Verdict =
  | { readonly decision: "approve" }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "request_revision"; readonly note: string }
  | { readonly decision: "modify"; readonly arguments: unknown }

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** Throws an ApiError, whose message is for the person who typed the text. */
export const parseArguments = (text: string): unknown => {
  try {
    return decodeJson(text)
  } catch {
    throw new ApiError("The arguments are not JSON.")
  }
}

/** How long the service may be away before the client gives up, in ms. */
const patience_ms = 300_000
/** A `seq` after the last event of any run. */
const last_seq = 999_999_999

export class Session {
  readonly client: ApiClient
  readonly view: View
  /** The command line that reaches the same service again. */
  readonly command: string
  conversation: string | undefined
  #hasSent = false

  constructor(client: ApiClient, view: View, command: string, conversation: string | undefined) {
    this.client = client
    this.view = view
    this.command = command
    this.conversation = conversation
  }

  /** The key makes it safe to send again: the service was reached once, or not at all. */
  async send(agent: string, text: string, patiently: boolean): Promise<Run> {
    const path =
      this.conversation === undefined
        ? "/v1/messages"
        : `/v1/conversations/${encodeURIComponent(this.conversation)}/messages`
    const key = { "idempotency-key": randomUUID() }
    // After the first message the conversation may have been handed over: whoever holds it takes the next one.
    const message = this.#hasSent ? { text } : { agent, text }
    const accepted = await this.#patiently(
      () => this.client.call(path, Accepted, message, key),
      patiently ? patience_ms : 0
    )
    this.#hasSent = true
    this.conversation = accepted.conversation_id
    const { conversation_id: conversation, ordinal, run_id } = accepted
    return this.#runOrOwn({ id: run_id, conversation, agent, ordinal })
  }

  /** A run as staff sees it; for a customer what it knows itself. */
  async #runOrOwn(known: Pick<Run, "id" | "conversation" | "agent" | "ordinal">): Promise<Run> {
    try {
      return await this.run(known.id)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error
      const nothing = { length: 0, pending_approvals: [], unknown_calls: [], client_calls: [] }
      return { ...known, ...nothing, status: "processing", own: true }
    }
  }

  /** The run that a conversation's last message began, if it is on its way. */
  async unfinished(messages: ReadonlyArray<Message>, agent: string): Promise<Run | undefined> {
    const { conversation } = this
    const id = messages.findLast(({ run_id }) => run_id !== undefined)?.run_id
    if (id === undefined || conversation === undefined) return undefined
    // Where its place is not known, its events are looked for from the conversation's first one on.
    const run = await this.#runOrOwn({ id, conversation, agent, ordinal: 1 })
    const isOn = run.own
      ? !messages.some(({ role, run_id }) => role === "assistant" && run_id === id)
      : ["pending", "processing", "awaiting_approval"].includes(run.status)
    return isOn ? run : undefined
  }

  /** What was said so far, oldest first. Nothing in a conversation that its first message will begin. */
  async messages(): Promise<ReadonlyArray<Message>> {
    const { conversation } = this
    if (conversation === undefined) return []
    const found: Array<Message> = []
    let after: number | undefined = -1
    while (after !== undefined) {
      const path: string = `/v1/conversations/${encodeURIComponent(conversation)}?limit=500&after=${after}`
      const page: typeof Messages.Type = await this.client
        .call(path, Messages)
        .catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return { messages: [] }
          throw error
        })
      found.push(...page.messages)
      after = page.next_after
    }
    return found
  }

  run(id: string): Promise<Run> {
    return this.#patiently(() => this.client.call(`/v1/runs/${id}`, RunAnswer))
  }

  /** Reads the first events of a run, at most `count`, which are not shown: later ones refer to them. */
  async recall({ id }: Run, count: number): Promise<void> {
    let after: number | undefined = -1
    while (after !== undefined && after + 1 < count) {
      const limit = Math.min(500, count - after - 1)
      const path: string = `/v1/runs/${id}/events?limit=${limit}&after=${after}`
      const page: typeof Events.Type = await this.client.call(path, Events)
      for (const { event } of page.items) this.view.remember(event)
      after = page.next_after
    }
  }

  async pending(): Promise<ReadonlyArray<Approval>> {
    return (await this.client.call("/v1/approvals?limit=500", Approvals)).items
  }

  approval(id: string): Promise<Approval> {
    return this.client.call(`/v1/approvals/${encodeURIComponent(id)}`, Approval)
  }

  async decide(id: string, verdict: Verdict): Promise<void> {
    await this.client.post(`/v1/approvals/${encodeURIComponent(id)}/decision`, verdict)
  }

  /** Says once that the service is away, and fails after `wait_ms`. */
  #patiently<A>(request: () => Promise<A>, wait_ms: number = patience_ms): Promise<A> {
    return this.client.patiently(wait_ms, request, (reason) => this.view.line(`  ! ${reason}`))
  }

  /** A conversation's messages are handled one after the other: one that waits for a person holds back those behind it. */
  async #sayWhatItWaitsBehind({ conversation, ordinal }: Run): Promise<void> {
    for (const waiting of ["approval", "unknown"]) {
      const { items } = await this.client.call(`/v1/runs?limit=500&waiting=${waiting}`, Runs)
      const first = items.find(
        (each) => each.conversation === conversation && each.ordinal < ordinal
      )
      if (first === undefined) continue
      this.view.line(
        `  ! This message waits behind run ${first.id}, which waits for a person: ${this.command} --pending`
      )
      return
    }
  }

  /**
   * Shows what a run does behind its first `shown` events, until it has ended or, everything being shown, waits for a
   * person. Says how many are shown then.
   */
  async follow(
    run: Run,
    shown: number
  ): Promise<{ readonly pause: Pause; readonly shown: number }> {
    const { conversation, id, ordinal } = run
    let known = run.own ? run : await this.run(id)
    const waits = pauseOf(known)
    if (waits !== undefined && known.length === shown) return { pause: waits, shown }
    if (known.status === "pending") await this.#sayWhatItWaitsBehind(run)
    const cursor =
      shown > 0 ? `${ordinal}.${shown - 1}` : ordinal === 1 ? "0" : `${ordinal - 1}.${last_seq}`
    let away = false
    const lost = (reason: string) => {
      if (!away) this.view.line(`  ! ${reason}`)
      away = true
    }
    for await (const { data, id: place, name } of this.client.follow(
      conversation,
      cursor,
      patience_ms,
      lost
    )) {
      away = false
      const item = data as {
        readonly run_id: string
        readonly seq: number
        readonly event: RunEvent | CustomerEvent
      }
      // What a message is queued behind is said before.
      if (name === "error" || name === "queued" || item.run_id !== id) continue
      if (name === "delta") {
        this.view.delta(data as Parameters<View["delta"]>[0])
        continue
      }
      const { event, seq } = item
      if (place !== undefined) run.ordinal = Number.parseInt(place, 10)
      if (run.own) this.view.customerEvent(event as CustomerEvent)
      else this.view.event(event as RunEvent)
      if (event._tag === "RunEnded") {
        return { pause: { how: "ended", status: event.status }, shown: seq + 1 }
      }
      if (run.own) {
        if (event._tag !== "ApprovalRequested") continue
        const pause: Pause =
          "payload" in event ? { how: "asked", questions: [event.payload] } : { how: "waits" }
        return { pause, shown: seq + 1 }
      }
      if (seq + 1 > known.length && tellsOfPeople.has(event._tag)) known = await this.run(id)
      const pause = seq + 1 === known.length ? pauseOf(known) : undefined
      if (pause !== undefined) return { pause, shown: seq + 1 }
    }
    throw new ApiError("The stream ended.")
  }
}

/** After these a run may wait for a person, where it did not before. */
const tellsOfPeople: ReadonlySet<string> = new Set<RunEvent["_tag"]>([
  "ApprovalRequested",
  "ApprovalDecided",
  "ApprovalClosed",
  "ClientRequested",
  "CallUnknown",
  "CallSettled"
])

/** What a run waits for; undefined if it goes on without a person. */
const pauseOf = ({
  client_calls,
  pending_approvals,
  status,
  unknown_calls
}: Run): Pause | undefined => {
  if (status !== "awaiting_approval") return undefined
  if (pending_approvals.length > 0) {
    return { how: "asked", questions: pending_approvals.map(({ payload }) => payload) }
  }
  if (unknown_calls.length > 0) return { how: "unknown" }
  return client_calls.length > 0 ? { how: "client" } : undefined
}

const Agents = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ name: Schema.String, kind: Schema.optionalKey(Schema.String) })
  )
})

const kind = "world"

/**
 * The agent of a name; `told` is called with what to say where another one is meant. Throws an ApiError where there is none. Who may not
 * list agents, as a customer, is told by the first message.
 */
export const namedAgent = async (
  client: Pick<ApiClient, "call">,
  name: string,
  told: (text: string) => void
): Promise<string> => {
  const items = await client.call("/v1/agents", Agents).then(
    (answer) => answer.items,
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return undefined
      throw error
    }
  )
  if (items === undefined || items.some((each) => each.name === name)) return name
  const worlds = items.filter((each) => each.kind === kind)
  const [first, ...others] = worlds.map((each) => each.name).toSorted()
  if (name !== kind || first === undefined) {
    const names = items.map((each) => each.name)
    throw new ApiError(`There is no agent ${JSON.stringify(name)}.${listNames(names)}`)
  }
  const rest = others.length === 0 ? "" : `; there are also ${others.join(", ")}`
  told(`  · each world has an agent of its own: this is ${first}${rest}`)
  return first
}
