/**
 * Every port of a runtime, wrapped for one process: a delay before and after, a store that fails before it acted or
 * loses the answer after it, and a place to die at on both sides.
 */
import { Context, Deferred, Effect, Exit, Layer, References } from "effect"
import type { StoredMessage } from "../../layers/ephemeral/EphemeralStore.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralApprovalRecords from "../../layers/ephemeral/EphemeralApprovalRecords.ts"
import * as EphemeralBudgetLedger from "../../layers/ephemeral/EphemeralBudgetLedger.ts"
import * as EphemeralConversationStore from "../../layers/ephemeral/EphemeralConversationStore.ts"
import * as EphemeralOutbox from "../../layers/ephemeral/EphemeralOutbox.ts"
import * as EphemeralDeadLetters from "../../layers/ephemeral/EphemeralDeadLetters.ts"
import * as EphemeralRunJournal from "../../layers/ephemeral/EphemeralRunJournal.ts"
import * as EphemeralTaskStore from "../../layers/ephemeral/EphemeralTaskStore.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { BudgetLedger } from "../../services/BudgetLedger.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import type { Append, Fence, FencedOff, StaleAppend } from "../../services/RunJournal.ts"
import { JournalError } from "../../services/RunJournal.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { IdempotencyKeys } from "../../services/IdempotencyKeys.ts"
import { StoreError } from "../../services/StoreError.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { Process } from "./Kernel.ts"
import type { Act, World } from "./World.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

export type Journal = WholeJournal.WholeJournal
export type OutboxPort = Outbox["Service"]
export type Tasks = TaskStore["Service"]
export type Records = ApprovalRecords["Service"]

export type KeysPort = IdempotencyKeys["Service"]

export interface Ports {
  readonly journal: Journal
  readonly outbox: OutboxPort
  readonly tasks: Tasks
  readonly records: Records
  readonly keys: KeysPort
}

/** What a transaction's body has done and not committed yet, by process and run. */
export const staged = new Map<string, Array<Act>>()
export const stageOf = (process: Process, run: RunId) => `${process.name}/${run}`

const journalError = (lost: boolean) => new JournalError({ message: "the store is away", lost })
const storeError = () => new StoreError({ message: "the store is away" })

/** One I/O of a process: delays, faults and two places to die at. */
export const io = <A, E, R, F = never>(
  world: World,
  process: Process,
  name: string,
  effect: Effect.Effect<A, E, R>,
  fail?: (lost: boolean) => F
): Effect.Effect<A, E | F, R> => {
  const pass = (side: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!process.alive || world.point(process, name + side)) return Effect.never
      const { delay, slow } = world.faults
      if (world.chance(slow)) {
        world.count("a slow store")
        return Effect.sleep(world.between(500, 6_000))
      }
      return world.chance(delay) ? Effect.sleep(world.between(0, 20)) : Effect.void
    })
  return Effect.gen(function* () {
    yield* pass("<")
    if (fail !== undefined && world.chance(world.faults.before)) {
      world.count("a store that failed before")
      return yield* Effect.fail(fail(world.chance(0.5)))
    }
    const exit = yield* Effect.exit(effect)
    yield* pass(">")
    if (fail !== undefined && Exit.isSuccess(exit) && world.chance(world.faults.after)) {
      world.count("an acknowledgement that was lost")
      return yield* Effect.fail(fail(true))
    }
    return yield* exit
  })
}

/** A listener is called in its own process, later, and never in a dead one. */
const listening = (process: Process, listener: () => void) => () =>
  process.alive ? process.kernel.schedule(process, listener) : undefined

/**
 * A transaction whose process is known while it holds the run, so that a crash can let go of it; what the body did
 * outside counts when the events do.
 */
const transacting = <A, E, R>(
  world: World,
  process: Process,
  inner: Journal,
  run: RunId,
  fence: Fence,
  body: Effect.Effect<A, E, R>,
  record: (exit: Exit.Exit<A, E>) => Pick<Append, "events" | "status" | "parkable">
): Effect.Effect<void, StaleAppend | FencedOff | JournalError, R> => {
  const attempt: Effect.Effect<void, StaleAppend | FencedOff | JournalError, R> = Effect.suspend(
    () => {
      const held = world.store.runs.get(run)?.held
      if (held !== undefined) return Effect.andThen(Deferred.await(held), attempt)
      const acts: Array<Act> = []
      staged.set(stageOf(process, run), acts)
      world.holders.set(run, process)
      return inner
        .transact(
          run,
          fence,
          Effect.provideService(body, References.PreventSchedulerYield, false),
          (exit) => {
            // In the same synchronous piece as the events: what a database does at COMMIT.
            if (Exit.isSuccess(exit)) world.acts.push(...acts)
            world.keys.end(process, run, Exit.isSuccess(exit))
            return record(exit)
          }
        )
        .pipe(
          Effect.ensuring(
            Effect.sync(() => {
              staged.delete(stageOf(process, run))
              world.keys.end(process, run)
              if (world.holders.get(run) === process) world.holders.delete(run)
            })
          )
        )
    }
  )
  // Nothing may come between the look at the lock and its taking.
  return Effect.provideService(attempt, References.PreventSchedulerYield, true)
}

/** Tells of what was committed, unless its acknowledgement is lost: then nobody learns what is durable. */
const onCommittedOf =
  (world: World, process: Process, inner: Journal): Journal["onCommitted"] =>
  ({ accepts, onCommitted }) =>
    inner.onCommitted({
      accepts,
      onCommitted: (committed) => {
        if (world.chance(world.faults.after)) {
          return world.count("an append that watchers were not told of")
        }
        world.count("an append that watchers were told of")
        listening(process, () => onCommitted(committed))()
      }
    })

/** A process claims what it amends itself; the journal behind it is that of all processes. */
const onAmendedOf =
  (world: World, process: Process, inner: Journal): Journal["onAmended"] =>
  (listener, claimant) =>
    inner.onAmended(
      (run, claim) => {
        if (claim !== undefined) world.count("a run that was claimed with its amendment")
        listening(process, () => listener(run, claim))()
      },
      claimant && {
        owner: claimant.owner,
        accepts: (head) => process.alive && world.amending === process && claimant.accepts(head)
      }
    )

const amending =
  (world: World, process: Process, inner: Journal): Journal["amend"] =>
  (run, command) =>
    io(
      world,
      process,
      "amend",
      inner.amend(run, (state, now) => {
        world.amending = process
        return command(state, now)
      }),
      journalError
    )

const journalOf = (world: World, process: Process, inner: Journal): Journal => {
  const call = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) =>
    io(world, process, name, effect, journalError)
  const checked = (name: string, run: RunId, epoch: number, exit: Exit.Exit<void, unknown>) => {
    const error = Exit.isFailure(exit) ? String(exit.cause) : ""
    if (error.includes("FencedOff")) world.count("a zombie that was fenced off")
    if (error.includes("StaleAppend")) world.count("a stale append")
    const head = world.store.runs.get(run)
    if (Exit.isSuccess(exit) && head !== undefined && head.epoch !== epoch) {
      world.violate(`${name} of epoch ${epoch} was accepted at epoch ${head.epoch}`)
    }
  }
  return {
    create: (run, ordinal, accepted) => call("create", inner.create(run, ordinal, accepted)),
    begin: (beginning, owner) =>
      call(
        "begin",
        Effect.tap(inner.begin(beginning, owner), (claim) =>
          Effect.sync(() =>
            world.count(
              claim === undefined
                ? "a run not begun where it was accepted"
                : "a run begun where it was accepted"
            )
          )
        )
      ),
    claim: (run, owner, seen) =>
      call(
        "claim",
        Effect.tap(inner.claim(run, owner, seen), (claim) =>
          Effect.sync(() => {
            if (claim.head.epoch > 1) world.count("a run that was claimed again")
          })
        )
      ),
    append: (append) =>
      call(
        "append",
        Effect.onExit(inner.append(append), (exit) =>
          Effect.sync(() => checked("an append", append.run, append.fence.epoch, exit))
        )
      ),
    transact: (run, fence, body, record) =>
      call("transact", transacting(world, process, inner, run, fence, body, record)),
    read: (run, from, limit) => call("read", inner.read(run, from, limit)),
    readFor: (tenant, run, from, limit) => call("read", inner.readFor(tenant, run, from, limit)),
    amend: amending(world, process, inner),
    head: (run) => call("head", inner.head(run)),
    unfinished: (tenant, address, limit) =>
      call("unfinished", inner.unfinished(tenant, address, limit)),
    audit: (limit, after) => call("audit", inner.audit(limit, after)),
    owners: (limit) => call("owners", inner.owners(limit)),
    heartbeat: (owner, lease_ms) => call("heartbeat", inner.heartbeat(owner, lease_ms)),
    release: (owner) => call("release", inner.release(owner)),
    recoverable: (owner, agents, limit) =>
      call("recoverable", inner.recoverable(owner, agents, limit)),
    adopt: (owner, agents, limit) => call("adopt", inner.adopt(owner, agents, limit)),
    answerable: (owner, agents, hosted, limit) =>
      call("answerable", inner.answerable(owner, agents, hosted, limit)),
    handOver: (run, epoch, needs) => call("handOver", inner.handOver(run, epoch, needs)),
    quarantined: (query) => call("quarantined", inner.quarantined(query)),
    raw: (tenant, run, from, limit) => call("raw", inner.raw(tenant, run, from, limit)),
    liftQuarantine: (run, tenant) => call("liftQuarantine", inner.liftQuarantine(run, tenant)),
    onAmended: onAmendedOf(world, process, inner),
    onCommitted: onCommittedOf(world, process, inner)
  }
}

const outboxOf = (world: World, process: Process, inner: OutboxPort): OutboxPort => {
  const call = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
    io(world, process, name, effect, storeError)
  return Outbox.of({
    enqueue: (messages) => call("enqueue", inner.enqueue(messages)),
    claim: (claim) => call("outbox.claim", inner.claim(claim)),
    release: (owners) =>
      call(
        "outbox.release",
        Effect.suspend(() => {
          const isHeld = ({ owner }: StoredMessage) => owner !== undefined && owners.includes(owner)
          if ([...world.store.messages.values()].some(isHeld))
            world.count("a dispatch that was given back")
          return inner.release(owners)
        })
      ),
    delivered: (id, owner) => call("delivered", inner.delivered(id, owner)),
    failed: (id, owner, error, retry_at) =>
      call("failed", inner.failed(id, owner, error, retry_at)),
    depth: inner.depth,
    nextDueAt: (routes) => call("nextDueAt", inner.nextDueAt(routes)),
    onWritten: (listener) => inner.onWritten(listening(process, listener))
  })
}

const tasksOf = (world: World, process: Process, inner: Tasks): Tasks => {
  const call = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
    io(world, process, name, effect, storeError)
  return TaskStore.of({
    accept: (task) => call("accept", inner.accept(task)),
    get: (id) => call("task", inner.get(id)),
    read: (tenant, id) => call("task", inner.read(tenant, id)),
    ofConversation: (tenant, conversation, after, limit) =>
      call("ofConversation", inner.ofConversation(tenant, conversation, after, limit)),
    newestOrdinal: (tenant, conversation) =>
      call("newestOrdinal", inner.newestOrdinal(tenant, conversation)),
    branches: (tenant, conversation) => call("branches", inner.branches(tenant, conversation)),
    posted: (tenant, digest, limit) => call("posted", inner.posted(tenant, digest, limit)),
    endedBefore: (tenant, conversation, ordinal, limit) =>
      call("endedBefore", inner.endedBefore(tenant, conversation, ordinal, limit))
  })
}

const recordsOf = (world: World, process: Process, inner: Records): Records => {
  const call = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
    io(world, process, name, effect, storeError)
  return ApprovalRecords.of({
    get: (id) => call("approval", inner.get(id)),
    read: (tenant, id) => call("approval", inner.read(tenant, id)),
    list: (query) => call("approvals", inner.list(query)),
    overdue: (now, limit) => call("overdue", inner.overdue(now, limit)),
    nextExpiry: (now) => call("nextExpiry", inner.nextExpiry(now))
  })
}

const keysOf = (world: World, process: Process, inner: KeysPort): KeysPort => ({
  find: (tenant, key, now) => io(world, process, "key", inner.find(tenant, key, now), storeError),
  reserve: (claim, over) => io(world, process, "reserve", inner.reserve(claim, over), storeError),
  free: (holder, freed) => io(world, process, "free", inner.free(holder, freed), storeError)
})

/** The store as one process sees it. */
export const layer = (
  world: World,
  process: Process,
  mutate: (ports: Ports) => Partial<Ports>
): Layer.Layer<
  | RunPorts
  | Outbox
  | OutboxReplayer
  | TaskStore
  | ApprovalRecords
  | BudgetLedger
  | ConversationStore
  | EphemeralStore
  | IdempotencyKeys
> => {
  const inner = Layer.mergeAll(
    EphemeralRunJournal.layer,
    EphemeralTaskStore.layer,
    EphemeralApprovalRecords.layer,
    EphemeralBudgetLedger.layer,
    EphemeralConversationStore.layer,
    EphemeralOutbox.layer,
    EphemeralDeadLetters.layer
  ).pipe(Layer.provideMerge(Layer.succeed(EphemeralStore, world.store)))
  return Layer.effectContext(
    Effect.map(
      Layer.build(inner),
      (
        built
      ): Context.Context<
        | RunPorts
        | Outbox
        | OutboxReplayer
        | TaskStore
        | ApprovalRecords
        | BudgetLedger
        | ConversationStore
        | EphemeralStore
        | IdempotencyKeys
      > => {
        const wrapped: Ports = {
          journal: journalOf(world, process, WholeJournal.from(built)),
          outbox: outboxOf(world, process, Context.get(built, Outbox)),
          tasks: tasksOf(world, process, Context.get(built, TaskStore)),
          records: recordsOf(world, process, Context.get(built, ApprovalRecords)),
          keys: keysOf(world, process, world.keys.of(process))
        }
        const ports = { ...wrapped, ...mutate(wrapped) }
        return built.pipe(
          Context.merge(WholeJournal.context(ports.journal)),
          Context.add(Outbox, ports.outbox),
          Context.add(TaskStore, ports.tasks),
          Context.add(ApprovalRecords, ports.records),
          Context.add(IdempotencyKeys, ports.keys)
        )
      }
    )
  )
}

/** A database lets go of the rows of a client that died. */
export const unlock = (world: World, process: Process) => {
  world.keys.end(process)
  for (const [id, holder] of world.holders) {
    if (holder !== process) continue
    world.holders.delete(id)
    const run = world.store.runs.get(id)
    if (run?.held === undefined) continue
    const { held } = run
    run.held = undefined
    Deferred.doneUnsafe(held, Exit.void)
  }
}
