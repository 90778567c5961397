import { Layer } from "effect"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralWorlds from "../../layers/ephemeral/spectral/worlds/EphemeralWorlds.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as SqlWorlds from "../../layers/sql/spectral/worlds/SqlWorlds.ts"
import { manyRecordsContract, worldsContract } from "../contracts/Worlds.contract.ts"
import { engines } from "../sql/Engines.ts"

const memory = EphemeralWorlds.layer.pipe(Layer.provideMerge(EphemeralStores.layer))
worldsContract("ephemeral", memory)
manyRecordsContract("ephemeral", memory)
for (const [engine, client] of engines) {
  const sql = SqlWorlds.layer.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(client))
  worldsContract(engine, sql)
  manyRecordsContract(engine, sql)
}
