/**
 * The package's entry `troupe/feature`: what a feature of an application is made of. A start takes it in its list `features`.
 *
 * ```ts
 * const list = operation({ id: "list", name: "notes", method: "GET", path: "/v1/notes", success: Notes, right: "inspect", summary: "Notes" })
 * const notes = serve(list, (input, { tenant }) => Effect.map(Rows, (rows) => tableRows(rows, table).all({ where: { tenant } })))
 * export const book = feature({ name: "book", groups: [{ id: "notes", title: "Notes", effects: { notes } }], tables, migrations })
 * ```
 */
import type { Effect } from "effect"
import { Layer } from "effect"
import type { StartError } from "../../sql/stores/SqlStores.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import type { AnyServed, ServicesOf } from "../../service/Served.ts"
import type { AnyFeature, FeatureNeeds, Ports, StorePorts } from "../options/Feature.ts"
import { definedOptions } from "../options/OptionShapes.ts"
import type { ToolServices } from "../options/ServiceOptions.ts"

export { operation } from "../../../src/operation/Operation.ts"
export type { Operation } from "../../../src/operation/Operation.ts"
export { makeProblem } from "../../../src/operation/Problem.ts"
export type { Described, Problem } from "../../../src/operation/Problem.ts"
export { serve } from "../../service/Served.ts"
export type { PortError } from "../../service/PortError.ts"
export type { Served } from "../../service/Served.ts"
export type { AddedGroup } from "../../service/AddedGroups.ts"
export {
  digest,
  flag,
  float8,
  hidden,
  int4,
  int8,
  json,
  oneOf,
  optional,
  place,
  said,
  table,
  tableRows,
  text,
  uuid
} from "../../stores/TypedRows.ts"
export type {
  AnyTable,
  Column,
  Stored,
  TableRows,
  TypedQuery,
  TypedTable
} from "../../stores/TypedRows.ts"
export { Rows } from "../../../services/Rows.ts"
export type { AnyFeature, FeatureNeeds, Migrations, Ports } from "../options/Feature.ts"
export { StoreError } from "../../../services/StoreError.ts"
export type { StartError } from "../../sql/stores/SqlStores.ts"

type Optional = "deliveries" | "events" | "groups" | "layer" | "over" | "tools"

/** The members of a feature, of which only the name is required: what is absent, it does not have. */
export interface FeatureMembers extends Omit<AnyFeature, Optional> {
  /** Its operations, over HTTP and by methods (`of`). Absent = none. */
  readonly groups?: AnyFeature["groups"]
  /** Its tools. An agent has those that its own list names. Absent = none. */
  readonly tools?: AnyFeature["tools"]
  /** Handlers of its topics of the outbox. Absent = none. */
  readonly deliveries?: AnyFeature["deliveries"]
  /** What events of its types cause, and its topics of the outbox that are such events. Absent = none. */
  readonly events?: Partial<AnyFeature["events"]>
  /** Its services over the stores of a runtime, of either kind: the same Layer over `Rows` for both. */
  readonly layer?: Layer.Layer<never, StartError, FeatureNeeds>
  /** What it runs as long as the runtime does, such as a sweep. Absent = nothing. */
  readonly over?: AnyFeature["over"]
}

/**
 * A feature whose operations and services have types. `Needs` are services that nobody provides: `start` does not take it, and
 * `Troupe.layer` needs them.
 */
export interface Feature<
  Groups extends ReadonlyArray<AddedGroup>,
  Services = never,
  Needs = never
> extends AnyFeature<FeatureNeeds | Needs> {
  readonly groups: Groups
  readonly layer: Layer.Layer<Services, StartError, FeatureNeeds | Needs>
}

type Each<F, Name> = Name extends keyof F
  ? F[Name] extends ReadonlyArray<infer Item>
    ? Item
    : never
  : never
type GroupsOf<F> = F extends { readonly groups: infer G extends ReadonlyArray<AddedGroup> }
  ? G
  : readonly []
type ProvidedBy<F> = F extends { readonly layer: Layer.Layer<infer S, infer _E, infer _R> }
  ? S
  : never
type EffectsIn<Group> = Group extends AddedGroup ? Group["effects"][keyof Group["effects"]] : never
type NeedsIn<Effects> = Effects extends AnyServed ? ServicesOf<Effects> : never
type NeedsOver<F> = F extends { readonly over: Layer.Layer<infer _S, infer _E, infer R> }
  ? R
  : never

/** Services that neither the feature nor a runtime provides. */
type NeedsOf<F> =
  | Exclude<
      Effect.Services<Each<F, "tools" | "deliveries">>,
      ProvidedBy<F> | StorePorts | ToolServices
    >
  | Exclude<NeedsIn<EffectsIn<GroupsOf<F>[number]>> | NeedsOver<F>, ProvidedBy<F> | Ports>

const none = {
  groups: [],
  tools: [],
  deliveries: [],
  layer: Layer.empty,
  over: Layer.empty
}

/**
 * A feature of these members. A start that is given it checks them, and fails with `InvalidInput` that names the feature and the
 * member, or with `MigrationError` where its tables in SQL are not as it says.
 */
export const feature = <const F extends FeatureMembers>(
  members: F
): Feature<GroupsOf<F>, ProvidedBy<F>, NeedsOf<F>> => {
  const { events, ...given } = definedOptions(members) as FeatureMembers
  return { ...none, ...given, events: { handlers: {}, topics: [], ...events } } as never
}
