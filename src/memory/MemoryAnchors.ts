/**
 * What the tiers of an address belong to: the interaction tier to a run, the session tier to a conversation, and the
 * persistent tier to a place, which addresses of one agent may share. A place is named by the conversation's id, and so a
 * message may not name a conversation that would reach somebody else's place.
 */
import { Result, Schema } from "effect"
import { AgentName, ConversationId } from "../Ids.ts"
import type { Address, RunId, Tenant } from "../Ids.ts"
import type { MemoryRow, MemoryScope, MemoryTier } from "./MemoryRow.ts"

/**
 * The place of the persistent tier. `workspace`: the tenant, never a user. `world`: the world of a conversation
 * `world@version:session` or `world:session`, the same in every version. `operator`: the operator of a conversation
 * `operator:task`, which is the id of the principal who sends.
 */
export const AnchorKind = Schema.Literals(["workspace", "world", "operator"])
export type AnchorKind = typeof AnchorKind.Type

/** An address of a tenant, and what its memory belongs to. */
export interface MemoryOwner {
  readonly tenant: Tenant
  readonly address: Address
  readonly kind: AnchorKind
}

/** The part of a key before the first mark, or all of it. */
const before = (key: string, mark: string): string => {
  const at = key.indexOf(mark)
  return at < 1 ? key : key.slice(0, at)
}

/** The anchor of the persistent tier. */
export const persistentAnchor = ({ address, kind, tenant }: MemoryOwner): string => {
  switch (kind) {
    case "workspace":
      return `workspace/${tenant}`
    case "world":
      return `world/${before(before(address.key, ":"), "@")}`
    case "operator":
      return `operator/${before(address.key, ":")}`
  }
}

/** The conversation does not name the place that the agent's memory needs, or names another operator's. */
export class AnchorMismatch extends Schema.TaggedError<AnchorMismatch>()("AnchorMismatch", {
  agent: AgentName,
  /** Empty for a new one. */
  conversation: Schema.String,
  /** How a conversation of the sender is named. */
  needs: Schema.String
}) {
  override get message(): string {
    const conversation = this.conversation === "" ? "a new conversation" : this.conversation
    return `${conversation} does not fit the memory of agent ${this.agent}, which needs ${this.needs}`
  }
}

const isConversationId = Schema.is(ConversationId)
const world_form = /^[^:@]{1,100}(?:@[^:@]+)?:./
/** With a task behind it, it is the id of a conversation; with `operator/` before it, the name of a place. */
const sender_form = /^[^:]{1,150}$/

/** A message, as far as its conversation depends on it. */
interface Sent {
  readonly agent: AgentName
  readonly kind: AnchorKind
  /** The id of the principal who sends. */
  readonly sender: string
  /** Absent = a new conversation. */
  readonly conversation: ConversationId | undefined
}

/**
 * The conversation of a message to an agent with memory; `fresh` is an id that no conversation has, which a new one gets. A new
 * one is the sender's with the anchor `operator`; with `world` it belongs to no world, and shares its place with no other.
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

export const interactionScope = (owner: MemoryOwner, run: RunId): MemoryScope =>
  scope(owner, "interaction", run)

export const sessionScope = (owner: MemoryOwner): MemoryScope =>
  scope(owner, "session", owner.address.key)

export const persistentScope = (owner: MemoryOwner): MemoryScope =>
  scope(owner, "persistent", persistentAnchor(owner))

/** Does a row belong to the address: to its place, and below the persistent tier to its conversation? */
export const isOfOwner = (owner: MemoryOwner): ((row: MemoryRow) => boolean) => {
  const anchor = persistentAnchor(owner)
  return ({ agent, place, session, tenant, tier }) =>
    tenant === owner.tenant &&
    agent === owner.address.agent &&
    place === anchor &&
    (tier === "persistent" || session === owner.address.key)
}
