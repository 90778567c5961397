/** The Layer of a feature: its tables and stores, of the kind that is beneath it, and its operations. */
import { Effect, Layer, Option } from "effect"
import type { Outbox } from "../../../services/Outbox.ts"
import type { Rows } from "../../../services/Rows.ts"
import { EphemeralStore } from "../../ephemeral/EphemeralStore.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import type { Client, StartError } from "../../sql/stores/SqlStores.ts"
import type { AnyTable } from "../../stores/TypedRows.ts"
import type { AnyFeature } from "../options/Feature.ts"

/** Stores of which each kind has its own. `sql` is loaded where the stores beneath are in SQL. */
export const storesOf = <Services>(stores: {
  readonly ephemeral: Layer.Layer<Services, never, EphemeralStore | Outbox | Rows>
  readonly sql: () => Promise<Layer.Layer<Services, StartError, Outbox | Rows | Client>>
}): Layer.Layer<Services, StartError, Outbox | Rows> =>
  Layer.unwrap(
    // The stores of a runtime are ephemeral or bring a client; a program over ephemeral ones may have a client of its own.
    Effect.flatMap(Effect.serviceOption(EphemeralStore), (store) =>
      Option.isSome(store)
        ? Effect.succeed(
            Layer.provide(stores.ephemeral, Layer.succeed(EphemeralStore, store.value))
          )
        : Effect.promise(
            stores.sql as () => Promise<Layer.Layer<Services, StartError, Outbox | Rows>>
          )
    )
  )

/** What an erasure does in a table, as its declaration in SQL says it. */
const erasedOf = ({ erased: { marked = {}, removed } = {} }: AnyTable) =>
  removed ??
  Object.fromEntries(
    Object.entries(marked).map(([column, as]) => [column, typeof as === "string" ? as : [...as]])
  )

/** Makes the tables in SQL; in memory there is nothing to make. */
const made = ({ migrations = {}, name: feature, of_all = [], tables = [] }: TablesOf) =>
  storesOf<never>({
    ephemeral: Layer.empty,
    sql: () =>
      import("../../sql/engine/FeatureTables.ts").then(({ layer }) =>
        Layer.provide(
          Layer.empty,
          layer({
            feature,
            migrations,
            tables: Object.fromEntries(tables.map((each) => [each.name, erasedOf(each)])),
            of_all
          })
        )
      )
  })

type TablesOf = Pick<AnyFeature, "migrations" | "name" | "of_all" | "tables">

/** Its services, over its tables. Adds its groups to those of the features beneath it. */
export const featureLayer = <Services>(
  feature: TablesOf &
    Pick<AnyFeature, "groups"> & {
      readonly layer: Layer.Layer<Services, StartError, Outbox | Rows>
    }
): Layer.Layer<Services, StartError, Outbox | Rows> =>
  feature.layer.pipe(
    Layer.provideMerge(feature.tables === undefined ? Layer.empty : made(feature)),
    Layer.merge(
      Layer.effect(
        AddedGroups,
        Effect.map(AddedGroups, (all) => [...all, ...feature.groups])
      )
    )
  )
