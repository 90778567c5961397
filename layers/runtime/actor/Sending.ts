/**
 * Accepts messages: checks them, keeps what is not to be journaled, and writes their tasks.
 */
import type { Cause } from "effect"
import { Effect, Exit, Result, Struct } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import type { Conversation } from "../../../src/conversation/Conversation.ts"
import {
  firstWords,
  initiatorOf,
  message_bytes_max,
  title_units_max,
  ConversationNotFound
} from "../../../src/conversation/Conversation.ts"
import type { MessageExtras, IdempotencyConflict } from "../../../src/delivery/AgentTask.ts"
import {
  AddressConflict,
  AgentBusy,
  IntakeFull,
  MessageTooLarge,
  NestedTooDeep,
  extrasOf
} from "../../../src/delivery/AgentTask.ts"
import type { ConversationId, MessageId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { anchoredConversation, AnchorMismatch } from "../../../src/memory/MemoryAnchors.ts"
import type { ReadPart } from "../../../src/entry/ArgumentReaders.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { rolesOf } from "../../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../../src/principal/Rights.ts"
import { ignoreRejection } from "../../../src/value/IgnoredRejection.ts"
import { isBeyondBytes } from "../../../src/value/CutText.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { ShuttingDown } from "../../../services/AgentRuntime.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { Accepted, NewTask } from "../../../services/TaskStore.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { digestOf } from "../tool/CallDigests.ts"
import { BufferQuota } from "../feed/BufferQuota.ts"
import type { KeptSecrets, RunSecrets } from "../tool/RunSecrets.ts"
import { storeParts } from "../tool/StoredParts.ts"
import { runAcceptedOf } from "./Acceptance.ts"
import type { ActorFibers } from "./ActorFibers.ts"
import type { ActorHost } from "./ActorHost.ts"
import { contextReaders } from "./ContextReaders.ts"
import * as Forking from "./Forking.ts"
import { askedBy, letsWait, queuedBehind } from "./QueuedMessages.ts"
import type { Holder } from "./Replacing.ts"
import { holderBehind, placed } from "./Replacing.ts"
import type { TraceOf } from "./RunSpans.ts"
import { sendTraced } from "./RunSpans.ts"

type Task = Omit<NewTask, "claim">

/** How often a message that follows a run is placed again, because another one came first. */
const places_max = 5

const ordinal_max = 2 ** 31 - 1

/** The run that is at work in the conversation, else the last one that ended. */
const newestRun = Effect.fnUntraced(function* (
  { loop, tasks }: ActorHost,
  { address, id, tenant }: Conversation
) {
  const [head] = yield* loop.reader.unfinished(tenant, address, 1)
  if (head !== undefined) return head.run_id
  const [task] = yield* tasks.endedBefore(tenant, id, ordinal_max, 1)
  return task?.id
})

/** Who holds the conversation by its newest run; a run that cannot be read says nothing. */
const holderOf = Effect.fnUntraced(function* (host: ActorHost, conversation: Conversation) {
  const run: RunId | undefined = yield* newestRun(host, conversation)
  const first: Holder = { agent: conversation.address.agent, handed_by: undefined }
  return run === undefined ? first : ((yield* holderBehind(host, run)) ?? first)
})

/**
 * Several agents in one conversation. It stays at the address of the agent that it began with, whose actor runs all of its
 * messages one after another; a message for another agent says so, and that agent then holds the conversation until it is
 * handed over, or another one is sent a message.
 */
const makeOtherAgents = Effect.fnUntraced(function* (host: ActorHost) {
  const conversations = yield* ConversationStore
  const customer_agents = yield* CustomerAgents
  const { directory } = host.loop

  /** The agent that holds a conversation, or held it where a run stands: a message that names none goes to it. */
  const currentAgent = Effect.fnUntraced(function* (
    tenant: Tenant,
    id: ConversationId,
    { follows, replaces }: Pick<Message, "follows" | "replaces"> = {}
  ) {
    const at = replaces ?? follows
    const task = at === undefined ? undefined : yield* host.tasks.get(at)
    if (task?.tenant === tenant && task.conversation === id) {
      const holder = replaces === undefined ? yield* holderBehind(host, task.id) : undefined
      return holder?.agent ?? agentOfRun(task)
    }
    const found = yield* conversations.get(tenant, id)
    if (found === undefined) return yield* new ConversationNotFound({ id })
    return (yield* holderOf(host, found)).agent
  })

  /**
   * The task of a message to another agent than the conversation began with; undefined where it is the same one. Fails where
   * that agent may take no part: the conversation is a customer's and the agent is not for customers, or the memory of the
   * conversation belongs to another operator.
   */
  const taskForOtherAgent = Effect.fnUntraced(function* (task: Task, by: Principal) {
    const { address, conversation, tenant } = task
    const found = yield* conversations.get(tenant, conversation)
    if (found === undefined || found.address.agent === address.agent) return undefined
    // A conversation that is not at the address of its own id takes no messages: it is a fork, or comes from an archive.
    if (found.address.key !== conversation) {
      return yield* new AddressConflict({ conversation, agent: address.agent })
    }
    const first = directory.get(found.address.agent)?.spec
    const isKept = found.initiated_by === "customer" && !customer_agents.includes(address.agent)
    if (first === undefined || isKept) {
      return yield* new AddressConflict({ conversation, agent: address.agent })
    }
    const kind = first.memory?.anchor ?? "workspace"
    const sent = { agent: first.name, kind, sender: by.id, conversation }
    yield* Effect.fromResult(anchoredConversation(sent, conversation))
    const { agent, handed_by } = yield* holderOf(host, found)
    const taken: Task = {
      ...task,
      address: found.address,
      agent: address.agent,
      waiting_max: first.mailbox_max,
      reject_when_busy: first.mailbox === "reject",
      // In place of a run it is as that one was handed over.
      ...(task.branch === undefined && agent === address.agent && defined({ handed_by }))
    }
    return taken
  })

  return { currentAgent, taskForOtherAgent }
})

/** The text of a message with those among its parts. */
const textOf = ({ parts, text }: Message): string =>
  parts === undefined
    ? text
    : parts.reduce((sum, part) => (part.type === "text" ? sum + part.text : sum), text)

const nothing: Partial<Accepted> = {}

/** Was the task refused, and nothing written? */
const isRefused = (cause: Cause.Cause<{ readonly _tag: string }>): boolean =>
  cause.reasons.every((reason) => reason._tag === "Fail" && reason.error._tag !== "StoreError")

/**
 * Accepts a task under a claim of this process. Where the store begins its run, or holds the dispatch for it, an actor here
 * takes it up at once; otherwise a relay delivers it. Where it is not known what became of the acceptance, what the claim may
 * hold is given back, and a run that it may have begun is found by the next sweep.
 */
const makeAcceptTask = (host: ActorHost, begin: ActorFibers["begin"]) => (task: Task) =>
  Effect.suspend(() => {
    const { background, dispatches, memory, owner, table, tasks } = host
    // It waits in the store, and the run is taken up when there is room.
    if (!memory.hasRoom(task.tenant)) return tasks.accept(task)
    const claim = { ...dispatches.claim(), begins: { owner, accepted: runAcceptedOf(host, task) } }
    table.beginAccepting(task.id)
    return Effect.onExit(tasks.accept({ ...task, claim }), (exit) =>
      Effect.sync(() => {
        table.endAccepting(task.id)
        if (Exit.isFailure(exit) && !isRefused(exit.cause)) {
          return background(dispatches.giveBack(claim.owner))
        }
        const { begun, held = false, task: accepted } = Exit.isSuccess(exit) ? exit.value : nothing
        if (!held) dispatches.settle(claim.owner)
        if (accepted === undefined || (begun === undefined && !held)) return
        begin({ task: accepted, dispatch: { id: task.message_id, claim: claim.owner }, begun })
      })
    )
  }).pipe(Effect.flatMap((accepted) => withQueue(host, accepted)))

/** What a sender is told. The message is durable, so that a journal that cannot tell what it waits for refuses nothing. */
const withQueue = (
  { loop: { directory, reader } }: ActorHost,
  { begun, created, held, task }: Accepted
): Effect.Effect<Accepted> => {
  const accepted: Accepted = { created, task }
  const isWaiting = task.status === "pending" && begun === undefined && held === undefined
  if (!isWaiting || !letsWait(directory, task)) return Effect.succeed(accepted)
  return Effect.match(queuedBehind(reader, task), {
    onFailure: () => accepted,
    onSuccess: (behind) =>
      behind === undefined ? accepted : { ...accepted, queued_behind: behind }
  })
}

/** The refusal of a message with what the run at work waits for, if it waits for people. */
const withQuestions = ({ loop: { reader } }: ActorHost, task: Task, busy: AgentBusy) =>
  Effect.match(askedBy(reader, task), {
    onFailure: () => busy,
    onSuccess: (behind) =>
      behind === undefined ? busy : new AgentBusy({ address: busy.address, behind })
  }).pipe(Effect.flatMap((error) => Effect.fail(error)))

type Accept<E> = (task: Task, by: Principal) => Effect.Effect<Accepted, E>

/** The conversation is another agent's, or the key named a message of one. */
const isAgentConflict = (error: {
  readonly _tag: string
}): error is AddressConflict | IdempotencyConflict =>
  error._tag === "AddressConflict" || error._tag === "IdempotencyConflict"

/** Keeps the secrets of a message before its run may begin. Sent again by its sender, it gives them to the run from before. */
const makeAcceptWithSecrets =
  <E extends { readonly _tag: string }>(known: RunSecrets, accept: Accept<E>) =>
  (task: Task, secrets: KeptSecrets, by: Principal) =>
    Effect.suspend(() => {
      known.keep(task.id, secrets)
      return Effect.onExit(accept(task, by), (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit) && exit.value.created) return
          // Where it is not known what became of it, the run may have begun.
          if (Exit.isSuccess(exit) || isRefused(exit.cause)) known.drop(task.id)
          const before = Exit.isSuccess(exit) ? exit.value.task : undefined
          const isOver = before?.status === "complete" || before?.status === "failed"
          if (before?.by === task.by && !isOver) known.keep(before.id, secrets)
        })
      )
    })

interface Ids {
  readonly digest: Digest.Digest["Service"]
  readonly random: SecureRandom.SecureRandom["Service"]
}

/** The conversation that the message names, where the sender may name it; else a new one. */
const conversationOf = Effect.fnUntraced(function* (
  { digest, random }: Ids,
  { memory }: AgentSpec,
  { agent, conversation, idempotency_key }: Message,
  by: Principal
) {
  const { tenant } = by
  // With an idempotency key always the same, so that a retry finds what the first try accepted.
  const fresh =
    conversation ??
    ((idempotency_key === undefined
      ? yield* random.uuidV7()
      : (yield* digestOf(digest, { tenant, idempotency_key })).slice(0, 32)) as ConversationId)
  const kind = memory?.anchor ?? "workspace"
  const sent = { agent, kind, sender: by.id, conversation }
  // A customer's id would be the name of a world, which may be there.
  if (kind === "world" && conversation !== undefined && isLimitedToOwn(by, "send")) {
    return yield* new AnchorMismatch({ agent, conversation, needs: "a sender who is no customer" })
  }
  return yield* Effect.fromResult(anchoredConversation(sent, fresh))
})

/** Why the message is too large, or may not begin one more run below the run that sends it; undefined if neither. */
const messageRefusal = (
  message: Message,
  { limits }: AgentSpec
): NestedTooDeep | MessageTooLarge | undefined => {
  const { nested } = message
  const { nested_depth_max: depth_max } = limits
  if (nested !== undefined && nested.depth > depth_max) {
    return new NestedTooDeep({ depth: nested.depth, depth_max })
  }
  return isBeyondBytes(textOf(message), message_bytes_max)
    ? new MessageTooLarge({ bytes_max: message_bytes_max })
    : undefined
}

/** What the agent's function makes of the message; its first words if there is none, or it does not give a text. */
const titleOf = Effect.fnUntraced(function* ({ spec, title }: ResolvedAgent, message: Message) {
  const text = textOf(message)
  if (title === undefined) return firstWords(text)
  const made = Result.try(() => title({ text }))
  if (Result.isSuccess(made) && typeof made.success === "string") {
    return firstWords(made.success, title_units_max)
  }
  if (Result.isSuccess(made)) ignoreRejection(made.success)
  yield* Effect.logWarning(
    `the function title of agent ${spec.name} gives no text: the first words are the title`
  )
  return firstWords(text)
})

/** What a message takes while it is accepted, beside its texts and files. */
const message_bytes = 10_000
/** A text may have two bytes for each unit. */
const bytes_per_unit = 2

const bytesOf = (message: Message): number => {
  const { parts = [] } = message
  return parts.reduce(
    (sum, part) => ("data" in part ? sum + part.data.length : sum),
    message_bytes + textOf(message).length * bytes_per_unit
  )
}

/**
 * Bounds what the messages take that are being accepted: an eighth of `in_flight_bytes_max` for a tenant, twice that in all. A
 * message counts as no more than its tenant may have, so that one alone is always taken.
 */
const makeIntake = ({ config }: ActorHost) => {
  const tenant_max = Math.floor(config.in_flight_bytes_max / 8)
  const all_max = 2 * tenant_max
  const quota = new BufferQuota({ tenant_max, all_max })
  return <A, E>(
    message: Message,
    { tenant }: Principal,
    accepted: Effect.Effect<A, E>
  ): Effect.Effect<A, E | IntakeFull> =>
    Effect.acquireUseRelease(
      // Nothing interrupts between the reservation and its release: what one message left behind would be gone for good.
      Effect.suspend(() => {
        const bytes = Math.min(bytesOf(message), tenant_max)
        const whose = quota.reserve(tenant, bytes)
        return whose === undefined
          ? Effect.succeed(bytes)
          : Effect.fail(new IntakeFull({ bytes_max: whose === "tenant" ? tenant_max : all_max }))
      }),
      () => accepted,
      (bytes) => Effect.sync(() => quota.release(tenant, bytes))
    )
}

/** The parts of a message as its run is to name them. A customer names no file by its digest that it has not uploaded. */
const storedParts = (
  host: ActorHost,
  { conversation, id }: { readonly id: RunId; readonly conversation: ConversationId },
  parts: NonNullable<Message["parts"]>,
  by: Principal
) =>
  Effect.map(
    storeParts(
      host.parts,
      {
        tenant: by.tenant,
        holder: { run: id, conversation, as: "message" },
        uploaded_by: isLimitedToOwn(by, "send") ? by.id : undefined,
        by
      },
      // They were decoded with the message.
      parts as ReadonlyArray<ReadPart>
    ),
    (parts) => ({ parts })
  )

const notFound = ({ loop: { directory } }: ActorHost, { agent }: Message) =>
  new AgentNotFound({ agent, available: directory.all.map(({ spec }) => spec.name) })

/** Looks again where the message stands, where another one came between. */
const placedAnew = <A, E, R>(
  { follows }: Message,
  sent: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  follows === undefined
    ? sent
    : Effect.retry(sent, {
        times: places_max,
        while: (error) => error instanceof AgentBusy && error.replaces === undefined
      })

/** How messages are accepted. */
export const make = Effect.fnUntraced(function* (host: ActorHost, begin: ActorFibers["begin"]) {
  const { currentAgent, taskForOtherAgent } = yield* makeOtherAgents(host)
  const { loop, table } = host
  const { directory } = loop
  const random = yield* SecureRandom.SecureRandom
  const ids = { digest: yield* Digest.Digest, random }

  const acceptTask = makeAcceptTask(host, begin)
  const accept = (task: Task, by: Principal) =>
    Effect.catchIf(acceptTask(task), isAgentConflict, (error) =>
      taskForOtherAgent(task, by).pipe(
        Effect.catchTag("JournalError", ({ message }) => Effect.fail(new StoreError({ message }))),
        Effect.flatMap((taken) => (taken === undefined ? Effect.fail(error) : acceptTask(taken)))
      )
    ).pipe(Effect.catchTag("AgentBusy", (busy) => withQuestions(host, task, busy)))
  const readContext = contextReaders(directory)
  const acceptWithSecrets = makeAcceptWithSecrets(host.loop.secrets, accept)
  const sendMessage = Effect.fnUntraced(function* (
    traceOf: TraceOf,
    given: Message,
    by: Principal
  ) {
    if (table.isDraining) return yield* new ShuttingDown()
    const { after, message, stands } = yield* placed(host, given, by)
    const { parts, text } = message
    const agent = directory.get(message.agent)
    if (agent === undefined) return yield* notFound(host, message)
    const refused = messageRefusal(message, agent.spec)
    if (refused !== undefined) return yield* refused
    const { context, secrets } = yield* readContext(agent, message.context)
    const conversation = yield* conversationOf(ids, agent.spec, message, by)
    const id = (yield* random.uuidV7()) as RunId
    const task: Task = {
      id,
      tenant: by.tenant,
      address: { agent: agent.spec.name, key: conversation },
      conversation,
      message: text,
      by: by.id,
      roles: rolesOf(by),
      via: by.via?.id,
      ...traceOf(id),
      ...extrasOf({
        ...(message as MessageExtras),
        agent: undefined,
        context,
        context_secrets: secrets === undefined ? undefined : Object.keys(secrets.members).sort(),
        ...stands
      }),
      ...(parts && (yield* storedParts(host, { id, conversation }, parts, by))),
      channel_origin: message.channel_origin ?? "api",
      initiated_by: message.initiated_by ?? initiatorOf(by.roles),
      title: yield* titleOf(agent, message),
      ...Struct.pick(message, ["idempotency_key", "metadata", "posted"]),
      after,
      waiting_max: agent.spec.mailbox_max,
      reject_when_busy: agent.spec.mailbox === "reject",
      message_id: (yield* random.uuidV7()) as MessageId
    }
    return yield* secrets === undefined ? accept(task, by) : acceptWithSecrets(task, secrets, by)
  })

  const within = makeIntake(host)
  const send = (message: Message, by: Principal) =>
    sendTraced("AgentRuntime.send", (traceOf) =>
      within(message, by, placedAnew(message, sendMessage(traceOf, message, by)))
    )
  return { currentAgent, send, fork: yield* Forking.make(host, acceptTask) }
})
