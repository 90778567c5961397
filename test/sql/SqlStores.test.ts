import { Layer } from "effect"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { storesContract } from "../contracts/Stores.contract.ts"
import { engines } from "./Engines.ts"

for (const [engine, client] of engines) {
  const stores = SemStreams.layer.pipe(Layer.provideMerge(SqlStores.layer), Layer.provide(client))
  storesContract(engine, stores, { rolls_back: true })
}
