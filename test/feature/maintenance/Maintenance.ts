/** One stored flag for each tenant, as a feature: `start({ features: [maintenance] })`. */
import { feature } from "troupe/feature"
import * as MaintenanceEffects from "./MaintenanceEffects.ts"
import { flags, migrations } from "./MaintenanceTables.ts"

export const maintenance = feature({
  name: "maintenance",
  groups: [{ id: "maintenance", title: "Maintenance", effects: MaintenanceEffects }],
  tables: [flags],
  migrations
})
