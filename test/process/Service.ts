/**
 * A worker as its parent sees it.
 */
import { Effect, Schedule } from "effect"
import type { Scope } from "effect"
import type { ActorInfo } from "../../services/AgentRuntime.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import type { Child, Ended, Refused } from "./Child.ts"
import * as Children from "./Child.ts"
import type { Plan, Point, Request, Store, WorkerConfig } from "./Plan.ts"

export interface Question {
  readonly id: string
  readonly run: string
}

export type Journal = ReadonlyArray<JournalEntry>

export interface Service {
  readonly child: Child
  /** Accepts a plan under its tag as the idempotency key; the run's id. */
  readonly send: (tag: string, ...steps: Plan["steps"]) => Effect.Effect<string, Refused>
  /** The same in the conversation of another tag. */
  readonly sendBehind: (
    other: string,
    tag: string,
    ...steps: Plan["steps"]
  ) => Effect.Effect<string, Refused>
  readonly pending: Effect.Effect<ReadonlyArray<Question>, Refused>
  readonly decide: (approval: string, by?: string) => Effect.Effect<void, Refused>
  readonly settle: (
    run: string,
    call: string,
    settlement: Settlement
  ) => Effect.Effect<void, Refused>
  readonly journals: (runs: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Journal>, Refused>
  readonly statuses: (
    runs: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<RunStatus>, Refused>
  readonly actors: Effect.Effect<ReadonlyArray<ActorInfo>, Refused>
  /** Writes webhook messages, one for each subject, each under its own key. */
  readonly webhooks: (...subjects: ReadonlyArray<string>) => Effect.Effect<void, Refused>
  /** Of the side table. */
  readonly rows: Effect.Effect<ReadonlyArray<{ run: string; call: string }>, Refused>
  /** Messages that wait in the outbox. */
  readonly depth: Effect.Effect<number, Refused>
  /** Of its process, resident, in MB. */
  readonly memory: Effect.Effect<number, Refused>
  readonly hold: (point: Point, tag: string) => Effect.Effect<void, Refused>
  /** Sets its clock wrong by so many ms. */
  readonly skew: (ms: number) => Effect.Effect<void, Refused>
  readonly release: (point: Point, tag: string) => Effect.Effect<void, Refused>
  readonly reached: (point: Point, tag: string) => Effect.Effect<void>
  /** Its append to this run was refused because another owner has it. */
  readonly fenced: (run: string) => Effect.Effect<void>
  /** SIGTERM, and gone. */
  readonly stop: Effect.Effect<Ended>
}

export type Options = Partial<WorkerConfig> & { readonly store: Store; readonly counter: string }

/** A service that is ready. Its process is killed when the scope closes. */
export const start = (options: Options): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const config: WorkerConfig = {
      holds: [],
      model_ms: 0,
      park_ms: 30_000,
      lease_ms: 1_000,
      relay_ms: 2_000,
      sweep_ms: 200,
      remote: false,
      unfenced: false,
      ...options
    }
    const child = yield* Children.start("test/process/worker.ts", [JSON.stringify(config)])
    yield* child.heard((it) => it.notice === "ready")
    const ask = <A>(request: Request) => child.ask(request) as Effect.Effect<A, Refused>
    return {
      child,
      send: (tag, ...steps) => ask({ op: "send", plan: { tag, steps }, key: tag }),
      sendBehind: (conversation, tag, ...steps) =>
        ask({ op: "send", plan: { tag, steps }, key: tag, conversation }),
      pending: ask({ op: "pending" }),
      decide: (approval, by = "ann") => ask({ op: "decide", approval, by }),
      settle: (run, call, settlement) => ask({ op: "settle", run, call, settlement }),
      journals: (runs) => ask({ op: "events", runs }),
      statuses: (runs) => ask({ op: "statuses", runs }),
      actors: ask({ op: "actors" }),
      webhooks: (...subjects) => ask({ op: "webhooks", subjects }),
      rows: ask({ op: "rows" }),
      memory: ask({ op: "memory" }),
      depth: ask({ op: "depth" }),
      hold: (point, tag) => ask({ op: "hold", hold: { point, tag } }),
      skew: (ms) => ask({ op: "skew", ms }),
      release: (point, tag) => ask({ op: "release", hold: { point, tag } }),
      reached: (point, tag) =>
        Effect.asVoid(
          child.heard((it) => it.notice === "reached" && it.point === point && it.tag === tag)
        ),
      fenced: (run) => Effect.asVoid(child.heard((it) => it.notice === "fenced" && it.run === run)),
      stop: Effect.andThen(child.signal("SIGTERM"), child.ended)
    }
  })

/** Asks again until the answer fits; dies with the last answer when that takes longer than `bound_ms`. */
export const until = <A, E, R>(
  ask: Effect.Effect<A, E, R>,
  fits: (answer: A) => boolean,
  bound_ms = 45_000
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let last: A | undefined
    return Effect.tap(ask, (answer) => Effect.sync(() => void (last = answer))).pipe(
      Effect.repeat({ until: fits, schedule: Schedule.spaced("25 millis") }),
      Effect.timeoutOrElse({
        duration: bound_ms,
        orElse: () => {
          const answer = JSON.stringify(last)?.slice(0, 4_000)
          return Effect.die(new Error(`it did not come to ${fits.toString()}, but to ${answer}`))
        }
      })
    )
  })

export const journal = (service: Service, run: string): Effect.Effect<Journal, Refused> =>
  Effect.map(service.journals([run]), ([entries]) => entries!)

export const events = (entries: Journal): ReadonlyArray<RunEvent> =>
  entries.map(({ event }) => event)

export const isEnded = (entries: Journal): boolean => entries.at(-1)?.event._tag === "RunEnded"

/** Calls whose outcome nobody knows, and nobody has said yet. */
export const unknownCalls = (entries: Journal): ReadonlyArray<string> => {
  const open = new Set<string>()
  for (const { event } of entries) {
    if (event._tag === "CallUnknown") open.add(event.call)
    else if (event._tag === "CallSettled" || event._tag === "CallReopened") open.delete(event.call)
  }
  return [...open]
}

/** The run's journal when it has ended. */
export const ended = (service: Service, run: string): Effect.Effect<Journal, Refused> =>
  until(journal(service, run), isEnded)

/** The one call of the run that nobody knows the outcome of. */
export const unknown = (service: Service, run: string): Effect.Effect<string, Refused> =>
  Effect.map(
    until(journal(service, run), (entries) => unknownCalls(entries).length > 0),
    (entries) => unknownCalls(entries)[0]!
  )

/** The question that a run has put to people. */
export const question = (service: Service, run: string): Effect.Effect<Question, Refused> =>
  Effect.map(
    until(service.pending, (all) => all.some((each) => each.run === run)),
    (all) => all.find((each) => each.run === run)!
  )
