/**
 * A runtime whose stores are in memory: for tests, examples and work that may be lost.
 */
import { Layer } from "effect"
import * as Runtime from "../assembly/Runtime.ts"
import * as Stores from "../assembly/StoreLayers.ts"

/** A complete runtime except the model, which the embedder provides. */
export const layer = <O extends Runtime.Options>(options: O) =>
  Runtime.layer(options).pipe(Layer.provideMerge(Stores.ephemeral))
