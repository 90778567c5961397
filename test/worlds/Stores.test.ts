import { Layer } from "effect"
import * as EphemeralWorlds from "../../layers/ephemeral/worlds/EphemeralWorlds.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as SqlWorlds from "../../layers/sql/worlds/SqlWorlds.ts"
import { worldsContract } from "../contracts/Worlds.contract.ts"
import { engines } from "../sql/Engines.ts"

worldsContract("ephemeral", EphemeralWorlds.layer)
for (const [engine, client] of engines) {
  worldsContract(
    engine,
    SqlWorlds.layer.pipe(Layer.provide(SqlStores.layer), Layer.provide(client))
  )
}
