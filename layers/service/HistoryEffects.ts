/** Histories of other systems, with which conversations begin. Each exchange is a run that is over when it begins. */
import { Effect } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { AgentDirectory, CustomerAgents } from "../../services/AgentDirectory.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentNotFound } from "../../src/agent/AgentSpec.ts"
import { firstWords, imported_origin } from "../../src/conversation/Conversation.ts"
import { NotForCustomers } from "../../src/conversation/CustomerView.ts"
import type { Exchange } from "../../src/conversation/ImportedHistory.ts"
import { readHistory } from "../../src/conversation/ImportedHistory.ts"
import { anchoredConversation } from "../../src/memory/MemoryAnchors.ts"
import * as ConversationOperations from "../../src/operation/ConversationOperations.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { rolesOf } from "../../src/principal/Principal.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { canonical } from "../../src/value/Canonical.ts"
import type { AgentName, ConversationId, MessageId, RunId, Tenant } from "../../src/value/Ids.ts"
import { serve } from "./Served.ts"

const encoder = new TextEncoder()
const digestOf = (value: unknown) =>
  Digest.Digest.use((digest) => digest.digestHex(Digest.sha256, encoder.encode(canonical(value))))

/** An import may be as long as it is allowed to be, however many messages the agent lets wait. */
const waiting_max = 1_000_000

interface Place {
  readonly tenant: Tenant
  readonly agent: AgentName
  readonly id: ConversationId
  readonly customer: string | undefined
  readonly digest: string
}

const taken = new InvalidInput({
  field: "id",
  reason:
    "there is such a conversation, which this import did not begin: a history begins one that is new"
})

/** The conversation may begin with this history: it is new, or has begun with the same one. */
const failIfTaken = Effect.fnUntraced(function* ({ digest, id, tenant }: Place) {
  const found = yield* ConversationStore.use((store) => store.read(tenant, id))
  if (found === undefined) return
  const [first] = yield* TaskStore.use((tasks) => tasks.ofConversation(tenant, id, 0, 1))
  if (first?.imported?.digest !== digest) return yield* taken
})

/** The agent goes on with the conversation, and may: its memory fits the id, and a customer may speak with it. */
const failIfUnfit = Effect.fnUntraced(function* ({ agent, customer, id }: Place, by: Principal) {
  const directory = yield* AgentDirectory
  const spec = directory.get(agent)?.spec
  if (spec === undefined) {
    return yield* new AgentNotFound({
      agent,
      available: directory.all.map((each) => each.spec.name)
    })
  }
  const customer_agents = yield* CustomerAgents
  if (customer !== undefined && !customer_agents.includes(agent))
    return yield* new NotForCustomers({ customer_agents })
  const kind = spec.memory?.anchor ?? "workspace"
  const sent = { agent, kind, sender: customer ?? by.id, conversation: id }
  return yield* Effect.fromResult(anchoredConversation(sent, id))
})

/** Its task. Its key is that of its place, so that of two histories at once one alone begins the conversation. */
const taskOf = Effect.fnUntraced(function* (
  { agent, customer, digest, id: conversation, tenant }: Place,
  { answer, message }: Exchange,
  index: number,
  by: Principal
) {
  const random = yield* SecureRandom.SecureRandom
  const id = (yield* random.uuidV7()) as RunId
  const task: NewTask = {
    id,
    tenant,
    address: { agent, key: conversation },
    conversation,
    message,
    by: customer ?? by.id,
    roles: customer === undefined ? rolesOf(by) : ["customer"],
    trace_id: id.replaceAll("-", ""),
    channel_origin: imported_origin,
    initiated_by: customer === undefined ? "system" : "customer",
    title: firstWords(message),
    idempotency_key: `import-${yield* digestOf({ conversation, index })}`,
    imported: { answer, by: by.id, digest },
    waiting_max,
    ...(index === 0 && { must_begin: true }),
    reject_when_busy: false,
    message_id: (yield* random.uuidV7()) as MessageId
  }
  return task
})

export const importHistory = serve(
  ConversationOperations.importHistory,
  Effect.fnUntraced(function* ({ agent, customer, format, id, messages }, by) {
    const { exchanges, left_out } = yield* Effect.fromResult(readHistory(format, messages))
    const { tenant } = by
    const digest = yield* digestOf({ agent, customer: customer ?? null, exchanges })
    const place: Place = { tenant, agent, id, customer, digest }
    yield* failIfUnfit(place, by)
    yield* failIfTaken(place)
    const { accept } = yield* TaskStore
    let created = false
    for (const [index, exchange] of exchanges.entries()) {
      const task = yield* taskOf(place, exchange, index, by)
      const accepted = yield* Effect.catchTags(accept(task), {
        // Its bound is far above what a history has, and what a tenant has waiting.
        MailboxFull: Effect.die,
        // Another history began the conversation meanwhile, or a message did.
        IdempotencyConflict: () => taken,
        AddressConflict: () => taken
      })
      if (index === 0) created = accepted.created
    }
    return { conversation: id, runs: exchanges.length, created, left_out }
  })
)
