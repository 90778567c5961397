/**
 * Makes forks: a new run, in a conversation of its own that takes no messages, of what an earlier run was sent. What a fork is
 * given of that run, and what its calls do, is in `ForkedServices.ts` and `ForkedCalls.ts`.
 */
import { Effect } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import {
  firstWords,
  message_bytes_max,
  title_units_max
} from "../../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { extrasOf, IdempotencyConflict, MessageTooLarge } from "../../../src/delivery/AgentTask.ts"
import { readPolicy } from "../../../src/permission/PolicyInput.ts"
import { NotEntitled } from "../../../src/principal/NotEntitled.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { forkPlaces } from "../../../src/replay/Fork.ts"
import type { ForkOptions } from "../../../src/replay/ForkOptions.ts"
import type { Forked } from "../../../src/run/Forked.ts"
import { NotForkable } from "../../../src/run/Forked.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { isBeyondBytes } from "../../../src/value/CutText.ts"
import type { ConversationId, MessageId, RunId } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { ShuttingDown } from "../../../services/AgentRuntime.ts"
import type { NewTask, TaskStore } from "../../../services/TaskStore.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { readForked } from "../replay/ForkedServices.ts"
import { digestOf } from "../tool/CallDigests.ts"
import { storeParts } from "../tool/StoredParts.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { TraceOf } from "./RunSpans.ts"
import { sendTraced } from "./RunSpans.ts"

const first_step = "0/1"

/**
 * The run that is forked, if this principal may. Reads of the fork are made for the sender, so only those may fork whose roles are
 * all that it had; anybody may fork a customer's who may fork at all.
 */
const sourceOf = Effect.fnUntraced(function* ({ tasks }: ActorHost, run: RunId, by: Principal) {
  const found = yield* tasks.read(by.tenant, run)
  if (found === undefined) return yield* new RunNotFound({ run_id: run })
  const { forked, imported, roles = [] } = found
  const lacking = roles.filter((role) => role !== "customer" && !by.roles.includes(role))
  if (lacking.length > 0 && !by.roles.includes("admin")) {
    return yield* new NotEntitled({ principal: by.id, needs: [...lacking, "admin"] })
  }
  if (imported !== undefined) {
    return yield* new NotForkable({ run_id: run, reason: "its answer was imported, with no turns" })
  }
  if (forked !== undefined) {
    const reason = `it is a fork itself; fork run ${forked.run}`
    return yield* new NotForkable({ run_id: run, reason })
  }
  return found
})

/** Where the fork begins, as the recording of the run has it. */
const forkedOf = Effect.fnUntraced(function* (
  { loop }: ActorHost,
  { by: sender, conversation, id: run }: AgentTask,
  { message, model, policy, step = first_step }: ForkOptions
) {
  if (message !== undefined && step !== first_step) {
    const reason = "another message is sent from the first turn alone: leave `step` out"
    return yield* new InvalidInput({ field: "message", reason })
  }
  const recording = yield* readForked(loop.reader, { run })
  if (typeof recording === "string") {
    return yield* new NotForkable({ run_id: run, reason: recording })
  }
  const places = forkPlaces(recording)
  if (!places.includes(step)) {
    const known = places.slice(0, 50).join(", ")
    return yield* new InvalidInput({ field: "step", reason: `Expected one of ${known}` })
  }
  if (policy !== undefined) yield* readPolicy(policy)
  const forked: Forked = {
    sender,
    conversation,
    run,
    step,
    ...(message === undefined ? undefined : { edited: true as const }),
    ...defined({ model, policy })
  }
  return forked
})

/** An address of its own, whose memory is the place of the other run's. */
const addressOf = (source: AgentTask, conversation: ConversationId): AgentTask["address"] => ({
  agent: agentOfRun(source),
  key: `${source.address.key.split(":", 1)[0]?.slice(0, 100) ?? ""}:${conversation}` as ConversationId
})

/** Its conversation: with a key always the same, so that a retry finds what the first try made. */
const conversationOf = Effect.fnUntraced(function* (
  { idempotency_key: key }: ForkOptions,
  { id: by, tenant }: Principal
) {
  if (key === undefined) {
    const id = yield* SecureRandom.SecureRandom.use((random) => random.uuidV7())
    return { conversation: id as ConversationId, key: undefined }
  }
  const digest = yield* Digest.Digest
  const hex = yield* digestOf(digest, { fork: key, by, tenant })
  return { conversation: hex.slice(0, 32) as ConversationId, key: `fork-${hex}` }
})

type Accept = (task: Omit<NewTask, "claim">) => ReturnType<TaskStore["Service"]["accept"]>

/** How forks are made and accepted. */
export const make = Effect.fnUntraced(function* (host: ActorHost, accept: Accept) {
  const { loop, parts: files, table } = host
  const conversations = yield* ConversationStore
  const services = yield* Effect.context<Digest.Digest | SecureRandom.SecureRandom>()
  const uuid = Effect.provide(
    SecureRandom.SecureRandom.use((random) => random.uuidV7()),
    services
  )

  const makeFork = Effect.fnUntraced(function* (
    traceOf: TraceOf,
    run: RunId,
    options: ForkOptions,
    by: Principal
  ) {
    if (table.isDraining) return yield* new ShuttingDown()
    const source = yield* sourceOf(host, run, by)
    const { message = source.message } = options
    if (isBeyondBytes(message, message_bytes_max)) {
      return yield* new MessageTooLarge({ bytes_max: message_bytes_max })
    }
    const agent = loop.directory.get(agentOfRun(source))
    if (agent === undefined) {
      const reason = `its agent ${agentOfRun(source)} is not one of this process`
      return yield* new NotForkable({ run_id: run, reason })
    }
    const forked = yield* forkedOf(host, source, options)
    const { tenant } = by
    const { conversation, key } = yield* conversationOf(options, by)
    const id = (yield* uuid) as RunId
    const owner = { tenant, holder: { run: id, conversation, as: "message" as const }, by }
    const { answer_schema, context, handed_by, parts } = source
    const accepted = accept({
      id,
      tenant,
      address: addressOf(source, conversation),
      conversation,
      message,
      by: by.id,
      roles: source.roles,
      via: by.via?.id,
      ...traceOf(id),
      ...extrasOf({ answer_schema, context, forked, handed_by }),
      ...(parts && { parts: yield* storeParts(files, owner, parts) }),
      channel_origin: "fork",
      // An agent that does not speak with customers has no part in the fork either.
      initiated_by:
        (yield* conversations.get(tenant, source.conversation))?.initiated_by ?? "system",
      title: firstWords(`Fork of ${firstWords(message)}`, title_units_max),
      idempotency_key: key,
      waiting_max: 1,
      must_begin: true,
      reject_when_busy: false,
      message_id: (yield* uuid) as MessageId
    })
    // It has its conversation and address for itself, and a key finds its own fork there.
    return yield* Effect.catchTags(accepted, {
      AddressConflict: () => new IdempotencyConflict({ key: options.idempotency_key ?? "" }),
      AgentBusy: Effect.die,
      MailboxFull: Effect.die
    })
  })

  return (run: RunId, options: ForkOptions, by: Principal) =>
    Effect.provide(
      sendTraced("AgentRuntime.fork", (traceOf) => makeFork(traceOf, run, options, by)),
      services
    )
})
