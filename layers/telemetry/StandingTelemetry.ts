/**
 * Metrics of what stands in the store: runs, open questions, dead letters, and calls that wait for an operator. They are read from
 * the store, so that they include what other processes left or settled, and each process that serves metrics gives the same.
 */
import { Clock, Context, Duration, Effect, Layer, Metric } from "effect"
import { RunList } from "../../services/RunList.ts"

const gauge = (name: `troupe_${string}`, description: string) => Metric.gauge(name, { description })

const runs_open = gauge(
  "troupe_runs_open",
  "Runs that have not ended, by state: running, or parked until a person acts"
)
const questions_open = gauge("troupe_questions_open", "Questions that wait for a person")
const oldest_seconds = gauge(
  "troupe_question_oldest_seconds",
  "How long the oldest open question has waited; 0 where there is none"
)
const dead_letters = gauge(
  "troupe_dead_letters",
  "Messages that could not be delivered and that nobody has replayed or discarded"
)
/** Begins at 0 with the tools. */
export const calls_unknown = gauge(
  "troupe_calls_unknown",
  "Calls whose outcome nobody knows and that wait for an operator, by tool"
)
const read_seconds = gauge(
  "troupe_store_read_seconds",
  "How long the store took to answer the last read of these numbers"
)

/** The interval of reads, in ms. */
export const StandingInterval = Context.Reference<number>("troupe/StandingInterval", {
  defaultValue: () => 15_000
})

const make = Effect.gen(function* () {
  const runs = yield* RunList
  const interval_ms = yield* StandingInterval
  let before: ReadonlySet<string> = new Set()
  const look = Effect.gen(function* () {
    const [took, found] = yield* Effect.timed(runs.standing)
    const { oldest_question_at } = found
    const now = yield* Clock.currentTimeMillis
    const age_ms = oldest_question_at === undefined ? 0 : Math.max(0, now - oldest_question_at)
    yield* Metric.update(Metric.withAttributes(runs_open, { state: "running" }), found.running)
    yield* Metric.update(Metric.withAttributes(runs_open, { state: "parked" }), found.parked)
    yield* Metric.update(questions_open, found.questions)
    yield* Metric.update(oldest_seconds, age_ms / 1_000)
    yield* Metric.update(dead_letters, found.dead_letters)
    yield* Metric.update(read_seconds, Duration.toMillis(took) / 1_000)
    const tools = new Set(found.unknown.map(({ tool }) => tool))
    for (const tool of before) {
      if (!tools.has(tool)) yield* Metric.update(Metric.withAttributes(calls_unknown, { tool }), 0)
    }
    for (const { calls, tool } of found.unknown) {
      yield* Metric.update(Metric.withAttributes(calls_unknown, { tool }), calls)
    }
    before = tools
  })
  // A failing store is ignored here; those who use it report the failure.
  yield* Effect.ignore(look).pipe(
    Effect.andThen(Effect.sleep(interval_ms)),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

export const layer: Layer.Layer<never, never, RunList> = Layer.effectDiscard(make)
