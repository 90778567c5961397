/** The Layer of a feature: its tables and stores, of the kind that is beneath it, and its operations. */
import { Effect, Layer, Option } from "effect"
import { EphemeralStore } from "../../ephemeral/EphemeralStore.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import type { Client, StartError } from "../../sql/stores/SqlStores.ts"
import type { AnyFeature, FeatureNeeds } from "../options/Feature.ts"

/** Stores over the rows of tables, which are made where the stores beneath are in SQL. In memory there is nothing to make. */
export const storesOf = <Services>(
  stores: Layer.Layer<Services, never, FeatureNeeds>,
  tables: () => Promise<Layer.Layer<never, StartError, Client>>
): Layer.Layer<Services, StartError, FeatureNeeds> =>
  Layer.provide(
    stores,
    Layer.unwrap(
      // The stores of a runtime are ephemeral or bring a client; a program over ephemeral ones may have a client of its own.
      Effect.flatMap(Effect.serviceOption(EphemeralStore), (store) =>
        Option.isSome(store)
          ? Effect.succeed(Layer.empty)
          : Effect.promise(tables as () => Promise<Layer.Layer<never, StartError>>)
      )
    )
  )

const made = ({ migrations = {}, name: feature, of_all = [], tables = [] }: TablesOf) =>
  storesOf(Layer.empty, () =>
    import("../../sql/engine/FeatureTables.ts").then(({ erasedIn, layer }) =>
      layer({ feature, migrations, tables: erasedIn(tables), of_all })
    )
  )

type TablesOf = Pick<AnyFeature, "migrations" | "name" | "of_all" | "tables">

/** Its services, over its tables. Adds its groups to those of the features beneath it. */
export const featureLayer = <Services>(
  feature: TablesOf &
    Pick<AnyFeature, "groups"> & {
      readonly layer: Layer.Layer<Services, StartError, FeatureNeeds>
    }
): Layer.Layer<Services, StartError, FeatureNeeds> =>
  feature.layer.pipe(
    Layer.provideMerge(feature.tables === undefined ? Layer.empty : made(feature)),
    Layer.merge(
      Layer.effect(
        AddedGroups,
        Effect.map(AddedGroups, (all) => [...all, ...feature.groups])
      )
    )
  )
