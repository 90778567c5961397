/**
 * How a process finds its work: at its start, at each sweep, when another process is gone, and when a run is amended.
 * Messages, decisions and cancels are records in the stores, and a sweep finds each of them, so that none depends on a
 * wakeup that arrives.
 *
 * - A run with work to do whose owner has no lease is *recovered*: its actor is started, and claims it.
 * - A run that waits only for people is *adopted*: this process is its owner and keeps one entry of it (parked). The
 *   decision amends it; the amendment starts its actor.
 */
import type { Scope } from "effect"
import { Effect, Layer } from "effect"
import type { RunId } from "../../../src/value/Ids.ts"
import { actorKey } from "../../../src/value/Ids.ts"
import type { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { Owners } from "../../../services/Owners.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { Claimant, RunNews } from "../../../services/RunNews.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import { StorePace } from "../../../services/StorePace.ts"
import { beginQuarantineCounter, RunQuarantine } from "../../../services/RunQuarantine.ts"
import { channelKey } from "../feed/ChannelKey.ts"
import { wakeRun } from "../loop/RunWakeup.ts"
import type { ActorFibers } from "./ActorFibers.ts"
import type { ActorHost } from "./ActorHost.ts"
import { startAlarmed, startPeriodic } from "../fiber/Periodic.ts"
import { RuntimeConfig } from "./RuntimeConfig.ts"

interface Actors {
  readonly host: ActorHost
  readonly fibers: ActorFibers
}

/** Questions that one sweep closes because their time is over. */
const expired_max = 500

/** Runs beside those at work that are looked for when there is room for some. */
const found_max = 500

const isOver = (status: string): boolean => ["complete", "failed", "cancelled"].includes(status)

/** Starts the actor of an amended run that is not resident, if this process is to run it. */
const wakeAmendedRun = Effect.fnUntraced(function* ({ fibers, host }: Actors, run: RunId) {
  const { feed, hosting, loop, owner, table } = host
  const head = yield* loop.reader.head(run)
  const channel = channelKey(head.tenant, head.conversation)
  feed.reached(channel, head.ordinal, head.length)
  // An actor is about to take it, and looks at the amendment then.
  if (table.isStartPending(head)) return
  const waits = head.parkable || head.quarantined === true
  if (waits || !hosting.has(head.address, head.needs)) return table.clearAmended(run)
  table.unpark(run)
  const isFree = head.owner === undefined || head.owner === owner
  if (isOver(head.status) || !isFree) table.clearAmended(run)
  // Also for one that is over: messages may have waited behind it.
  if (isFree) fibers.wake(head.tenant, head.address)
})

/** Looks for runs that this process is to go on with. */
const sweep = Effect.fnUntraced(function* (actors: Actors, recover_max: number) {
  const { fibers, host } = actors
  const { config, hosting, owner, ownership, table } = host
  let started = 0
  for (const head of yield* ownership.recoverable(owner, hosting.hosted, recover_max)) {
    // Also where an actor has it, is idle, or was stopped while the journal was away.
    fibers.wake(head.tenant, head.address, head)
    if (++started % config.loops_per_turn === 0) yield* Effect.yieldNow
  }
  for (const head of yield* ownership.adopt(owner, hosting.hosted, recover_max)) {
    table.park(head)
  }
  const { answering, hosted } = hosting
  if (answering.length > 0) {
    for (const head of yield* ownership.answerable(owner, answering, hosted, recover_max)) {
      fibers.wakeBeside(head)
    }
  }
  // The journal did not answer at the amendment, or another run of the address was first.
  for (const run of table.amendedRuns) {
    yield* Effect.catchTag(wakeAmendedRun(actors, run), "RunNotFound", () =>
      Effect.sync(() => table.clearAmended(run))
    )
  }
})

/** Others appended to a run: its actor looks at it now, or is started. `undefined`: it may have been any run. */
const wakeAmended =
  (actors: Actors) =>
  (run: RunId | undefined, claim?: Claim): void => {
    const { background, table } = actors.host
    if (claim !== undefined) return actors.fibers.resume(claim)
    if (run === undefined) {
      for (const { wakeup } of table.residents) wakeRun(wakeup)
      return
    }
    const actor = table.residentOf(run)
    if (actor !== undefined) return wakeRun(actor.wakeup)
    if (table.isDraining) return
    table.markAmended(run)
    background(Effect.ignore(wakeAmendedRun(actors, run)))
  }

/** Has a run that nobody has at work claimed with its amendment, where it can be loaded soon: the claim holds all its events. */
const claimantOf = (
  { hosting, loading, memory, owner, table }: ActorHost,
  owners: Owners
): Claimant => ({
  owner,
  isProbablyDead: owners.isProbablyDead,
  accepts: ({ address, needs, run_id, tenant }) =>
    !table.isDraining &&
    !loading.isCrowded &&
    memory.hasRoom(tenant) &&
    hosting.has(address, needs) &&
    !table.isAccepting(run_id) &&
    table.residentOf(run_id) === undefined &&
    table.actorOf(actorKey(tenant, address)) === undefined
})

interface Services extends Actors {
  readonly desk: ApprovalDesk["Service"]
  readonly owners: Owners
  readonly news: RunNews["Service"]
}

/** Makes this process an owner, until the scope closes; recovers once, and starts the sweeps. */
export const start = Effect.fnUntraced(function* ({
  desk,
  news,
  owners,
  ...actors
}: Services): Effect.fn.Return<void, JournalError, Scope.Scope> {
  const { fibers, host } = actors
  const { config, sweepAlarm, hosting, memory, owner, ownership, table } = host
  const pace = yield* StorePace
  const heartbeat_ms = pace(Math.max(config.lease_ms / 3, 1))
  const heartbeat = () => ownership.heartbeat(owner, Math.max(config.lease_ms, 3 * heartbeat_ms))
  const expire = Effect.map(desk.expire(expired_max), (next) => {
    if (next !== undefined) sweepAlarm.set(next)
  })
  const recover = sweep(actors, config.recover_max)
  // Those at work are among those that are found.
  const recoverMore = Effect.suspend(() => sweep(actors, memory.runs + found_max))
  yield* heartbeat()
  yield* owners.register(owner, hosting.hosted)
  yield* news.onAmended(wakeAmended(actors), claimantOf(host, owners))
  // Finalizers run in reverse: the sweeps end first, then the actors, and what those need is closed after them.
  yield* Effect.addFinalizer(() => fibers.stop)
  yield* startPeriodic(heartbeat_ms, heartbeat())
  yield* startAlarmed(pace(config.sweep_ms), sweepAlarm, Effect.andThen(expire, recover))
  // What was left in the store goes on as soon as there is room for it, and not at the next sweep.
  memory.onRoom = () => {
    if (!table.isDraining) host.background(Effect.ignore(recoverMore))
  }
  // The runs of a process that is gone are taken up now, and not at the next sweep.
  yield* owners.onExpired(() => {
    if (!table.isDraining) host.background(Effect.ignore(recover))
  })
  yield* recover
})

/** Audited runs of one page, and the time between two of them. */
const page_max = 200
const pause_ms = 20

const makeAudit = Effect.gen(function* () {
  yield* beginQuarantineCounter
  const quarantine = yield* RunQuarantine
  const { audit_first_ms, audit_ms } = yield* RuntimeConfig
  const pages = Effect.gen(function* () {
    let after: RunId | undefined
    do {
      if (after !== undefined) yield* Effect.sleep(pause_ms)
      after = yield* quarantine.audit(page_max, after)
    } while (after !== undefined)
  })
  yield* startPeriodic(audit_ms, pages, audit_first_ms)
})

/**
 * Audits the runs that are not over, `audit_first_ms` after the start and then every `audit_ms`: a journal with a gap is put in
 * quarantine before anybody waits for it, and a lost record of a question is written again. In small pages, and not while a start
 * recovers its runs, so that no run waits for the audit.
 */
export const audit: Layer.Layer<never, never, RunQuarantine> = Layer.effectDiscard(makeAudit)
