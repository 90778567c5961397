/** Worlds, their rules and the rules that were proposed, which are read without an agent. */
import { Effect } from "effect"
import { RuleProposals } from "../../../services/spectral/worlds/RuleProposals.ts"
import { rule_page_max, WorldReader } from "../../../services/spectral/worlds/WorldReader.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import * as WorldOperations from "../../../src/spectral/worlds/WorldOperations.ts"
import { serve } from "../../service/Served.ts"

export const worlds = serve(
  WorldOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default }, { tenant }) {
    const all = yield* WorldReader.use((reader) => reader.worlds(tenant))
    const behind = after === undefined ? all : all.filter(({ world_id }) => world_id > after)
    const items = behind.slice(0, limit)
    const last = items.at(-1)
    return last === undefined || behind.length === items.length
      ? { items }
      : { items, next_after: last.world_id }
  })
)

export const world = serve(WorldOperations.get, ({ world_id }, { tenant }) =>
  WorldReader.use((reader) => reader.world(tenant, world_id))
)

export const worldRules = serve(
  WorldOperations.listRules,
  Effect.fnUntraced(function* ({ after, limit = limit_default, world_id }, { tenant }) {
    const reader = yield* WorldReader
    yield* reader.world(tenant, world_id)
    const most = Math.min(limit, rule_page_max)
    const items = yield* reader.rulePage(tenant, world_id, { limit: most, after })
    const last = items.at(-1)
    return last === undefined || items.length < most
      ? { items }
      : { items, next_after: last.rule_id }
  })
)

export const worldRule = serve(WorldOperations.getRule, ({ rule_id, world_id }, { tenant }) =>
  WorldReader.use((reader) => reader.rule(tenant, world_id, rule_id))
)

export const ruleCandidates = serve(
  WorldOperations.listCandidates,
  Effect.fnUntraced(function* ({ limit = limit_default, world_id }, { tenant }) {
    yield* WorldReader.use((reader) => reader.world(tenant, world_id))
    const items = yield* RuleProposals.use((queue) => queue.open(tenant, world_id, limit))
    return { items }
  })
)
