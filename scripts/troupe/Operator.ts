/**
 * Whose work a command does, and where: the flags that commands share, and the principal that they act as.
 */
import { userInfo } from "node:os"
import { Flag } from "effect/cli"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { toggle } from "../command/CommandLine.ts"
import { dataFlag, tenantFlag } from "./Stored.ts"

export const place = {
  tenant: tenantFlag.pipe(
    Flag.withDescription("whose it is (default)"),
    Flag.withDefault("default")
  ),
  data: dataFlag,
  json: toggle("json", "as JSON")
}
export interface Place {
  readonly tenant: string
  readonly data: string | undefined
  readonly json: boolean
}

/** The name of the user; its number where the machine has no name for it, as in a container of an arbitrary user. */
export const userName = (look: () => { readonly username: string } = userInfo): string => {
  try {
    return look().username
  } catch {
    return `user ${process.geteuid?.() ?? "without a name"}`
  }
}

/** Who may open the store may do anything in it: its records say which user of this machine it was. */
export const operator = (tenant: string): Principal =>
  new Principal({
    id: `command line (${userName()})`,
    tenant: Tenant.make(tenant),
    roles: ["admin"]
  })
