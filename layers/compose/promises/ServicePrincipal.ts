/** On whose behalf a service acts. */
import { Principal } from "../../../src/principal/Principal.ts"
import { Tenant } from "../../../src/value/Ids.ts"

/** The principal that acts if none is given: a service account of the tenant `default`. */
export const service_principal = new Principal({
  id: "service",
  tenant: Tenant.make("default"),
  roles: ["viewer", "operator"]
})
