/** The Layer of a feature: its stores, of the kind that is beneath it, and its operations. */
import { Effect, Layer, Option } from "effect"
import type { Outbox } from "../../../services/Outbox.ts"
import type { Rows } from "../../../services/Rows.ts"
import { EphemeralStore } from "../../ephemeral/EphemeralStore.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import type { Client, StartError } from "../../sql/stores/SqlStores.ts"

export interface FeatureStores<Services> {
  readonly ephemeral: Layer.Layer<Services, never, EphemeralStore | Outbox | Rows>
  /** Loaded where the stores beneath are in SQL. */
  readonly sql: () => Promise<Layer.Layer<Services, StartError, Outbox | Rows | Client>>
}

/** Adds its groups to those of the features beneath it. */
export const featureLayer = <Services>(
  groups: ReadonlyArray<AddedGroup>,
  stores: FeatureStores<Services>
): Layer.Layer<Services, StartError, Outbox | Rows> =>
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
  ).pipe(
    Layer.merge(
      Layer.effect(
        AddedGroups,
        Effect.map(AddedGroups, (all) => [...all, ...groups])
      )
    )
  )
