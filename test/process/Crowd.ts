/**
 * People who send plans, decide and settle, whichever service they speak with; and what they compare at the end: every
 * journal with the counter's log.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Outcome } from "../../src/run/RunEvent.ts"
import * as Judge from "./Judge.ts"
import type { Plan, ToolName } from "./Plan.ts"
import * as Service from "./Service.ts"

/** mulberry32 (public domain): the same seed gives the same plans and the same pauses. */
export const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

export const tools: ReadonlyArray<ToolName> = [
  "read",
  "once",
  "gated",
  "keyed",
  "row",
  "read",
  "once",
  "posted",
  "reposted"
]
/** Whose effects with one key are one effect. */
const keyed: ReadonlySet<string> = new Set(["keyed", "sure", "reposted"])
const ended: ReadonlySet<string> = new Set(["complete", "failed", "cancelled"])

/** What people know, whichever service they speak with. */
export class Crowd {
  readonly #random: (below: number) => number
  readonly #judge: Judge.Judge
  readonly #tools: ReadonlyArray<ToolName>
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

  /** Its plans ask for these tools, one as often as it stands there. */
  constructor(
    judge: Judge.Judge,
    random: (below: number) => number,
    own: ReadonlyArray<ToolName> = tools
  ) {
    this.#judge = judge
    this.#random = random
    this.#tools = own
  }

  /** Plans that were sent, and of which nobody has heard since. */
  unanswered(): ReadonlyArray<string> {
    return [...this.plans.keys()].filter((tag) => !this.runs.has(tag))
  }

  #plan(): string {
    const tag = `run-${this.plans.size}`
    const steps = Array.from({ length: 2 + this.#random(4) }, () =>
      Array.from(
        { length: 1 + this.#random(3) },
        () => this.#tools[this.#random(this.#tools.length)]!
      )
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

export const countOf = (values: Iterable<string>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

/** What was read of a journal is still its beginning. */
export const assertKept = Effect.fnUntraced(function* (crowd: Crowd, service: Service.Service) {
  const runs = [...crowd.seen.keys()]
  const journals = yield* service.journals(runs)
  for (const [index, run] of runs.entries()) {
    const before = crowd.seen.get(run)!
    assert.deepStrictEqual(journals[index]!.slice(0, before.length), before)
  }
})

/** Every journal against the counter's log and the side table. */
export const judged = Effect.fnUntraced(function* (
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

/** A failure that says that nothing was done, as when no worker was there in time. */
const undone: ReadonlySet<string | undefined> = new Set(["NO_WORKER", "NOT_DONE", "EXPIRED"])

/** How many effects a call may have, by its result: of one that failed nobody knows it, unless that says it. */
const effectsOf = (
  name: string,
  outcome: Outcome | undefined
): readonly [min: number, max: number] => {
  if (name === "read" || name === "row") return [0, 0]
  if (outcome?._tag !== "Failed" || (name !== "far" && name !== "sure")) return [1, 1]
  return [0, undone.has(outcome.error.reason) ? 0 : 1]
}

/** Each call of a run: takes what it did out of the maps. */
const assertCalls = (
  entries: Service.Journal,
  run: string,
  effects: Map<string, Array<string>>,
  rows: Map<string, number>
): void => {
  const approved = new Set<string>()
  const outcomes = new Map<string, Outcome>()
  for (const event of Service.events(entries)) {
    if (event._tag === "CallSettled") outcomes.set(event.call, event.outcome)
  }
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
      const outcome = outcomes.get(call)
      // Its row and its result are one transaction: a result that is none, as when the server died in it, has no row.
      const rows_expected = name === "row" && outcome?._tag === "Value" ? 1 : 0
      assert.strictEqual(written, rows_expected, `rows of ${what}: ${JSON.stringify(outcome)}`)
      const once = keyed.has(name) ? new Set(keys).size : keys.length
      const [min, max] = effectsOf(name, outcome)
      assert.isAtLeast(once, min, `effects of ${what}`)
      assert.isAtMost(once, max, `effects of ${what}`)
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
