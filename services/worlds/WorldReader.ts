/**
 * Reads worlds, their rules and their evaluation. Nothing here writes: versions are published by `WorldPublisher`.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../src/Ids.ts"
import type { WorldUnknown } from "../../src/worlds/contracts/WorldAnswer.ts"
import type { WorldId } from "../../src/worlds/contracts/WorldId.ts"
import type { EvalSet, Rule, RuleNotFound, World } from "../../src/worlds/World.ts"
import type { StoreError } from "../StoreError.ts"

/** Worlds of one tenant that are listed. */
export const worlds_max = 1_000

/** Rules of a page. */
export const rule_page_max = 200

export interface RulePage {
  /** At most 200. */
  readonly limit: number
  /** The id of the last rule of the page before, or any other: the page begins behind it. */
  readonly after?: string | undefined
}

export class WorldReader extends Context.Service<
  WorldReader,
  {
    /** By id; at most 1,000. */
    worlds(tenant: Tenant): Effect.Effect<ReadonlyArray<World>, StoreError>
    world(tenant: Tenant, id: WorldId): Effect.Effect<World, WorldUnknown | StoreError>
    /** Of the newest version, by id; at most 5,000. Of an unknown world none. */
    rules(tenant: Tenant, id: WorldId): Effect.Effect<ReadonlyArray<Rule>, StoreError>
    /** The same page by page: of a long world few are read at a time. */
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
    /** By id; at most 200. Of an unknown world none. */
    evalSets(tenant: Tenant, id: WorldId): Effect.Effect<ReadonlyArray<EvalSet>, StoreError>
  }
>()("troupe/services/worlds/WorldReader") {}
