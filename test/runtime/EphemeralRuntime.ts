/**
 * A runtime whose stores are in memory, without the options of `start`.
 */
import { Layer } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"

/** A complete runtime except the model. */
export const layer = <O extends Runtime.Options>(options: O) =>
  Runtime.layer(options).pipe(Layer.provideMerge(Stores.ephemeral))
