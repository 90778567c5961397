/** One stored flag for each tenant, as a feature: `start({ features: [maintenance] })`. */
import { Layer } from "effect"
import { featureLayer } from "../../../layers/compose/assembly/FeatureLayer.ts"
import { addedGroup } from "../../../layers/service/AddedGroups.ts"
import * as MaintenanceEffects from "./MaintenanceEffects.ts"

const groups = [addedGroup("maintenance", "Maintenance", MaintenanceEffects)] as const

export const maintenance = {
  name: "maintenance",
  groups,
  tools: [],
  deliveries: [],
  events: { handlers: {}, topics: [] },
  layer: featureLayer<never>(groups, {
    ephemeral: Layer.empty,
    sql: () =>
      import("./MaintenanceTables.ts").then(({ layer }) => Layer.provide(Layer.empty, layer))
  }),
  over: Layer.empty
} as const
