/** What a run did when, read from its events: turns of models, calls of tools, and the waits for people. */
import type { CallId, FrameId } from "../../src/value/Ids.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"

/** Something that took time. Times are in ms since 1970. */
export interface Span {
  readonly kind: "model" | "tool" | "person"
  /** How deep its frame is among the specialists, from 0. */
  readonly depth: number
  readonly name: string
  readonly note: string
  readonly from: number
  /** Undefined = it goes on. */
  readonly to: number | undefined
  /** The event that ended it, or the last one of it. */
  readonly seq: number
}

/** How a call ended, in words. */
const ends: Readonly<Record<string, string>> = {
  Value: "",
  Denied: "denied",
  Revised: "sent back",
  Expired: "expired",
  Cancelled: "cancelled",
  Unknown: "outcome unknown"
}

/** Outcomes that a person gave. */
const answered: ReadonlySet<string> = new Set(["Denied", "Revised", "Expired"])

const endOf = ({ outcome }: Extract<RunEvent, { readonly _tag: "CallSettled" }>): string =>
  outcome._tag === "Failed" ? `failed: ${outcome.error.kind}` : (ends[outcome._tag] ?? outcome._tag)

const depthOf = (frame: string): number => frame.split("/").length - 1

/** The frame of a call's turn. */
const frameOf = (call: CallId): string => call.slice(0, Math.max(0, call.lastIndexOf("/")))

const tokensOf = ({ model, usage }: Extract<RunEvent, { readonly _tag: "ModelTurned" }>): string =>
  [
    model,
    usage === undefined
      ? undefined
      : `${(usage.input_tokens + usage.output_tokens).toLocaleString("en")} tokens`
  ]
    .filter((each) => each !== undefined)
    .join(", ")

class Reading {
  readonly spans: Array<Span> = []
  /** Since when the next turn of a frame could begin. */
  readonly #ready = new Map<string, number>()
  readonly #agents = new Map<string, string>()
  readonly #tools = new Map<CallId, string>()
  readonly #asked = new Map<
    string,
    { readonly from: number; readonly call: CallId; readonly seq: number }
  >()
  readonly #dispatched = new Map<CallId, number>()

  #agent(frame: string, name: string, at: number): void {
    this.#agents.set(frame, name)
    this.#ready.set(frame, at)
  }

  read({ at, event, seq }: JournalEntry): void {
    switch (event._tag) {
      case "RunAccepted":
        return this.#agent(rootFrame, event.agent ?? event.address.agent, at)
      case "RunClaimed": {
        for (const frame of this.#ready.keys()) this.#ready.set(frame, at)
        return
      }
      case "FrameOpened":
        return this.#agent(event.frame, event.agent, at)
      case "ModelTurned": {
        const { calls, frame, step } = event
        calls.forEach(({ name }, place) => this.#tools.set(callId(frame, step, place), name))
        this.spans.push({
          kind: "model",
          depth: depthOf(frame),
          name: this.#agents.get(frame) ?? frame,
          note: tokensOf(event),
          from: this.#ready.get(frame) ?? at,
          to: at,
          seq
        })
        this.#ready.set(frame, at)
        return
      }
      case "ApprovalRequested":
      case "ClientRequested":
        this.#asked.set(event.approval, { from: at, call: event.call, seq })
        return
      case "ApprovalDecided":
        return this.#answered(event.approval, `${event.by}: ${event.decision._tag}`, at, seq)
      case "ApprovalClosed":
        return this.#answered(
          event.approval,
          event.by === undefined ? event.how : `${event.by}: ${event.how}`,
          at,
          seq
        )
      case "CallDispatched":
        this.#dispatched.set(event.call, at)
        return
      case "CallSettled":
        return this.#settled(event, at, seq)
      default:
        return
    }
  }

  #answered(approval: string, note: string, to: number, seq: number): void {
    const asked = this.#asked.get(approval)
    if (asked === undefined) return
    this.#asked.delete(approval)
    this.#person(asked, note, to, seq)
  }

  #person(
    { call, from }: { readonly call: CallId; readonly from: number },
    note: string,
    to: number | undefined,
    seq: number
  ): void {
    const name = this.#tools.get(call) ?? "question"
    this.spans.push({ kind: "person", depth: depthOf(call), name, note, from, to, seq })
  }

  #settled(
    event: Extract<RunEvent, { readonly _tag: "CallSettled" }>,
    at: number,
    seq: number
  ): void {
    const { call, ended_at = at, started_at } = event
    const from = started_at ?? this.#dispatched.get(call)
    const frame = frameOf(call) as FrameId
    this.#ready.set(frame, at)
    // A specialist's own turns are shown in place of the call that asked it, and a person's answer in place of its result.
    if (this.#agents.has(call) || (from === undefined && answered.has(event.outcome._tag))) return
    const name = this.#tools.get(call) ?? call
    this.spans.push({
      kind: "tool",
      depth: depthOf(call),
      name,
      note: endOf(event),
      from: from ?? ended_at,
      to: ended_at,
      seq
    })
  }

  /** What still waits for a person comes last. */
  finish(): ReadonlyArray<Span> {
    for (const asked of this.#asked.values()) this.#person(asked, "waits", undefined, asked.seq)
    return this.spans
  }
}

/** The spans of a run in the order in which they ended. */
export const spansOf = (entries: ReadonlyArray<JournalEntry>): ReadonlyArray<Span> => {
  const reading = new Reading()
  for (const entry of entries) reading.read(entry)
  return reading.finish()
}
