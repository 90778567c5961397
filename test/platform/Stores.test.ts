import { Layer } from "effect"
import * as EphemeralPlatform from "../../layers/ephemeral/platform/EphemeralPlatform.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as SqlPlatform from "../../layers/sql/platform/SqlPlatform.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { draftStoreContract } from "../contracts/DraftStore.contract.ts"
import { platformContract } from "../contracts/Platform.contract.ts"
import { platformErasureContract } from "../contracts/PlatformErasure.contract.ts"
import { recordCounterContract } from "../contracts/RecordCounter.contract.ts"
import { isFull } from "../Long.ts"
import { engines } from "../sql/Engines.ts"

const memory = EphemeralPlatform.layer.pipe(Layer.provideMerge(EphemeralStores.layer))
platformContract("ephemeral", memory)
platformErasureContract("ephemeral", memory)
recordCounterContract("ephemeral", memory)
draftStoreContract("ephemeral", memory)
for (const [engine, client] of engines) {
  const sql = SqlPlatform.layer.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(client))
  platformContract(engine, sql)
  if (isFull || engine !== "PGlite") platformErasureContract(engine, sql)
  recordCounterContract(engine, sql)
  draftStoreContract(engine, sql)
}
