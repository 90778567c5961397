/**
 * A runtime that lives and dies with its process: for tests, examples and work that may be lost.
 */
import { Layer } from "effect"
import * as EphemeralAgentMemory from "../ephemeral/EphemeralAgentMemory.ts"
import * as EphemeralStores from "../ephemeral/EphemeralStores.ts"
import * as ActorMemories from "./ActorMemories.ts"
import * as Runtime from "./Runtime.ts"

/** Everything but the model, which the embedder provides. */
export const layer = <E, R>(options: Runtime.Options<E, R>) =>
  Runtime.layer(options).pipe(
    Layer.provide(ActorMemories.layer(EphemeralAgentMemory.layer)),
    Layer.provideMerge(EphemeralStores.layer)
  )
