import { Layer } from "effect"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { storesContract } from "../contracts/Stores.contract.ts"
import { engines } from "./Engines.ts"

for (const [engine, client] of engines) {
  storesContract(engine, Layer.provide(SqlStores.layer, client), { rolls_back: true })
}
