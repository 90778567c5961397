import { describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { consoleFeature } from "../../layers/compose/assembly/ConsoleFeature.ts"
import { featureLayer } from "../../layers/compose/assembly/FeatureLayer.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import type { ConsoleSessions } from "../../services/ConsoleSessions.ts"
import { consoleSessionsTests } from "../contracts/ConsoleSessions.contract.ts"
import { engines } from "../sql/Engines.ts"

/** The Layer of a feature does not say its services. */
const sessions = featureLayer(Effect.runSync(consoleFeature({ path: "/console" }))) as Layer.Layer<
  ConsoleSessions,
  never,
  Layer.Services<ReturnType<typeof featureLayer>>
>

describe("sessions of the console (ephemeral)", () => {
  layer(Layer.provide(sessions, EphemeralStores.layer))(consoleSessionsTests)
})
for (const [engine, client] of engines) {
  describe(`sessions of the console (${engine})`, () => {
    layer(sessions.pipe(Layer.provide(SqlStores.layer), Layer.provide(client)))(
      consoleSessionsTests
    )
  })
}
