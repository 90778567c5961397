/**
 * A feature: what belongs to a part of an application, as one value that a start or a runtime takes in a list. Its stores make
 * their tables themselves, with row security, and say what an erasure does to them (`FeatureTables` of `layers/sql`).
 */
import type { Effect, Layer } from "effect"
import type { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import type { Rows } from "../../../services/Rows.ts"
import type { EventHandlers } from "../../../src/delivery/EventEffect.ts"
import type { MisdeclaredTool } from "../../../src/tool/MisdeclaredTool.ts"
import type { Family } from "../../runtime/directory/LocalToolRegistry.ts"
import type { StartError } from "../../sql/stores/SqlStores.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"

/** A feature, whatever its services are. */
export type AnyFeature = Pick<Feature, "events" | "groups" | "name"> & {
  readonly tools: ReadonlyArray<Family<unknown, unknown>>
  readonly deliveries: ReadonlyArray<Effect.Effect<RoomHandlers, unknown, unknown>>
  readonly layer: Layer.Layer<never, StartError, Outbox | Rows>
  readonly over: Layer.Layer<never, never, unknown>
}

/** `Services`: the ports of its stores, and whatever else its tools and operations need. */
export interface Feature<
  Services = never,
  Groups extends ReadonlyArray<AddedGroup> = ReadonlyArray<AddedGroup>
> {
  /** Lower-case, and of no other feature of the service. */
  readonly name: string
  /** Its operations, over HTTP and by methods (`of`). */
  readonly groups: Groups
  /** Its tools. An agent has those that its own list names. */
  readonly tools: ReadonlyArray<Family<MisdeclaredTool, Services>>
  /** Handlers of its topics of the outbox. */
  readonly deliveries: ReadonlyArray<Effect.Effect<RoomHandlers, never, Services>>
  /** What events of its types cause, where the service takes events; and its topics of the outbox that are such events. */
  readonly events: { readonly handlers: EventHandlers; readonly topics: ReadonlyArray<string> }
  /** Its services over the stores of a runtime, of either kind. */
  readonly layer: Layer.Layer<Services, StartError, Outbox | Rows>
  /** What it runs as long as the runtime does. */
  readonly over: Layer.Layer<never, never, AgentRuntime | Services>
}
