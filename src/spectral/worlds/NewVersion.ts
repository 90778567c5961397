/**
 * The content with which a version of a world is published, and the outbox message that announces it. Versions of one world are
 * delivered in order.
 */
import { Schema } from "effect"
import { bounds_result } from "../../value/BoundedJson.ts"
import type { JsonBounds } from "../../value/BoundedJson.ts"
import { EvalSet, eval_sets_max, Rule, rules_max, World } from "./World.ts"
import type { NewOutboxMessage } from "../../delivery/OutboxMessage.ts"
import { MessageId } from "../../value/Ids.ts"
import type { Tenant } from "../../value/Ids.ts"
import { world_published_topic } from "./contracts/WorldVersionPublished.ts"
import type { WorldVersionPublished } from "./contracts/WorldVersionPublished.ts"
import { worldModelCard } from "./Coverage.ts"

const distinct = <A>(what: string, idOf: (item: A) => string) =>
  Schema.makeFilter((items: ReadonlyArray<A>) =>
    new Set(items.map(idOf)).size === items.length ? undefined : `${what} with distinct ids`
  )

export const NewVersion = Schema.Struct({
  world: World,
  /** All rules of the version. */
  rules: Schema.Array(Rule).check(
    Schema.isMaxLength(rules_max),
    distinct("rules", ({ rule_id }: Rule) => rule_id)
  ),
  /** All EvalSets of the world. */
  eval_sets: Schema.Array(EvalSet).check(
    Schema.isMaxLength(eval_sets_max),
    distinct("EvalSets", ({ eval_set_id }: EvalSet) => eval_set_id)
  )
})
export interface NewVersion extends Schema.Schema.Type<typeof NewVersion> {}

/**
 * The bounds of a version as JSON, with room for 5,000 rules of 2,000 units each. They are lower than the usual ones, because
 * summaries of a world read all of its rules at once.
 */
export const version_bounds: JsonBounds = {
  ...bounds_result,
  values_max: 1_000_000,
  units_max: 10_000_000
}

/** The message of a published version. `id` is a new UUID. */
export const publishedMessage = (
  tenant: Tenant,
  id: string,
  { eval_sets, rules, world }: NewVersion
): NewOutboxMessage => {
  const card = worldModelCard(world, rules, eval_sets)
  const payload: WorldVersionPublished = {
    world_id: world.world_id,
    version: world.version,
    name: world.name,
    domain: world.domain,
    published_at: world.published_at,
    rules: card.rules,
    topics: card.topics,
    cases: card.cases,
    coverage: card.coverage,
    ...(card.pass_rate_min === undefined ? undefined : { pass_rate_min: card.pass_rate_min })
  }
  return {
    id: MessageId.make(id),
    tenant,
    key: `worlds/${tenant}/${world.world_id}`,
    topic: world_published_topic,
    payload: { ...payload }
  }
}
