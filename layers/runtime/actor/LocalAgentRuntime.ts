/**
 * The runtime of one process. Each actor runs in a fiber of its own, over the memory of its address, from its first
 * message until it has nothing to do; its state is in the journal.
 *
 * - What enters: messages, cancels and settlements, here, in `Sending.ts` and in `Acceptance.ts`.
 * - Which actors this process has: `ActorTable.ts` (resident, parked, stopped) and `ActorFibers.ts` (start and stop of fibers).
 * - What one actor does: `ActorLoop.ts`; how it crashes and starts again: `ActorCrash.ts`.
 * - What is found at a start, and when a decision or another amendment comes: `Recovery.ts`.
 *
 * A message is durable when `send` returns: `TaskStore.accept` has written its task and either its run, claimed for this
 * process, or the outbox row that dispatches it. The run where nothing else of the address waits; a store that does not begin
 * runs lets this process hold the row then, and the actor of the address begins the run (`ClaimedDispatches.ts`). Otherwise,
 * and where the process that holds it dies first, a relay calls `deliver` with the row, which begins the run in the journal
 * and wakes the actor. A cancel and a settlement amend the run's journal, and are durable when they return.
 */
import { Context, Effect, Layer } from "effect"
import type { SecureRandom } from "effect/crypto"
import { Digest } from "effect/crypto"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { CallId, RunId, Tenant } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { whoOf } from "../../../src/principal/Principal.ts"
import { cancelBy, freesKey, settleBy } from "../../../src/run/RunCommand.ts"
import type { Settlement } from "../../../src/run/UnknownCall.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { BudgetLedger } from "../../../services/BudgetLedger.ts"
import type { ConversationStore } from "../../../services/ConversationStore.ts"
import type { KeyFreed } from "../../../services/IdempotencyKeys.ts"
import { IdempotencyKeys } from "../../../services/IdempotencyKeys.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import { Owners } from "../../../services/Owners.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import { RunNews } from "../../../services/RunNews.ts"
import type { RunOwnership } from "../../../services/RunOwnership.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { ErasedConversation } from "../../../services/SubjectErasure.ts"
import { SubjectErasure } from "../../../services/SubjectErasure.ts"
import { TaskDispatch } from "../../../services/TaskDispatch.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { OpenQuestions } from "../approval/OpenQuestions.ts"
import * as ActorFibers from "./ActorFibers.ts"
import type { ActorHost } from "./ActorHost.ts"
import { makeActorHost } from "./ActorHost.ts"
import { channelKey } from "../feed/ChannelKey.ts"
import { withDecodedArguments } from "./DecodedRuntime.ts"
import * as Recovery from "./Recovery.ts"
import { openFeed } from "./Watch.ts"
import { amend } from "../feed/Observers.ts"
import { beginRun, supersedeEarlier, withRunBegun } from "./Acceptance.ts"
import * as Sending from "./Sending.ts"

/** The commands on runs, and the deliveries of messages. */
const makeCommands = Effect.fnUntraced(function* (
  { wake }: Pick<ActorFibers.ActorFibers, "wake">,
  host: ActorHost
) {
  const { feed, hosting, loop, tasks, onDurable } = host
  const { journal } = loop
  const keys = yield* IdempotencyKeys

  /** Frees the key of a call that has ended; `refused` where it holds none. */
  const freeKey = Effect.fnUntraced(function* <E>(
    run: RunId,
    call: CallId,
    tenant: Tenant,
    freed: KeyFreed,
    refused: E
  ) {
    const isFreed = yield* Effect.mapError(
      keys.free({ run, call, tenant }, freed),
      ({ message }) => new JournalError({ message, lost: false })
    )
    if (!isFreed) return yield* Effect.fail(refused)
    yield* Effect.annotateLogs(Effect.logInfo("the key of a call that has ended was freed"), {
      run_id: run,
      call_id: call,
      by: freed.by,
      tenant
    })
  })

  const deliver = Effect.fn("TaskDispatch.deliver")(function* (id: RunId) {
    const task = yield* tasks.get(id)
    if (task === undefined || task.status === "complete" || task.status === "failed") return
    // It is for a process that hosts the agent: begun here, its run would have no limits and no definition.
    if (!hosting.has(task.address)) return yield* new StoreError({ message: "not hosted here" })
    yield* beginRun(host, task)
    yield* supersedeEarlier(host, task)
    feed.reached(channelKey(task.tenant, task.conversation), task.ordinal, 1)
    wake(task.tenant, task.address)
  })

  const interrupt = (run: RunId, by: Principal, reason: string) =>
    withRunBegun(
      host,
      run,
      amend(journal, onDurable, run, (state) => cancelBy(state, run, by, reason))
    )

  const settle = (run: RunId, call: CallId, settlement: Settlement, by: Principal) =>
    Effect.suspend(() => {
      let freed: KeyFreed | undefined
      const settled = amend(journal, onDurable, run, (state, now) => {
        freed = freesKey(state, call, settlement) ? { ...whoOf(by), at: now } : undefined
        return settleBy(state, run, call, settlement, by, now)
      })
      return Effect.catchTag(settled, ["CallNotUnknown", "RunIsOver"], (refused) =>
        freed === undefined ? Effect.fail(refused) : freeKey(run, call, by.tenant, freed, refused)
      )
    })

  return { deliver, interrupt, settle }
})

/** Keeps nothing in memory of what an erasure wrote over; undefined: it may have been any conversation. */
const forgetErased = (host: ActorHost, erased: ErasedConversation | undefined): void => {
  host.erasures++
  host.loop.files.forget()
  host.table.forgetPast(erased?.tenant)
  host.feed.forget(erased && channelKey(erased.tenant, erased.conversation))
}

const make = Effect.gen(function* () {
  const host = yield* makeActorHost
  const { config, feed, hosting, loop, table, tasks } = host
  const { deadlines, directory, reader } = loop
  const news = yield* RunNews
  // Closed behind all that runs here: watchers are given what ended while it drained.
  yield* Effect.addFinalizer(() => Effect.sync(() => feed.close()))
  const fibers = yield* ActorFibers.make(host)
  const { deliver, interrupt, settle } = yield* makeCommands(fibers, host)
  const { currentAgent, fork, send } = yield* Sending.make(host, fibers.begin)
  const erasure = yield* SubjectErasure
  const watched = { directory, reader, tasks, deadlines, feed, watch_ms: config.watch_ms }
  yield* news.onCommitted(feed.listener)
  yield* erasure.onErased((erased) => forgetErased(host, erased))
  yield* Recovery.start({ host, fibers, desk: yield* ApprovalDesk, news, owners: yield* Owners })
  const runtime = withDecodedArguments(
    { digest: yield* Digest.Digest, tasks },
    {
      send,
      fork,
      currentAgent: (conversation, { tenant }, at) => currentAgent(tenant, conversation, at),
      interrupt,
      settle,
      placeOf: (run, tenant) => table.placeOf(run, tenant),
      openFeed: (conversation, after, { tenant }, isPatient) =>
        openFeed(watched, tenant, conversation, after, isPatient),
      actors: (limit, tenant) => Effect.sync(() => table.list(limit, tenant))
    }
  )
  return Context.make(AgentRuntime, runtime).pipe(
    Context.add(
      TaskDispatch,
      TaskDispatch.of({ agents: hosting.agents, deliver, drain: fibers.drain })
    )
  )
})

export const layer: Layer.Layer<
  AgentRuntime | TaskDispatch,
  JournalError | MisdeclaredPolicy,
  | AgentDirectory
  | AgentMemories
  | ApprovalDesk
  | BlobStore
  | BudgetLedger
  | ConversationStore
  | Digest.Digest
  | IdempotencyKeys
  | ModelGateway
  | OpenQuestions
  | Outbox
  | RunJournal
  | RunNews
  | RunOwnership
  | RunReader
  | SecureRandom.SecureRandom
  | SubjectErasure
  | TaskStore
  | ToolRegistry
> = Layer.effectContext(make)
