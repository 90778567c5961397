/**
 * A feature: what belongs to a part of an application, as one value that a start takes in a list. Its operations and stores are
 * written once over `Rows`; from its tables follow row security and what an erasure does to them.
 */
import type { Effect, Layer } from "effect"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import type { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { AuthorizationDesk } from "../../../services/AuthorizationDesk.ts"
import type { DeliveryHandlers, RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { EventIntake } from "../../../services/EventIntake.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import type { McpServers } from "../../../services/McpServers.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import type { Rows } from "../../../services/Rows.ts"
import type { RunList } from "../../../services/RunList.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { Stores } from "../../../services/Stores.ts"
import type { TaskDispatch } from "../../../services/TaskDispatch.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { EventHandlers } from "../../../src/delivery/EventEffect.ts"
import type { Family } from "../../runtime/directory/LocalToolRegistry.ts"
import type { StartError } from "../../sql/stores/SqlStores.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import type { AnyTable } from "../../stores/TypedRows.ts"

/** The stores of a runtime, and the memory of each actor, which is built for its address. */
export type StorePorts = Stores | AgentMemories

/** The ports that a runtime gives: those of `troupe/services` that read, command and store. */
export type Ports =
  | StorePorts
  | AgentDirectory
  | AgentRuntime
  | ApprovalDesk
  | AuthorizationDesk
  | DeliveryHandlers
  | EventIntake
  | KillSwitch
  | McpServers
  | TaskDispatch
  | ToolRegistry

/** What a feature's stores are written over: those of the runtime, of either kind. */
export type FeatureNeeds = Outbox | Rows | RunList | RunReader

/** Statements of SQL by number and name, from `0001_...` on. */
export type Migrations = Readonly<Record<string, ReadonlyArray<string>>>

/**
 * Its services are those of its Layer: its tools, operations and deliveries need no others but the runtime's, and `Needs` those of
 * the program.
 */
export interface AnyFeature<Needs = FeatureNeeds> {
  /** Lower-case letters, digits and `_`, at most 31; of no other feature of the service. */
  readonly name: string
  /** Its operations, over HTTP and by methods (`of`). */
  readonly groups: ReadonlyArray<AddedGroup>
  /** Its tools. An agent has those that its own list names. */
  readonly tools: ReadonlyArray<Family<unknown, unknown>>
  /** Handlers of its topics of the outbox. */
  readonly deliveries: ReadonlyArray<Effect.Effect<RoomHandlers, unknown, unknown>>
  /** What events of its types cause, where the service takes events; and its topics of the outbox that are such events. */
  readonly events: {
    /** What each type of event causes, by the type. */
    readonly handlers: EventHandlers
    /** Topics of its own outbox messages that are taken in as events. */
    readonly topics: ReadonlyArray<string>
  }
  /** The tables that its migrations make. Absent = none, or its Layer makes them. */
  readonly tables?: ReadonlyArray<AnyTable>
  /** The names of its tables without a column `tenant`: nothing keeps tenants apart in them. Absent = none. */
  readonly of_all?: ReadonlyArray<string>
  /** Statements that make its tables in the schema `troupe`. Released ones are never changed. Absent = none. */
  readonly migrations?: Migrations
  /** Its services over the stores of a runtime, of either kind. */
  readonly layer: Layer.Layer<never, StartError, Needs>
  /** What it runs as long as the runtime does, such as a sweep. */
  readonly over: Layer.Layer<never, never, unknown>
}
