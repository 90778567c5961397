/**
 * Random kills under load: a service is killed with -9 again and again while runs are on their way and questions wait,
 * people go on sending, deciding and settling, and at the end the counter's log is compared with every journal.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Refused } from "./Child.ts"
import * as Judge from "./Judge.ts"
import type { Plan, ToolName } from "./Plan.ts"
import * as Service from "./Service.ts"

export interface Storm {
  readonly seed: number
  readonly kills: number
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
  /** The fewest at any kill. */
  readonly runs_min: number
  readonly questions_min: number
}

/** mulberry32 (public domain): the same seed gives the same plans and the same pauses. */
const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

const tools: ReadonlyArray<ToolName> = ["read", "once", "gated", "keyed", "row", "read", "once"]
/** What a life may take to have enough on its way, and the end to have nothing: a machine may be busy. */
const patience_ms = 150_000
const ended: ReadonlySet<string> = new Set(["complete", "failed", "cancelled"])

/** What people know, whichever service they speak with. */
class Crowd {
  readonly #random: (below: number) => number
  readonly #judge: Judge.Judge
  readonly plans = new Map<string, Plan["steps"]>()
  /** The run of each accepted plan. */
  readonly runs = new Map<string, string>()
  /** Runs that have not ended, as far as is known. */
  readonly open = new Set<string>()
  /** Acknowledged decisions, with their run. */
  readonly decided = new Map<string, string>()
  /** The journals that were seen before the last kill. */
  seen = new Map<string, Service.Journal>()
  settled = 0

  constructor(judge: Judge.Judge, random: (below: number) => number) {
    this.#judge = judge
    this.#random = random
  }

  /** Plans that were sent, and of which nobody has heard since. */
  unanswered(): ReadonlyArray<string> {
    return [...this.plans.keys()].filter((tag) => !this.runs.has(tag))
  }

  #plan(): string {
    const tag = `run-${this.plans.size}`
    const steps = Array.from({ length: 2 + this.#random(4) }, () =>
      Array.from({ length: 1 + this.#random(3) }, () => tools[this.#random(tools.length)]!)
    )
    // Every other run asks, so that questions do not run out.
    this.plans.set(tag, this.plans.size % 2 === 0 ? [...steps, ["gated"]] : steps)
    return tag
  }

  /** Sends until so many runs are open, the unanswered first: the key tells the service what it has seen. */
  readonly send = (service: Service.Service, count: number) => {
    const fresh = Math.max(0, count - this.open.size - this.unanswered().length)
    for (let i = 0; i < fresh; i++) this.#plan()
    return Effect.forEach(
      this.unanswered(),
      (tag) =>
        Effect.map(service.send(tag, ...this.plans.get(tag)!), (run) => {
          this.runs.set(tag, run)
          this.open.add(run)
        }),
      { concurrency: 8, discard: true }
    )
  }

  /** Approves all questions but so many. */
  readonly decide = (service: Service.Service, keep: number) =>
    Effect.flatMap(service.pending, (questions) =>
      Effect.forEach(
        questions.slice(0, Math.max(0, questions.length - keep)),
        ({ id, run }) =>
          service.decide(id).pipe(
            Effect.map(() => void this.decided.set(id, run)),
            // Decided before, and the acknowledgement died with the process.
            Effect.catchIf(
              ({ reason }) => reason === "ApprovalSettled",
              () => Effect.void
            )
          ),
        { concurrency: 4, discard: true }
      )
    )

  /** Looks at the world for each unknown call: what happened is told, what did not happen runs again. */
  readonly settle = (service: Service.Service, statuses: ReadonlyMap<string, string>) => {
    const waiting = [...statuses].flatMap(([run, it]) => (it === "awaiting_approval" ? [run] : []))
    return Effect.flatMap(service.journals(waiting), (journals) =>
      Effect.forEach(
        journals.flatMap((entries, index) =>
          Service.unknownCalls(entries).map((call) => [waiting[index]!, call] as const)
        ),
        ([run, call]) => {
          const happened = Judge.of(this.#judge, run).some((each) => each.call === call)
          return Effect.map(
            service.settle(
              run,
              call,
              happened ? { _tag: "Succeeded", json: "true" } : { _tag: "RunAgain" }
            ),
            () => void this.settled++
          )
        },
        { discard: true }
      )
    )
  }

  /** Which runs are where; those that ended are asked for no more. */
  readonly look = (service: Service.Service) => {
    const runs = [...this.open]
    return Effect.map(service.statuses(runs), (found) => {
      const statuses = new Map(runs.map((run, index) => [run, found[index]!]))
      for (const [run, status] of statuses) if (ended.has(status)) this.open.delete(run)
      return statuses
    })
  }
}

const countOf = (values: Iterable<string>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** What was read of a journal is still its beginning. */
const assertKept = Effect.fnUntraced(function* (crowd: Crowd, service: Service.Service) {
  const runs = [...crowd.seen.keys()]
  const journals = yield* service.journals(runs)
  for (const [index, run] of runs.entries()) {
    const before = crowd.seen.get(run)!
    assert.deepStrictEqual(journals[index]!.slice(0, before.length), before)
  }
})

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

/** Every journal against the counter's log and the side table. */
const judged = Effect.fnUntraced(function* (
  crowd: Crowd,
  service: Service.Service,
  judge: Judge.Judge
) {
  const effects = new Map<string, Array<string>>()
  for (const { call, key, run } of judge.seen()) {
    const name = `${run} ${call}`
    effects.set(name, [...(effects.get(name) ?? []), key])
  }
  const rows = new Map<string, number>()
  for (const { call, run } of yield* service.rows) {
    const name = `${run} ${call}`
    rows.set(name, (rows.get(name) ?? 0) + 1)
  }
  let events = 0
  for (const [tag, run] of crowd.runs) {
    const entries = yield* Service.journal(service, run)
    events += entries.length
    Judge.assertComplete(entries, tag)
    assertCalls(entries, run, effects, rows)
  }
  // Whatever happened was asked for by a journaled call, and compared above.
  assert.strictEqual(effects.size, 0, "effects that no call asked for")
  assert.strictEqual(rows.size, 0, "rows that no call asked for")
  for (const [approval, run] of crowd.decided) {
    const found = Service.events(yield* Service.journal(service, run)).filter(
      (event) => event._tag === "ApprovalDecided" && event.approval === approval
    )
    assert.strictEqual(found.length, 1, "an acknowledged decision")
  }
  return events
})

/** Each call of a run: takes what it did out of the maps. */
const assertCalls = (
  entries: Service.Journal,
  run: string,
  effects: Map<string, Array<string>>,
  rows: Map<string, number>
): void => {
  const approved = new Set<string>()
  for (const event of Service.events(entries)) {
    if (event._tag === "ApprovalDecided") approved.add(event.call)
    if (event._tag !== "ModelTurned") continue
    for (const [index, { name }] of event.calls.entries()) {
      const call = `${event.frame}/${event.step}.${index}`
      const keys = effects.get(`${run} ${call}`) ?? []
      const written = rows.get(`${run} ${call}`) ?? 0
      effects.delete(`${run} ${call}`)
      rows.delete(`${run} ${call}`)
      const what = `${name} ${call} of ${run}`
      assert.strictEqual(written, name === "row" ? 1 : 0, `rows of ${what}`)
      if (name === "keyed") {
        assert.strictEqual(new Set(keys).size, 1, `keys of ${what}`)
      } else {
        assert.strictEqual(
          keys.length,
          name === "once" || name === "gated" ? 1 : 0,
          `effects of ${what}`
        )
      }
    }
  }
  const gated = Service.events(entries).flatMap((event) =>
    event._tag === "ModelTurned"
      ? event.calls.flatMap(({ name }, index) =>
          name === "gated" ? [`${event.frame}/${event.step}.${index}`] : []
        )
      : []
  )
  for (const call of gated) assert.isTrue(approved.has(call), `${call} of ${run} was approved`)
}

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
    for (let kill = 1; kill <= storm.kills; kill++) {
      const census = yield* Effect.scoped(
        life(crowd, { ...options, model_ms: 5 + random(20) }, storm, random)
      )
      runs_min = Math.min(runs_min, census.runs)
      questions_min = Math.min(questions_min, census.questions)
      storm.report?.(
        `kill ${kill}: ${census.runs} runs open, ${census.questions} questions, ${crowd.runs.size} runs so far`
      )
    }
    const service = yield* Service.start(options)
    yield* quiet(crowd, service)
    const events = yield* judged(crowd, service, judge)
    return {
      kills: storm.kills,
      runs: crowd.runs.size,
      events,
      effects: judge.seen().length,
      settled: crowd.settled,
      runs_min,
      questions_min
    }
  })
