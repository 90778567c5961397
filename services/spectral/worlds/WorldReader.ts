/**
 * Reads worlds, their rules and their evaluation. Read-only: `WorldPublisher` publishes versions.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { WorldUnknown } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import type { WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import type { EvalSet, Rule, RuleNotFound, World } from "../../../src/spectral/worlds/World.ts"
import type { StoreError } from "../../StoreError.ts"

/** The maximum number of worlds of one tenant that are listed. */
export const worlds_max = 1_000

/** The maximum number of rules in a page. */
export const rule_page_max = 200

export interface RulePage {
  /** At most 200. */
  readonly limit: number
  /** The id of the last rule of the page before, or any other id: the page begins after it in the order of ids. */
  readonly after?: string | undefined
}

export class WorldReader extends Context.Service<
  WorldReader,
  {
    /** Worlds, sorted by id; at most 1,000. */
    worlds(tenant: Tenant): Effect.Effect<ReadonlyArray<World>, StoreError>
    world(tenant: Tenant, id: WorldId): Effect.Effect<World, WorldUnknown | StoreError>
    /** The rules of the newest version, sorted by id; at most 5,000. Empty if the world is unknown. */
    rules(tenant: Tenant, id: WorldId): Effect.Effect<ReadonlyArray<Rule>, StoreError>
    /** The rules page by page, so that only few rules of a long world are read at a time. */
    rulePage(
      tenant: Tenant,
      id: WorldId,
      page: RulePage
    ): Effect.Effect<ReadonlyArray<Rule>, StoreError>
    rule(
      tenant: Tenant,
      id: WorldId,
      rule_id: string
    ): Effect.Effect<Rule, RuleNotFound | StoreError>
    /** EvalSets, sorted by id; at most 200. Empty if the world is unknown. */
    evalSets(tenant: Tenant, id: WorldId): Effect.Effect<ReadonlyArray<EvalSet>, StoreError>
  }
>()("troupe/services/spectral/worlds/WorldReader") {}
