/**
 * Whose work a command does, and where: the flags that commands share, the principal that they act as, and the runtime whose
 * methods they call. It hosts no agent and so takes no work from a service.
 */
import { userInfo } from "node:os"
import { Effect, Option, Redacted } from "effect"
import { Flag } from "effect/cli"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import type { TroupeService } from "../../layers/compose/entries/Troupe.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { toggle } from "../command/CommandLine.ts"
import { dataFlag, endWith, explainingServer, say, tenantFlag } from "./Stored.ts"
import { storeLocation } from "./StoreLocation.ts"

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

/** Options of the runtime that a module may give. */
export type More = Pick<Options, "features" | "mcp" | "roles">

/**
 * Does it over the store, which must exist already, and prints what came of it. Sets the exit code 1 where it fails. `more` are
 * options of the runtime.
 */
export const inStore = <A, E>(
  { data, json, tenant }: Place,
  does: (troupe: TroupeService, by: Principal) => Effect.Effect<A, E>,
  lines: (done: A) => string,
  more: Effect.Effect<More, unknown> = Effect.succeed({})
) => {
  const work = Effect.gen(function* () {
    const { database, directory } = yield* storeLocation(data)
    const store = Option.match(database, {
      onNone: () => ({ directory }),
      onSome: (url) => ({ postgres: Redacted.value(url) })
    })
    const options = yield* more
    const model = scripted([])
    const troupe = Troupe.layer({ agents: [], model, store, telemetry: false, ...options })
    const done = yield* explainingServer(
      database,
      Effect.provide(
        Effect.flatMap(Troupe, (service) => does(service, operator(tenant))),
        Stores.existing(troupe)
      )
    )
    yield* say(json ? JSON.stringify(done ?? {}) : lines(done))
    return 0
  })
  return endWith(work, "not done")
}
