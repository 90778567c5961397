/** The summary of operations alone: no model, no database, no loop. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as OperationsTools from "../../layers/spectral/platform/OperationsHandlers.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { RecordCounter } from "../../services/spectral/platform/RecordCounter.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { StoreError } from "../../services/StoreError.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { sample } from "./Records.ts"
import { failureOf, tenant, useOf } from "./ToolUse.ts"

const stores = Spectral.layer.pipe(Layer.provide(EphemeralStores.layer))
const use = useOf(OperationsTools.summary)

describe("get_operations_summary", () => {
  it.effect("SA-46 is a read of counts, which another tenant's call does not see", () =>
    Effect.gen(function* () {
      yield* RecordImporter.use((importer) => importer.record(tenant, sample))
      const [tool, ...others] = yield* OperationsTools.summary
      assert.lengthOf(others, 0)
      assert.deepEqual([toolKeyOf(tool!.spec) as string], [...Platform.summary_tools])
      assert.deepEqual(
        [tool!.spec.category, tool!.spec.side_effects, permissionOf(tool!.spec)],
        ["read", "read", "allow"]
      )
      const own = yield* use("get_operations_summary", {})
      assert.deepEqual(own["scans"], { queued: 0, running: 0, completed: 2, failed: 1 })
      assert.deepEqual(own["open_clusters"], { critical: 1, high: 2, medium: 0, low: 1 })
      const foreign = yield* use("get_operations_summary", {}, { tenant: Tenant.make("other") })
      assert.deepEqual(foreign["open_clusters"], { critical: 0, high: 0, medium: 0, low: 0 })
      const named = yield* failureOf(use("get_operations_summary", { tenant: "acme" }))
      assert.strictEqual(named.refused, "arguments")
    }).pipe(Effect.provide(stores))
  )

  it.effect("says that the store did not answer, without the store's own message", () =>
    Effect.gen(function* () {
      const failed = yield* failureOf(use("get_operations_summary", {}))
      assert.deepInclude(failed, { kind: "external", reason: "STORE_UNAVAILABLE" })
      assert.notInclude(failed.message, "secret-host")
    }).pipe(
      Effect.provideService(RecordCounter, {
        counts: () => Effect.fail(new StoreError({ message: "secret-host is down" }))
      })
    )
  )
})
