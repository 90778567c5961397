/**
 * The handlers of several rooms as one map. Two handlers of one topic are a mistake in the composition: the start fails.
 */
import { Effect, Layer, Schema } from "effect"
import type { DeliveryHandler, RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import { DeliveryHandlers } from "../../../services/DeliveryHandlers.ts"

/** Two rooms deliver the same topic. */
export class DuplicateDeliveryHandler extends Schema.TaggedError<DuplicateDeliveryHandler>()(
  "DuplicateDeliveryHandler",
  {
    /** The topic that both deliver. */
    topic: Schema.String
  }
) {
  override get message(): string {
    return `two handlers deliver messages of the topic ${JSON.stringify(this.topic)}; a channel's is channel.NAME`
  }
}

const merge = Effect.fnUntraced(function* (rooms: ReadonlyArray<RoomHandlers>) {
  const byTopic = new Map<string, DeliveryHandler>()
  const agents = new Set<AgentName>()
  for (const [topic, handler, hosted = []] of rooms.flat()) {
    if (byTopic.has(topic)) return yield* new DuplicateDeliveryHandler({ topic })
    byTopic.set(topic, handler)
    for (const agent of hosted) agents.add(agent)
  }
  return DeliveryHandlers.of({ byTopic, agents: [...agents] })
})

export const layer = <E = never, R = never>(
  ...rooms: ReadonlyArray<Effect.Effect<RoomHandlers, E, R>>
): Layer.Layer<DeliveryHandlers, E | DuplicateDeliveryHandler, R> =>
  Layer.effect(DeliveryHandlers, Effect.flatMap(Effect.all(rooms), merge))
