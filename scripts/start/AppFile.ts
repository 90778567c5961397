/**
 * `npm start -- --app FILE`: the agents of a module, served with the settings of the environment. The module exports options of
 * `start` by their names, such as `agents`, `tools`, `policy` and `model`; the store and HTTP are the environment's.
 */
import { Effect, Layer, Option, Redacted } from "effect"
import { wire_names } from "../../layers/http/boundary/HttpSettings.ts"
import * as ConsoleFeature from "../../layers/compose/assembly/ConsoleFeature.ts"
import * as EmbeddedHttp from "../../layers/compose/promises/EmbeddedHttp.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import * as StartedLayer from "../../layers/compose/promises/StartedLayer.ts"
import * as ToolCallTelemetry from "../../layers/telemetry/ToolCallTelemetry.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { loadApp } from "../command/AppModule.ts"
import { Refused } from "../command/Refused.ts"

/** What the environment says, and the module may not. */
export interface Served {
  readonly store: NonNullable<Options["store"]>
  readonly host: string
  readonly port: number
  readonly token: string
  readonly principal: Principal
  /** Used where the module exports no model. */
  readonly model: Option.Option<Options["model"]>
}

const ours: ReadonlyArray<string> = ["store", "http"]

/** The options that the module exports. Fails before anything is opened. */
export const read = Effect.fnUntraced(function* (file: string) {
  const exported = yield* loadApp(file)
  const taken = ours.find((name) => Object.hasOwn(exported, name))
  if (taken !== undefined) {
    const message = `--app ${file} exports ${taken}, which the variables of the environment say`
    return yield* new Refused({ message })
  }
  const { agents } = exported
  if (!Array.isArray(agents) || agents.length === 0) {
    return yield* new Refused({ message: `--app ${file} exports no list "agents"` })
  }
  return exported as Partial<Options> & Pick<Options, "agents">
})

const modelOf = (file: string, exported: Partial<Options>, { model }: Served) => {
  const chosen = exported.model ?? Option.getOrUndefined(model)
  return chosen === undefined
    ? Effect.fail(
        new Refused({
          message: `--app ${file} exports no model, and TROUPE_MODEL_PROVIDER names none`
        })
      )
    : Effect.succeed(chosen)
}

const explained = (file: string, error: unknown): Refused => {
  const message = error instanceof Error ? error.message : String(error)
  return new Refused({
    message: error instanceof InvalidInput ? `--app ${file}, ${message}` : message
  })
}

/** Serves the module's agents until the scope closes. Gives the address of the API, and the path of a link to its console. A signal ends it while it starts, too. */
export const serve = Effect.fnUntraced(function* (
  file: string,
  exported: Partial<Options> & Pick<Options, "agents">,
  served: Served
) {
  const { host, port, principal, store, token } = served
  const model = yield* modelOf(file, exported, served)
  const kept = Redacted.make(token)
  const http = {
    host,
    port,
    tokens: [{ token: kept, principal }],
    console: true,
    settings: { wires: wire_names }
  }
  yield* Effect.promise(() => import("effect/schema/SchemaJITCompiler/enable"))
  const layer = Layer.provide(
    StartedLayer.layer({ ...exported, model, store, http }),
    ToolCallTelemetry.lines
  )
  const services = yield* Effect.mapError(Layer.build(layer), (error) => explained(file, error))
  const link = ConsoleFeature.signInPath(principal.tenant, kept)
  return {
    url: EmbeddedHttp.methods(services).url,
    console_path: yield* Effect.provideContext(link, services)
  }
})
