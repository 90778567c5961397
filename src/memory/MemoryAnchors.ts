/**
 * What the tiers of an address belong to. The interaction tier belongs to a run and the session tier to a conversation; the
 * persistent tier belongs to a place, which addresses of one agent may share.
 */
import { Schema } from "effect"
import type { Address, RunId, Tenant } from "../Ids.ts"
import type { MemoryRow, MemoryScope, MemoryTier } from "./MemoryRow.ts"

/**
 * The place of the persistent tier. `workspace`: the tenant, never a user. `world`: the world of a key
 * `world@version:session`, the same in every version. `operator`: the operator of a key `operator:task`.
 */
export const AnchorKind = Schema.Literals(["workspace", "world", "operator"])
export type AnchorKind = typeof AnchorKind.Type

/** What each agent family calls the anchors of its tiers. */
export const anchor_names: Readonly<Record<AnchorKind, Readonly<Record<MemoryTier, string>>>> = {
  workspace: { interaction: "cycle", session: "run", persistent: "workspace" },
  world: {
    interaction: "agent_interaction_id",
    session: "agent_session_id",
    persistent: "world_id"
  },
  operator: { interaction: "run", session: "task", persistent: "operator" }
}

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
export const placeOf = ({ address, kind, tenant }: MemoryOwner): string => {
  switch (kind) {
    case "workspace":
      return `workspace/${tenant}`
    case "world":
      return `world/${before(before(address.key, ":"), "@")}`
    case "operator":
      return `operator/${before(address.key, ":")}`
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
  scope(owner, "persistent", placeOf(owner))

/** Does the row belong to the address: to its place, and below the persistent tier to its conversation? */
export const isOfOwner = (
  owner: MemoryOwner,
  { agent, place, session, tenant, tier }: MemoryRow
): boolean =>
  tenant === owner.tenant &&
  agent === owner.address.agent &&
  place === placeOf(owner) &&
  (tier === "persistent" || session === owner.address.key)
