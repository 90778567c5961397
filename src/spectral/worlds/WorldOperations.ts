/** The operations with which operators read the worlds of their tenant, their rules, and the rules that were proposed. */
import { Schema } from "effect"
import { operation } from "../../operation/Operation.ts"
import { Limit } from "../../operation/Page.ts"
import { WorldId } from "./contracts/WorldId.ts"
import { RuleCandidate } from "./RuleCandidate.ts"
import { ItemId, Rule, World } from "./World.ts"

const limit = Schema.optionalKey(Limit)
const params = Schema.Struct({ world_id: WorldId })

export const list = operation({
  id: "listWorlds",
  name: "worlds",
  method: "GET",
  path: "/v1/worlds",
  query: Schema.Struct({ limit, after: Schema.optionalKey(WorldId) }),
  success: Schema.Struct({
    items: Schema.Array(World),
    /** The `after` of the next page; absent = this is the last. */
    next_after: Schema.optionalKey(WorldId)
  }),
  right: "inspect",
  gives: "items",
  summary: "Worlds in their newest version, by their ids"
})

export const get = operation({
  id: "getWorld",
  name: "world",
  method: "GET",
  path: "/v1/worlds/:world_id",
  params,
  success: World,
  problems: [404],
  right: "inspect",
  args: ["world_id"],
  summary: "A world in its newest version"
})

export const listRules = operation({
  id: "listRules",
  name: "worldRules",
  method: "GET",
  path: "/v1/worlds/:world_id/rules",
  params,
  query: Schema.Struct({ limit, after: Schema.optionalKey(ItemId) }),
  success: Schema.Struct({
    items: Schema.Array(Rule),
    next_after: Schema.optionalKey(ItemId)
  }),
  problems: [404],
  right: "inspect",
  args: ["world_id"],
  gives: "items",
  summary: "The rules of a world in its newest version, by their ids"
})

export const getRule = operation({
  id: "getRule",
  name: "worldRule",
  method: "GET",
  path: "/v1/worlds/:world_id/rules/:rule_id",
  params: Schema.Struct({ ...params.fields, rule_id: ItemId }),
  success: Rule,
  problems: [404],
  right: "inspect",
  args: ["world_id", "rule_id"],
  summary: "A rule of a world with where it comes from"
})

export const listCandidates = operation({
  id: "listCandidates",
  name: "ruleCandidates",
  method: "GET",
  path: "/v1/worlds/:world_id/candidates",
  params,
  query: Schema.Struct({ limit }),
  success: Schema.Struct({ items: Schema.Array(RuleCandidate) }),
  problems: [404],
  right: "inspect",
  args: ["world_id"],
  gives: "items",
  summary: "Proposed rules of a world that wait for a decision, oldest first"
})
