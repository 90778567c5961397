import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as StoredPlatform from "../../layers/stores/spectral/platform/StoredPlatform.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { draftStoreContract } from "../contracts/DraftStore.contract.ts"
import { platformContract } from "../contracts/Platform.contract.ts"
import { platformErasureContract } from "../contracts/PlatformErasure.contract.ts"
import { recordCounterContract } from "../contracts/RecordCounter.contract.ts"
import { ScanReader } from "../../services/spectral/platform/contracts/ScanReader.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import * as Samples from "../contracts/Samples.ts"
import { engines } from "../sql/Engines.ts"
import { sample } from "./Records.ts"

const memory = StoredPlatform.layer.pipe(Layer.provideMerge(EphemeralStores.layer))
platformContract("ephemeral", memory)
platformErasureContract("ephemeral", memory)
recordCounterContract("ephemeral", memory)
draftStoreContract("ephemeral", memory)
for (const [engine, client] of engines) {
  const sql = StoredPlatform.layer.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(client))
  platformContract(engine, sql)
  platformErasureContract(engine, sql)
  recordCounterContract(engine, sql)
  draftStoreContract(engine, sql)
}

for (const [engine, client] of engines) {
  const stores = StoredPlatform.layer.pipe(
    Layer.provideMerge(SqlStores.layer),
    Layer.provideMerge(client),
    Layer.merge(Logger.layer([]))
  )
  it.effect(
    `a record that cannot be read is left out of its list, whose page is filled (${engine})`,
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const sql = yield* SqlClient.SqlClient
        const scans = yield* ScanReader
        yield* RecordImporter.use((importer) => importer.record(tenant, sample))
        yield* sql`UPDATE troupe.platform_scans SET record = '{' WHERE tenant = ${tenant} AND scan_id = 'scan-3'`
        const page = yield* scans.scans(tenant, { limit: 1 })
        assert.deepEqual(
          page.map(({ scan }) => scan.scan_id),
          ["scan-2"]
        )
        const all = yield* scans.scans(tenant, { limit: 10 })
        assert.lengthOf(all, sample.scans.length - 1)
      }).pipe(Effect.provide(stores))
  )
}
