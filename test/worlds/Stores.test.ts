import { Layer } from "effect"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralWorlds from "../../layers/ephemeral/worlds/EphemeralWorlds.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as SqlWorlds from "../../layers/sql/worlds/SqlWorlds.ts"
import { worldsContract } from "../contracts/Worlds.contract.ts"
import { engines } from "../sql/Engines.ts"

worldsContract("ephemeral", EphemeralWorlds.layer.pipe(Layer.provideMerge(EphemeralStores.layer)))
for (const [engine, client] of engines) {
  worldsContract(
    engine,
    SqlWorlds.layer.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(client))
  )
}
