/**
 * Random kills under load: a service is killed with -9 again and again while runs are on their way and questions wait,
 * people go on sending, deciding and settling, and at the end the counter's log is compared with every journal.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Refused } from "./Child.ts"
import { assertKept, countOf, Crowd, judged, randomOf } from "./Crowd.ts"
import type * as Judge from "./Judge.ts"
import * as Service from "./Service.ts"

export interface Storm {
  readonly seed: number
  readonly kills: number
  /** Ends it before so many kills, in ms. Absent = it does not. */
  readonly load_ms?: number
  /** What happens in each life while people go on, before its kill. Absent = nothing. */
  readonly trouble?: (
    service: Service.Service,
    random: (below: number) => number
  ) => Effect.Effect<void>
  /** At each kill at least so many runs have not ended, and at least so many questions wait. */
  readonly runs_min: number
  readonly questions_min: number
  /** Told after each kill. */
  readonly report?: (line: string) => void
}

export interface Outcome {
  readonly kills: number
  readonly runs: number
  readonly events: number
  readonly effects: number
  /** Calls that nobody knew the outcome of, and a person settled. */
  readonly settled: number
  /** Of a service, after everything has ended. */
  readonly resident_mb: number
  /** The fewest at any kill. */
  readonly runs_min: number
  readonly questions_min: number
}

/** What a life may take to have enough on its way, and the end to have nothing: a machine may be busy. */
const patience_ms = 150_000

/** One life of the service: until enough is on its way, a moment more, and kill -9. */
const life = Effect.fnUntraced(function* (
  crowd: Crowd,
  options: Service.Options,
  storm: Storm,
  random: (below: number) => number
) {
  const service = yield* Service.start(options)
  yield* assertKept(crowd, service)
  const work = Effect.gen(function* () {
    yield* crowd.send(service, storm.runs_min + 12)
    const statuses = yield* crowd.look(service)
    yield* crowd.settle(service, statuses)
    yield* crowd.decide(service, storm.questions_min + 2)
    const questions = (yield* service.pending).length
    return { runs: crowd.open.size, questions, statuses: countOf(statuses.values()) }
  })
  const census = yield* Service.until(
    work,
    ({ questions, runs }) => runs >= storm.runs_min && questions >= storm.questions_min,
    patience_ms
  )
  const some = [...crowd.open].slice(0, 64)
  const journals = yield* service.journals(some)
  crowd.seen = new Map(some.map((run, index) => [run, journals[index]!]))
  // In the middle of what people do, and of what the service does for them.
  yield* Effect.forkScoped(Effect.ignore(Effect.forever(work)))
  yield* Effect.sleep(random(250))
  if (storm.trouble !== undefined) yield* storm.trouble(service, random)
  yield* service.child.kill
  return census
})

/** Until every run has ended, with nobody left to wait for. */
const quiet = Effect.fnUntraced(function* (crowd: Crowd, service: Service.Service) {
  yield* assertKept(crowd, service)
  yield* crowd.send(service, 0)
  yield* Service.until(
    Effect.gen(function* () {
      yield* crowd.settle(service, yield* crowd.look(service))
      yield* crowd.decide(service, 0)
      return crowd.open.size
    }),
    (open) => open === 0,
    patience_ms
  )
  yield* Service.until(service.depth, (depth) => depth === 0)
})

/** Dies, with what is wrong, where a promise was broken. */
export const storm = (
  options: Service.Options,
  judge: Judge.Judge,
  storm: Storm
): Effect.Effect<Outcome, Refused, Scope.Scope> =>
  Effect.gen(function* () {
    const random = randomOf(storm.seed)
    const crowd = new Crowd(judge, random)
    let runs_min = Infinity
    let questions_min = Infinity
    let kills = 0
    const until = performance.now() + (storm.load_ms ?? Infinity)
    while (kills < storm.kills && performance.now() < until) {
      kills++
      const census = yield* Effect.scoped(
        life(crowd, { ...options, model_ms: 5 + random(20) }, storm, random)
      )
      runs_min = Math.min(runs_min, census.runs)
      questions_min = Math.min(questions_min, census.questions)
      storm.report?.(
        `kill ${kills}: ${census.runs} runs open, ${census.questions} questions, ${crowd.runs.size} runs so far`
      )
    }
    const service = yield* Service.start(options)
    yield* quiet(crowd, service)
    const events = yield* judged(crowd, service, judge)
    return {
      kills,
      runs: crowd.runs.size,
      events,
      effects: judge.seen().length,
      settled: crowd.settled,
      resident_mb: yield* service.memory,
      runs_min,
      questions_min
    }
  })
