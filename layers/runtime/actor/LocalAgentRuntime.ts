/**
 * The runtime of one process. Each actor runs in a fiber of its own, over the memory of its address, from its first
 * message until it has nothing to do; its state is in the journal.
 *
 * - What enters: `Ingress.ts` (messages, cancels, settlements: where each becomes durable) and `Acceptance.ts`.
 * - Which actors this process has: `ActorTable.ts` (resident, parked, stopped) and `ActorFibers.ts` (start and stop of fibers).
 * - What one actor does: `ActorLoop.ts`; how it crashes and starts again: `ActorCrash.ts`.
 * - What is found at a start, and when a decision or another amendment comes: `Recovery.ts`.
 */
import { Context, Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import type { SecureRandom } from "effect/crypto"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { ConversationStore } from "../../../services/ConversationStore.ts"
import type { IdempotencyKeys } from "../../../services/IdempotencyKeys.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import { Owners } from "../../../services/Owners.ts"
import type { JournalError, RunJournal } from "../../../services/RunJournal.ts"
import { RunNews } from "../../../services/RunNews.ts"
import type { RunOwnership } from "../../../services/RunOwnership.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { ErasedConversation } from "../../../services/SubjectErasure.ts"
import { SubjectErasure } from "../../../services/SubjectErasure.ts"
import { TaskDispatch } from "../../../services/TaskDispatch.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { OpenQuestions } from "../approval/OpenQuestions.ts"
import * as ActorFibers from "./ActorFibers.ts"
import * as ActorHost from "./ActorHost.ts"
import { channelKey } from "../feed/ChannelKey.ts"
import { withDecodedArguments } from "./DecodedRuntime.ts"
import * as Ingress from "./Ingress.ts"
import * as Recovery from "./Recovery.ts"
import { openFeed } from "./Watch.ts"

/** Keeps nothing in memory of what an erasure wrote over; undefined: it may have been any conversation. */
const forgetErased = (host: ActorHost.ActorHost, erased: ErasedConversation | undefined): void => {
  host.erasures++
  host.loop.files.forget()
  host.table.forgetPast(erased?.tenant)
  host.feed.forget(erased && channelKey(erased.tenant, erased.conversation))
}

const make = Effect.gen(function* () {
  const host = yield* ActorHost.make
  const { config, feed, hosting, loop, table, tasks } = host
  const { deadlines, reader } = loop
  const news = yield* RunNews
  // Closed behind all that runs here: watchers are given what ended while it drained.
  yield* Effect.addFinalizer(() => Effect.sync(() => feed.close()))
  const { begin, drain, resume, stop, wake } = yield* ActorFibers.make(host)
  const { deliver, currentAgent, interrupt, send, settle } = yield* Ingress.make(host, {
    begin,
    wake
  })
  const erasure = yield* SubjectErasure
  const watched = { reader, tasks, deadlines, feed, watch_ms: config.watch_ms }
  yield* news.onCommitted(feed.listener)
  yield* erasure.onErased((erased) => forgetErased(host, erased))
  const [desk, owners] = [yield* ApprovalDesk, yield* Owners]
  yield* Recovery.start({ host, resume, wake, stop, desk, news, owners })
  const runtime = withDecodedArguments(
    { digest: yield* Digest.Digest, tasks },
    {
      send,
      currentAgent: (conversation, { tenant }) => currentAgent(tenant, conversation),
      interrupt,
      settle,
      placeOf: (run, tenant) => table.placeOf(run, tenant),
      openFeed: (conversation, after, { tenant }, isPatient) =>
        openFeed(watched, tenant, conversation, after, isPatient),
      actors: (limit, tenant) => Effect.sync(() => table.list(limit, tenant))
    }
  )
  return Context.make(AgentRuntime, runtime).pipe(
    Context.add(TaskDispatch, TaskDispatch.of({ agents: hosting.agents, deliver, drain }))
  )
})

export const layer: Layer.Layer<
  AgentRuntime | TaskDispatch,
  JournalError | MisdeclaredPolicy,
  | AgentDirectory
  | AgentMemories
  | ApprovalDesk
  | BlobStore
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
