/**
 * Makes the outbox message that announces a published version. Versions of one world are delivered in order.
 */
import type { NewOutboxMessage } from "../../delivery/OutboxMessage.ts"
import { MessageId } from "../../value/Ids.ts"
import type { Tenant } from "../../value/Ids.ts"
import { world_published_topic } from "./contracts/WorldVersionPublished.ts"
import type { WorldVersionPublished } from "./contracts/WorldVersionPublished.ts"
import type { NewVersion } from "./NewVersion.ts"
import { worldModelCard } from "./WorldModelCard.ts"

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
