/**
 * What outlives every process: the durable store, the outside world that tools act on, the faults that are still to come,
 * and the list of what went wrong.
 */
import { Context, Effect, Layer } from "effect"
import { loops_per_turn } from "../../layers/runtime/fiber/LoopScheduler.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import type { Decision } from "../../src/approval/Approval.ts"
import type { CallId, ConversationId, RunId } from "../../src/value/Ids.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { Rng } from "./Kernel.ts"
import { Keys } from "./Keys.ts"
import { hash, Kernel, Process, rng } from "./Kernel.ts"

/** Probabilities of one seed, each 0 to 1. */
export interface Faults {
  readonly before: number
  readonly after: number
  readonly slow: number
  readonly delay: number
  readonly crash: number
  readonly tool: number
  readonly model: number
  readonly delivery: number
}

export const calm: Faults = {
  before: 0,
  after: 0,
  slow: 0,
  delay: 0.5,
  crash: 0,
  tool: 0,
  model: 0,
  delivery: 0
}

/** Half of the kinds are off in any one seed, so that a rare mixture is not drowned by the others. */
export const drawFaults = (random: Rng): Faults => {
  const p = (max: number) => (random() < 0.5 ? 0 : random() * max)
  return {
    before: p(0.15),
    after: p(0.12),
    slow: p(0.03),
    delay: random(),
    crash: p(0.02),
    tool: p(0.6),
    model: p(0.15),
    delivery: p(0.5)
  }
}

/** One thing that a tool did outside. */
export interface Act {
  readonly tool: string
  readonly run: RunId
  readonly call: CallId
  readonly key: string | undefined
  readonly n: number
}

export interface Delivery {
  readonly key: string
  readonly id: string
  readonly place: number
}

/** Few, so that loops wait for each other at every turn, or as many as in production. */
const paces = [1, 1, 2, 3, loops_per_turn]

export class World {
  readonly seed: number
  /** Loops of one process that go on before the others' turn, the same in all its processes. */
  readonly loops_per_turn: number
  /** Short turns, for the sweep. */
  readonly small: boolean
  readonly kernel: Kernel
  /** The people, the chaos and the clock of this simulation: it never dies. */
  readonly outside: Process
  readonly random: Rng
  readonly ids: Rng
  readonly store: EphemeralStore.EphemeralStore["Service"]
  faults: Faults
  /** I/O points that were passed; a process dies at those of the set. */
  points = 0
  readonly crash_at: ReadonlySet<number>
  crashes_left: number
  readonly acts: Array<Act> = []
  readonly keys = new Keys()
  /** Calls whose tool was asked what became of them, and did not say. */
  readonly unasked = new Set<string>()
  readonly deliveries: Array<Delivery> = []
  readonly told = new Map<string, number>()
  readonly decided = new Map<string, Decision>()
  readonly cancelled = new Set<RunId>()
  readonly accepted = new Map<string, RunId>()
  readonly counts = new Map<string, number>()
  readonly violations: Array<string> = []
  /** Journals as they were at the last crash. */
  readonly snapshots = new Map<RunId, ReadonlyArray<JournalEntry>>()
  /** Conversations that somebody watches, and the last event that they were given of each run. */
  readonly watched = new Map<ConversationId, ReadonlyMap<number, number>>()
  /** Who is inside a transaction of a run. */
  readonly holders = new Map<RunId, Process>()
  /** Who amends a run at this moment. */
  amending: Process | undefined
  /** Tool bodies and model turns that run, by process. */
  readonly active = new Map<Process, number>()
  crashed: (process: Process) => void = () => {}

  constructor(
    seed: number,
    faults: Faults | undefined,
    crash_at: ReadonlySet<number>,
    small = false,
    loops: number = paces[hash(seed, "pace") % paces.length]!
  ) {
    this.seed = seed
    this.loops_per_turn = loops
    this.small = small
    this.kernel = new Kernel(seed)
    this.random = rng(seed ^ 0x5bd1e995)
    this.ids = rng(seed ^ 0x1b873593)
    this.faults = faults ?? drawFaults(this.random)
    this.crash_at = crash_at
    this.crashes_left = 3
    this.outside = new Process(this.kernel, "outside", rng(seed ^ 0x2545f491))
    this.store = emptyStore()
  }

  get now(): number {
    return Math.floor(this.kernel.now + this.kernel.offset)
  }

  count(what: string) {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  violate(what: string) {
    if (this.violations.length < 20) this.violations.push(what)
  }

  chance(p: number): boolean {
    return p > 0 && this.random() < p
  }

  between(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from))
  }

  pick<A>(list: ReadonlyArray<A>): A {
    return list[Math.floor(this.random() * list.length)]!
  }

  /** Passes an I/O point; true if the process dies at it. */
  point(process: Process, where: string): boolean {
    this.points++
    const drawn = this.crashes_left > 0 && this.chance(this.faults.crash)
    if (!drawn && !this.crash_at.has(this.points)) return false
    this.crashes_left--
    this.count(`crash ${where.endsWith("<") ? "before" : "after"} an I/O`)
    this.kill(process)
    return true
  }

  kill(process: Process) {
    if (!process.alive) return
    process.kill()
    for (const run of this.store.runs.values()) this.snapshots.set(run.run_id, run.entries.slice())
    this.crashed(process)
  }

  /** A tool takes effect outside. */
  act(tool: string, n: number, call: CallContext) {
    this.acts.push({ tool, run: call.run, call: call.call, key: call.key, n })
  }
}

const emptyStore = () =>
  Effect.runSync(
    Effect.scoped(
      Effect.map(Layer.build(EphemeralStore.layer), (built) =>
        Context.get(built, EphemeralStore.EphemeralStore)
      )
    )
  )
