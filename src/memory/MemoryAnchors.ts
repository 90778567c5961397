/**
 * The anchor of each memory tier of an address, which is what the tier belongs to: a run, a conversation, and for the persistent
 * tier a place that several addresses of one agent may share. The place follows from the conversation's id, so a
 * message may not name a conversation whose id leads to somebody else's place.
 */
import { Effect, Result, Schema } from "effect"
import type { Address, RunId, Tenant } from "../value/Ids.ts"
import { AgentName, ConversationId } from "../value/Ids.ts"
import type { MemoryRow, MemoryScope, MemoryTier } from "./MemoryRow.ts"

/**
 * The place to which the persistent tier belongs. `workspace`: the tenant, never a user. `world`: the world of a conversation
 * `world@version:session` or `world:session`, which is the same for every version. `operator`: the operator of a conversation
 * `operator:task`, named by the id of the sending principal.
 */
export const AnchorKind = Schema.Literals(["workspace", "world", "operator"])
export type AnchorKind = typeof AnchorKind.Type

/** An address in a tenant, and the kind of place to which its memory belongs. */
export interface MemoryOwner {
  /** Whose memory it is. */
  readonly tenant: Tenant
  /** The agent, and the conversation with it. */
  readonly address: Address
  /** What kind of place its persistent memory belongs to. */
  readonly kind: AnchorKind
}

const before = (key: string, mark: string): string => {
  const at = key.indexOf(mark)
  return at < 1 ? key : key.slice(0, at)
}

/** The place of an address: the anchor of its persistent tier. */
export const placeOfMemory = ({ address, kind, tenant }: MemoryOwner): string => {
  switch (kind) {
    case "workspace":
      return `workspace/${tenant}`
    case "world":
      return `world/${before(before(address.key, ":"), "@")}`
    case "operator":
      return `operator/${before(address.key, ":")}`
  }
}

/** The conversation's id does not name the place that the agent's memory needs, or it names another operator's place. */
export class AnchorMismatch extends Schema.TaggedError<AnchorMismatch>()("AnchorMismatch", {
  /** The agent whose memory it is. */
  agent: AgentName,
  /** The conversation's id; empty for a new conversation. */
  conversation: Schema.String,
  /** The form that the id of a conversation of this sender must have. */
  needs: Schema.String
}) {
  override get message(): string {
    const conversation = this.conversation === "" ? "a new conversation" : this.conversation
    return `${conversation} does not fit the memory of agent ${this.agent}, which needs ${this.needs}`
  }
}

const isConversationId = Schema.is(ConversationId)
const world_form = /^[^:@]{1,100}(?:@[^:@]+)?:./
/** Ids of senders that fit both into a conversation's id, followed by a task, and behind `operator/` into the name of a place. */
const sender_form = /^[^:]{1,150}$/

interface Sent {
  readonly agent: AgentName
  readonly kind: AnchorKind
  /** The id of the sending principal. */
  readonly sender: string
  /** Absent = a new conversation. */
  readonly conversation: ConversationId | undefined
}

/**
 * The conversation of a message to an agent with memory. A new conversation gets the id `fresh`, which must be unused. With the
 * anchor `operator` it belongs to the sender; with `world` it belongs to no world and shares its place with no other
 * conversation.
 */
export const anchoredConversation = (
  { agent, conversation, kind, sender }: Sent,
  fresh: ConversationId
): Result.Result<ConversationId, AnchorMismatch> => {
  const refused = (needs: string) =>
    Result.fail(new AnchorMismatch({ agent, conversation: conversation ?? "", needs }))
  switch (kind) {
    case "workspace":
      return Result.succeed(conversation ?? fresh)
    case "world":
      return conversation === undefined || world_form.test(conversation)
        ? Result.succeed(conversation ?? fresh)
        : refused("WORLD:SESSION or WORLD@VERSION:SESSION")
    case "operator": {
      const own = conversation ?? `${sender}:${fresh}`
      if (!sender_form.test(sender) || !isConversationId(own)) {
        return refused(
          "a sender whose id has at most 150 characters: letters, digits and . _ @ ~ -"
        )
      }
      const fits = own.startsWith(`${sender}:`) && own.length > sender.length + 1
      return fits ? Result.succeed(own) : refused(`${sender}:TASK`)
    }
  }
}

const scope = (owner: MemoryOwner, tier: MemoryTier, anchor: string): MemoryScope => ({
  tenant: owner.tenant,
  agent: owner.address.agent,
  tier,
  anchor
})

/** The scope of one run. */
export const interactionScope = (owner: MemoryOwner, run: RunId): MemoryScope =>
  scope(owner, "interaction", run)

/** The scope of a conversation. */
export const sessionScope = (owner: MemoryOwner): MemoryScope =>
  scope(owner, "session", owner.address.key)

/** The scope of the place that outlives conversations. */
export const persistentScope = (owner: MemoryOwner): MemoryScope =>
  scope(owner, "persistent", placeOfMemory(owner))

/** Whether a row belongs to the address: to its place, and in the lower tiers also to its conversation. */
export const isOfOwner = (owner: MemoryOwner): ((row: MemoryRow) => boolean) => {
  const anchor = placeOfMemory(owner)
  return ({ agent, place, session, tenant, tier }) =>
    tenant === owner.tenant &&
    agent === owner.address.agent &&
    place === anchor &&
    (tier === "persistent" || session === owner.address.key)
}

/** The place to which an agent's memory belongs, and how much of it is put into a run's prompt. */
export class MemorySpec extends Schema.Opaque<MemorySpec>()(
  Schema.Struct({
    /**
     * The place to which the persistent tier belongs: the tenant (`workspace`), a `world`, or the sender (`operator`). The last
     * two need conversations whose ids name it (`AnchorMismatch`). Absent = `workspace`.
     */
    anchor: AnchorKind.pipe(
      Schema.withDecodingDefaultKey(Effect.succeed("workspace" as const)),
      Schema.withConstructorDefault(Effect.succeed("workspace" as const))
    ),
    /**
     * How much memory is put into the prompt of a run's first turn, in tokens, at most 100,000. 0 = none; only tools recall.
     * Absent = 1,000.
     */
    recall_tokens_max: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })).pipe(
      Schema.withDecodingDefaultKey(Effect.succeed(1_000)),
      Schema.withConstructorDefault(Effect.succeed(1_000))
    )
  })
) {}
