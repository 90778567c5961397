/** Whether a tenant is under maintenance: to be read by staff, and set by operators. */
import { Schema } from "effect"
import { operation } from "troupe/feature"

const Maintenance = Schema.Struct({
  on: Schema.Boolean,
  /** Who set it last. Absent = nobody has. */
  by: Schema.optionalKey(Schema.String)
})

export const get = operation({
  id: "get",
  name: "maintenance",
  method: "GET",
  path: "/v1/maintenance",
  success: Maintenance,
  right: "inspect",
  summary: "Is this tenant under maintenance?"
})

export const set = operation({
  id: "set",
  name: "setMaintenance",
  method: "PUT",
  path: "/v1/maintenance",
  payload: Schema.Struct({ on: Schema.Boolean }),
  success: Maintenance,
  right: "stopTools",
  summary: "Put this tenant under maintenance, or end that"
})
