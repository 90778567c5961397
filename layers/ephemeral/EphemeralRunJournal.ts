/**
 * The run journal in one process, lost at its end. An append is a synchronous check and a push, so that it adds little to
 * the cost of a step.
 */
import { Clock, Context, Deferred, Effect, Exit, Layer, Result, identity } from "effect"
import type { Append, AppendEvents, Fence } from "../../services/RunJournal.ts"
import {
  amendmentOf,
  FencedOff,
  JournalError,
  RunJournal,
  StaleAppend
} from "../../services/RunJournal.ts"
import type {
  AmendmentListener,
  Claimant,
  CommitListener,
  Committed
} from "../../services/RunNews.ts"
import { claimingListener, RunNews } from "../../services/RunNews.ts"
import type { Beginning, Claim } from "../../services/RunOwnership.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import type { RunHead } from "../../services/RunReader.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { Address, RunId, Tenant } from "../../src/value/Ids.ts"
import { actorKey } from "../../src/value/Ids.ts"
import type { Amendment } from "../../src/run/RunCommand.ts"
import { RunIsOver, RunNotFound } from "../../src/run/RunCommand.ts"
import { RunQuarantined } from "../../src/run/Quarantine.ts"
import type { JournalEntry, RunAccepted, RunEvent } from "../../src/run/RunEvent.ts"
import { mayEndWait } from "../../src/run/RunEvent.ts"
import { stillNeeded } from "../../src/run/Needs.ts"
import type { RunState, RunStatus } from "../../src/run/RunState.ts"
import { isParkable, statusOf } from "../../src/run/RunState.ts"
import { transaction_ms_max } from "../../src/tool/ToolSpec.ts"
import {
  adoptRuns,
  answerableRuns,
  handOverRun,
  ownersOf,
  runHeadOf,
  recoverableRuns
} from "./EphemeralRecovery.ts"
import * as EphemeralQuarantine from "./EphemeralQuarantine.ts"
import { appendEvents } from "./EphemeralProjection.ts"
import { settleBudgets } from "./EphemeralBudgetLedger.ts"
import type { Store, StoredRun } from "./EphemeralStore.ts"
import { EphemeralStore, removeMessage } from "./EphemeralStore.ts"

const read_max = 10_000

const refusal = (run: StoredRun, fence: Fence): FencedOff | StaleAppend | undefined =>
  run.epoch !== fence.epoch
    ? new FencedOff({ run_id: run.run_id, epoch: run.epoch })
    : run.entries.length !== fence.length || run.quarantined !== undefined
      ? new StaleAppend({ run_id: run.run_id, length: run.entries.length })
      : undefined

/** The first seq, from `from` on, without an entry; undefined if there is no gap. */
const gapIn = (entries: ReadonlyArray<JournalEntry>, from: number): number | undefined => {
  const index = entries.findIndex(({ seq }, i) => seq !== from + i)
  return index === -1 ? undefined : from + index
}

const gapOf = ({ run_id }: StoredRun, seq: number) =>
  new RunQuarantined({ run_id, reason: "gap", seq })

const unknownRun = Effect.fail(
  new JournalError({ message: "append to a run that was never created", lost: false })
)

/** The store and the listeners of this process. In tests, several processes share one store. */
interface Journal {
  readonly store: Store
  readonly listeners: Set<CommitListener>
  /** This process's listeners to amendments; the store has the listeners of all processes. */
  readonly amended: Set<AmendmentListener>
}

/**
 * Reads its entries from the store when asked, so that an append that waits for a watcher is one small object (bench row `send`,
 * 1,000 runs).
 */
class StoredCommit implements Committed {
  readonly from: number
  readonly count: number
  readonly isEnd: boolean
  readonly mayEndWait: boolean
  readonly size = 0
  readonly #run: StoredRun

  constructor(run: StoredRun, from: number, events: ReadonlyArray<RunEvent>) {
    this.#run = run
    this.from = from
    this.count = events.length
    this.isEnd = events.at(-1)?._tag === "RunEnded"
    this.mayEndWait = events.some(({ _tag }) => mayEndWait(_tag))
  }

  get run(): RunId {
    return this.#run.run_id
  }

  entries(): ReadonlyArray<JournalEntry> {
    return this.#run.entries.slice(this.from, this.from + this.count)
  }
}

const appendTo = (
  { listeners, store }: Journal,
  run: StoredRun,
  events: ReadonlyArray<RunEvent>,
  status: RunStatus,
  parkable: boolean,
  now: number
): void => {
  const from = run.entries.length
  appendEvents(store, run, events, status, parkable, now)
  for (const listener of listeners) {
    if (!listener.accepts(run.run_id)) continue
    listener.onCommitted(new StoredCommit(run, from, events))
  }
}

/**
 * Runs `use` once no transaction holds the run. What `use` does synchronously is atomic: no other writer can write between its
 * check and its write.
 */
const whenUnlocked = <A, E, R>(
  store: Store,
  id: RunId,
  use: (run: StoredRun | undefined, now: number) => Effect.Effect<A, E, R>,
  wait: (held: Effect.Effect<void>) => Effect.Effect<void> = identity
): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => {
    const run = store.runs.get(id)
    return run?.held === undefined
      ? use(run, clock.currentTimeMillisUnsafe())
      : Effect.andThen(wait(Deferred.await(run.held)), whenUnlocked(store, id, use, wait))
  })

const no_needs: StoredRun["needs"] = []

/** Creates the run without an event; undefined if it exists already. */
const makeRun = (
  store: Store,
  id: RunId,
  ordinal: number,
  accepted: RunAccepted,
  now: number
): StoredRun | undefined => {
  if (store.runs.has(id)) return undefined
  const { address, tenant } = accepted
  const actor = actorKey(tenant, address)
  const run: StoredRun = {
    run_id: id,
    tenant,
    address,
    actor,
    conversation: accepted.conversation,
    ordinal,
    created_at: now,
    entries: [],
    units: 0,
    status: "pending",
    parkable: false,
    epoch: 0,
    owner: undefined,
    needs: no_needs,
    held: undefined,
    quarantined: undefined
  }
  store.runs.set(id, run)
  store.open.add(run)
  const open = store.openOf.get(actor)
  store.openOf.set(actor, open === undefined ? [run] : [...open, run])
  return run
}

const create = (
  journal: Journal,
  id: RunId,
  ordinal: number,
  accepted: RunAccepted,
  now: number
): boolean => {
  const run = makeRun(journal.store, id, ordinal, accepted, now)
  if (run !== undefined) appendTo(journal, run, [accepted], "pending", false, now)
  return run !== undefined
}

const begin = (
  journal: Journal,
  { accepted, dispatch, ordinal, run: id }: Beginning,
  owner: string,
  now: number
): Claim | undefined => {
  const { store } = journal
  const message = store.messages.get(dispatch.id)
  if (message?.owner !== dispatch.claim) return undefined
  const isLast = removeMessage(store, message)
  const run = makeRun(store, id, ordinal, accepted, now)
  // The next message of the dispatch's key is due now.
  if (!isLast) for (const listener of store.written) listener()
  if (run === undefined) return undefined
  run.epoch = 1
  run.owner = owner
  const events: ReadonlyArray<RunEvent> = [accepted, { _tag: "RunClaimed", epoch: 1, owner }]
  appendTo(journal, run, events, "processing", false, now)
  return { head: runHeadOf(store, run, now), entries: run.entries.slice() }
}

/** Claims a run that has not ended. The caller has checked that. */
const claimFor = (
  journal: Journal,
  run: StoredRun,
  { owner }: Pick<Claimant, "owner">,
  now: number
): Claim => {
  const epoch = ++run.epoch
  run.owner = owner
  run.needs = []
  const status = run.status === "pending" ? "processing" : run.status
  appendTo(journal, run, [{ _tag: "RunClaimed", epoch, owner }], status, run.parkable, now)
  return { head: runHeadOf(journal.store, run, now), entries: run.entries.slice() }
}

const claimRun =
  (journal: Journal) =>
  (
    id: RunId,
    owner: string,
    seen?: number
  ): Effect.Effect<Claim, RunNotFound | RunIsOver | RunQuarantined | FencedOff> =>
    whenUnlocked<Claim, RunNotFound | RunIsOver | RunQuarantined | FencedOff, never>(
      journal.store,
      id,
      (run, now) => {
        if (run === undefined) return Effect.fail(new RunNotFound({ run_id: id }))
        if (run.quarantined !== undefined) return Effect.fail(run.quarantined.why)
        if (!journal.store.open.has(run)) {
          return Effect.fail(new RunIsOver({ run_id: id, status: run.status }))
        }
        if (seen !== undefined && seen !== run.epoch) {
          return Effect.fail(new FencedOff({ run_id: id, epoch: run.epoch }))
        }
        const claim = claimFor(journal, run, { owner }, now)
        const gap = gapIn(run.entries, 0)
        return gap === undefined
          ? Effect.succeed(claim)
          : EphemeralQuarantine.put(run, gapOf(run, gap), now)
      }
    )

const amendRun =
  (journal: Journal) =>
  <A, E>(
    id: RunId,
    command: (state: RunState, now: number) => Amendment<A, E>
  ): Effect.Effect<A, E | RunNotFound | RunQuarantined | JournalError> =>
    whenUnlocked<A, E | RunNotFound | RunQuarantined | JournalError, never>(
      journal.store,
      id,
      (run, now) => {
        if (run === undefined) return Effect.fail(new RunNotFound({ run_id: id }))
        if (run.quarantined !== undefined) return Effect.fail(run.quarantined.why)
        const amended = amendmentOf(id, run.entries, run.entries.length, command, now)
        if (Result.isFailure(amended)) {
          const why = amended.failure
          return why._tag === "RunQuarantined"
            ? EphemeralQuarantine.put(run, why, now)
            : Effect.fail(why)
        }
        const { after, answer, events } = amended.success
        if (events.length > 0) {
          const waited = run.parkable
          appendTo(journal, run, events, statusOf(after), isParkable(after), now)
          if (run.needs.length > 0) run.needs = stillNeeded(run.needs, after)
          const head = runHeadOf(journal.store, run, now)
          const own = claimingListener(journal.amended, head, waited)
          const claim =
            own?.claimant === undefined ? undefined : claimFor(journal, run, own.claimant, now)
          for (const each of journal.store.amended) {
            each.onAmended(id, each === own ? claim : undefined)
          }
        }
        return Effect.fromResult(answer)
      }
    )

/**
 * Emulates a transaction: other writers of the run wait while the body runs, and the run's events are appended after it. There is
 * no rollback: what a failed body has written stays. If the caller is interrupted, no events are appended.
 */
const transactRun =
  (journal: Journal) =>
  <A, E, R>(
    id: RunId,
    fence: Fence,
    body: Effect.Effect<A, E, R>,
    record: (exit: Exit.Exit<A, E>) => Pick<Append, "events" | "status" | "parkable" | "took">
  ): Effect.Effect<void, StaleAppend | FencedOff | JournalError, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(lockRun(journal.store, id, fence, restore), ({ held, run }) =>
        restore(exitInTime(body)).pipe(
          Effect.flatMap((exit) =>
            Effect.clockWith((clock) => {
              const { events, parkable = false, status, took } = record(exit)
              if (events.length > 0) {
                appendTo(journal, run, events, status, parkable, clock.currentTimeMillisUnsafe())
                if (took !== undefined) settleBudgets(journal.store, id, took)
              }
              return Effect.void
            })
          ),
          Effect.ensuring(
            Effect.sync(() => {
              run.held = undefined
              Deferred.doneUnsafe(held, Exit.void)
            })
          )
        )
      )
    )

/**
 * Makes other writers of the run wait until `held` completes. Only the time in which it waits for them itself can be interrupted.
 */
const lockRun = (
  store: Store,
  id: RunId,
  fence: Fence,
  restore: (held: Effect.Effect<void>) => Effect.Effect<void>
) =>
  whenUnlocked(
    store,
    id,
    (
      run
    ): Effect.Effect<
      { readonly run: StoredRun; readonly held: Deferred.Deferred<void> },
      StaleAppend | FencedOff | JournalError
    > => {
      if (run === undefined) return unknownRun
      const refused = refusal(run, fence)
      if (refused !== undefined) return Effect.fail(refused)
      const held = Deferred.makeUnsafe<void>()
      run.held = held
      return Effect.succeed({ run, held })
    },
    restore
  )

const exitInTime = <A, E, R>(
  body: Effect.Effect<A, E, R>
): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.exit(
    Effect.timeoutOrElse(body, {
      duration: transaction_ms_max,
      orElse: () => Effect.interrupt
    })
  )

const head = (store: Store, id: RunId, now: number): Effect.Effect<RunHead, RunNotFound> => {
  const run = store.runs.get(id)
  return run === undefined
    ? Effect.fail(new RunNotFound({ run_id: id }))
    : Effect.succeed(runHeadOf(store, run, now))
}

const no_heads: Effect.Effect<ReadonlyArray<RunHead>> = Effect.succeed([])

const unfinishedRuns =
  (store: Store) =>
  (tenant: Tenant, address: Address, limit: number): Effect.Effect<ReadonlyArray<RunHead>> =>
    Effect.clockWith((clock) => {
      const open = store.openOf.get(actorKey(tenant, address))
      if (open === undefined) return no_heads
      const now = clock.currentTimeMillisUnsafe()
      const oldest = [...open].sort((a, b) => a.ordinal - b.ordinal).slice(0, limit)
      return Effect.succeed(oldest.map((run) => runHeadOf(store, run, now)))
    })

const readsOf = (
  store: Store,
  clock: Clock.Clock
): Pick<RunReader["Service"], "read" | "readFor"> => {
  const read: RunReader["Service"]["read"] = (id, from, limit) =>
    Effect.suspend(() => {
      const run = store.runs.get(id)
      if (run === undefined) return Effect.succeed([])
      const found = run.entries.slice(from, from + Math.min(limit, read_max))
      if (found.length === 0 && run.quarantined !== undefined) {
        return Effect.fail(run.quarantined.why)
      }
      const gap = gapIn(found, from)
      return gap === undefined
        ? Effect.succeed(found)
        : EphemeralQuarantine.put(run, gapOf(run, gap), clock.currentTimeMillisUnsafe())
    })
  return {
    read,
    readFor: (tenant, id, from, limit) =>
      Effect.suspend(() =>
        store.runs.get(id)?.tenant === tenant ? read(id, from, limit) : Effect.succeed([])
      )
  }
}

const ownershipOf = (journal: Journal, clock: Clock.Clock): RunOwnership["Service"] => {
  const { store } = journal
  return {
    begin: (beginning, owner) =>
      Effect.sync(() => begin(journal, beginning, owner, clock.currentTimeMillisUnsafe())),
    claim: claimRun(journal),
    heartbeat: (owner, lease_ms) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const [other, { until }] of store.leases) if (until <= now) store.leases.delete(other)
        const since = store.leases.get(owner)?.since ?? now
        store.leases.set(owner, { since, seen_at: now, until: now + lease_ms })
      }),
    owners: (limit) => Effect.map(Clock.currentTimeMillis, (now) => ownersOf(store, limit, now)),
    release: (owner) => Effect.sync(() => void store.leases.delete(owner)),
    recoverable: (owner, hosted, limit) => recoverableRuns(store, owner, hosted, limit),
    answerable: (owner, agents, hosted, limit) =>
      answerableRuns(store, owner, agents, hosted, limit),
    adopt: (owner, hosted, limit) => adoptRuns(store, owner, hosted, limit),
    handOver: (run, epoch, needs) => handOverRun(store, run, epoch, needs)
  }
}

const newsOf = ({ amended, listeners, store }: Journal): RunNews["Service"] => ({
  onAmended: (onAmended, claimant) =>
    Effect.suspend(() => {
      const listener = { onAmended, claimant }
      const sets = [store.amended, amended]
      return Effect.acquireRelease(
        Effect.sync(() => sets.forEach((each) => each.add(listener))),
        () => Effect.sync(() => sets.forEach((each) => each.delete(listener)))
      )
    }),
  onCommitted: (listener) =>
    Effect.acquireRelease(
      Effect.sync(() => void listeners.add(listener)),
      () => Effect.sync(() => void listeners.delete(listener))
    )
})

const make = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const journal: Journal = { store, listeners: new Set(), amended: new Set() }
  const clock = yield* Clock.Clock
  const now = (request: Append): Effect.Effect<void, StaleAppend | FencedOff | JournalError> => {
    const run = store.runs.get(request.run)
    if (run === undefined) return unknownRun
    if (run.held !== undefined) return Effect.andThen(Deferred.await(run.held), append(request))
    const refused = refusal(run, request.fence)
    if (refused !== undefined) return Effect.fail(refused)
    const { events, parkable = false, status, took } = request
    appendTo(journal, run, events, status, parkable, request.at ?? clock.currentTimeMillisUnsafe())
    if (took !== undefined) settleBudgets(store, request.run, took)
    return Effect.void
  }
  const append: AppendEvents = Object.assign(
    (request: Append) => Effect.suspend(() => now(request)),
    { now }
  )
  const port = RunJournal.of({
    create: (id, ordinal, accepted) =>
      Effect.sync(() => create(journal, id, ordinal, accepted, clock.currentTimeMillisUnsafe())),
    append,
    transact: transactRun(journal),
    amend: amendRun(journal)
  })
  const reader = RunReader.of({
    ...readsOf(store, clock),
    head: (id) => Effect.suspend(() => head(store, id, clock.currentTimeMillisUnsafe())),
    unfinished: unfinishedRuns(store)
  })
  return Context.make(RunJournal, port).pipe(
    Context.add(RunReader, reader),
    Context.add(RunOwnership, ownershipOf(journal, clock)),
    Context.add(RunQuarantine, EphemeralQuarantine.make(store)),
    Context.add(RunNews, newsOf(journal))
  )
})

export const layer: Layer.Layer<RunPorts, never, EphemeralStore> = Layer.effectContext(make)
