/**
 * A feature: what belongs to a part of an application, as one value that a start or a runtime takes in a list. Its stores make
 * their tables themselves, with row security, and say what an erasure does to them (`FeatureTables` of `layers/sql`).
 */
import type { Effect, Layer } from "effect"
import type { RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import type { Rows } from "../../../services/Rows.ts"
import type { EventHandlers } from "../../../src/delivery/EventEffect.ts"
import type { Family } from "../../runtime/directory/LocalToolRegistry.ts"
import type { StartError } from "../../sql/stores/SqlStores.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"

/** Its services are those of its Layer: its tools, operations and deliveries need no others but the runtime's. */
export interface AnyFeature {
  /** Lower-case, and of no other feature of the service. */
  readonly name: string
  /** Its operations, over HTTP and by methods (`of`). */
  readonly groups: ReadonlyArray<AddedGroup>
  /** Its tools. An agent has those that its own list names. */
  readonly tools: ReadonlyArray<Family<unknown, unknown>>
  /** Handlers of its topics of the outbox. */
  readonly deliveries: ReadonlyArray<Effect.Effect<RoomHandlers, unknown, unknown>>
  /** What events of its types cause, where the service takes events; and its topics of the outbox that are such events. */
  readonly events: { readonly handlers: EventHandlers; readonly topics: ReadonlyArray<string> }
  /** Its services over the stores of a runtime, of either kind. */
  readonly layer: Layer.Layer<never, StartError, Outbox | Rows>
  /** What it runs as long as the runtime does. */
  readonly over: Layer.Layer<never, never, unknown>
}
