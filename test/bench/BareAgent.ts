/**
 * The lower bound of the rows that go through `send`: the same agent in plain JavaScript, as one would write it for this
 * agent alone. Arguments and results pass the same schemas, compiled as `start` does it; what happens is kept as the same
 * events, with the same watcher: an async iterable from the first event of a run to its last. With a log, a message is
 * durable before it is handled, and the events of a step before anybody sees them and before the next step; a run is claimed
 * as it is accepted. No gate, no limits, no deadline, no supervision. With a memory, each run is told first what its message
 * brings to mind, instead of what was said before it.
 */
import { randomUUID } from "node:crypto"
import { Schema } from "effect"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { BareMemory, Line } from "./BareMemory.ts"
import { Parameters, record, Success } from "./Work.ts"

export type Event =
  | {
      readonly _tag: "RunAccepted"
      readonly conversation: string
      readonly message: string
      readonly by: string
      readonly limits: RunLimits
    }
  | { readonly _tag: "RunClaimed"; readonly epoch: number; readonly owner: string }
  | {
      readonly _tag: "MemoryRecalled"
      readonly lines: ReadonlyArray<Line>
      readonly tokens: number
    }
  | ({ readonly _tag: "ModelTurned"; readonly frame: "0"; readonly step: number } & Turn)
  | {
      readonly _tag: "CallSettled"
      readonly call: string
      readonly outcome: { readonly _tag: "Value"; readonly json: string }
      readonly started_at: number
      readonly ended_at: number
    }
  | {
      readonly _tag: "ApprovalRequested"
      readonly call: string
      readonly approval: string
      readonly digest: string
      readonly shown_digest: string
      readonly proposal: string
      readonly payload: Readonly<Record<string, string>>
      readonly tool_key: string
      readonly tool_digest: string
      readonly arguments: { readonly id: number }
      readonly policy_version: string
      readonly approvers: ReadonlyArray<string>
    }
  | {
      readonly _tag: "ApprovalDecided"
      readonly call: string
      readonly approval: string
      readonly decision: { readonly _tag: "Approve" }
      readonly by: string
      readonly digest: string
    }
  | {
      readonly _tag: "CallDispatched"
      readonly call: string
      readonly key: string
      readonly epoch: number
      readonly on_loss: "unknown"
    }
  | {
      readonly _tag: "RunEnded"
      readonly status: "complete"
      readonly reason: "complete"
      readonly text: string
    }

export interface Conversation {
  readonly id: string
  readonly runs: Array<Run>
  /** Of those who wait for the next run. */
  readonly wakeups: Array<() => void>
  /** What was said, by turns the user and the assistant. */
  readonly messages: Array<string>
}

export interface Entry {
  readonly seq: number
  /** In ms since 1970. */
  readonly at: number
  readonly event: Event
}

export interface Run {
  readonly id: string
  readonly conversation: Conversation
  /** Its place in its conversation, from 1. */
  readonly ordinal: number
  /** Of its owner's claim; 0 = nobody claims it, because it is in no log. */
  epoch: number
  /** What is durable. */
  readonly entries: Array<Entry>
  /** Of those who wait for the next. */
  readonly wakeups: Array<() => void>
}

export type Model = (transcript: ReadonlyArray<unknown>, step: number) => Turn | Promise<Turn>

/** Where events of this process are durable. */
export interface Log {
  /** The process, in its claims. */
  readonly owner: string
  /** Durable when it resolves. It fails where another process has claimed the run or appended to it. */
  readonly append: (run: Run, events: ReadonlyArray<Event>) => Promise<void>
}

/** What a call reads, and does beside it. */
export type Body = (
  args: typeof Parameters.Type,
  run: Run,
  call: string
) => typeof Success.Type | Promise<typeof Success.Type>

export interface Options {
  readonly model: Model
  /** Absent = it reads a record. */
  readonly body?: Body
  /** Absent = it remembers nothing but what was said. */
  readonly memory?: BareMemory
  /** Of a run. */
  readonly newId?: () => string
  /** Absent = gone with the process. */
  readonly log?: Log
}

const limits = RunLimits.make({ steps_max: 1_000, calls_max: 100_000 })

const tool = (body: Body) => {
  const decode = Schema.decodeUnknownSync(Parameters)
  const encode = Schema.encodeSync(Success)
  return async (run: Run, call: string, proposed: Turn["calls"][number]): Promise<Event> => {
    const started_at = Date.now()
    const json = JSON.stringify(encode(await body(decode(proposed.arguments), run, call)))
    const ended_at = Date.now()
    return { _tag: "CallSettled", call, outcome: { _tag: "Value", json }, started_at, ended_at }
  }
}

export const conversation = (id: string = randomUUID()): Conversation => ({
  id,
  runs: [],
  wakeups: [],
  messages: []
})

/** What happens in a run from its start to its end. */
export async function* watch(run: Run): AsyncGenerator<Entry, void> {
  for (let seq = 0; ;) {
    while (seq < run.entries.length) {
      const entry = run.entries[seq++]!
      yield entry
      if (entry.event._tag === "RunEnded") return
    }
    await new Promise<void>((resolve) => run.wakeups.push(resolve))
  }
}

/** Keeps events that are durable, and wakes those who watch. */
export const see = (run: Run, events: ReadonlyArray<Event>): void => {
  const at = Date.now()
  for (const event of events) run.entries.push({ seq: run.entries.length, at, event })
  for (const wake of run.wakeups.splice(0)) wake()
}

/** A run that nobody handles yet. */
export const begin = (
  message: string,
  conversation: Conversation,
  id: string = randomUUID()
): Run => {
  const { messages, runs, wakeups } = conversation
  const ordinal = runs.length + 1
  const run: Run = { id, conversation, ordinal, epoch: 0, entries: [], wakeups: [] }
  runs.push(run)
  messages.push(message)
  for (const wake of wakeups.splice(0)) wake()
  return run
}

/** What the process claims next; the claim is to be appended. */
export const claim = (run: Run, owner: string): Event => ({
  _tag: "RunClaimed",
  epoch: run.epoch + 1,
  owner
})

/** The first events of a run. */
export const accept = (run: Run, message: string, log: Log | undefined): ReadonlyArray<Event> => {
  const accepted: Event = {
    _tag: "RunAccepted",
    conversation: run.conversation.id,
    message,
    by: "service",
    limits
  }
  return log === undefined ? [accepted] : [accepted, claim(run, log.owner)]
}

/** What the first turn sees before it, and the events of that. */
const beginning = (run: Run, memory: BareMemory | undefined) => {
  const { messages } = run.conversation
  const transcript: Array<unknown> = []
  const events: Array<Event> = []
  if (memory === undefined) transcript.push(...messages)
  else {
    const message = messages.at(-1)!
    const { lines, text, tokens } = memory.recall(message, run.id)
    if (text !== "") transcript.push(text)
    transcript.push(message)
    events.push({ _tag: "MemoryRecalled", lines, tokens })
  }
  return { transcript, events }
}

/** Gives the function that sends: back when the message is accepted. Call it when schemas are compiled from here on. */
export const make = ({ body = record, log, memory, model, newId = randomUUID }: Options) => {
  const settle = tool(body)
  const handle = async (run: Run): Promise<void> => {
    const { events: before, transcript } = beginning(run, memory)
    for (let step = 1; ; step++) {
      const turn = await model(transcript, step)
      transcript.push(turn)
      const events: Array<Event> = before.splice(0)
      events.push({ _tag: "ModelTurned", frame: "0", step, ...turn })
      const { calls, text } = turn
      if (calls.length === 0) {
        events.push({ _tag: "RunEnded", status: "complete", reason: "complete", text })
      } else if (calls.length === 1) {
        events.push(await settle(run, `0/${step}.0`, calls[0]!))
      } else {
        events.push(
          ...(await Promise.all(calls.map((call, i) => settle(run, `0/${step}.${i}`, call))))
        )
      }
      transcript.push(...events)
      if (log !== undefined) await log.append(run, events)
      if (calls.length === 0) run.conversation.messages.push(text)
      see(run, events)
      if (calls.length === 0) {
        memory?.endRun(run.id)
        return
      }
    }
  }
  return async (message: string, to = conversation()): Promise<Run> => {
    const run = begin(message, to, newId())
    const accepted = accept(run, message, log)
    if (log !== undefined) await log.append(run, accepted)
    see(run, accepted)
    void handle(run)
    return run
  }
}
