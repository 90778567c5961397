import { Layer } from "effect"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { manyRecordsContract, worldsContract } from "../contracts/Worlds.contract.ts"
import { engines } from "../sql/Engines.ts"

const memory = StoredWorlds.layer.pipe(Layer.provideMerge(EphemeralStores.layer))
worldsContract("ephemeral", memory)
manyRecordsContract("ephemeral", memory)
for (const [engine, client] of engines) {
  const sql = StoredWorlds.layer.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(client))
  worldsContract(engine, sql)
  manyRecordsContract(engine, sql)
}
