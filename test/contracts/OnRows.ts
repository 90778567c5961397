/** Stores that are written once, over rows of one process. */
import { Context, Effect, Layer } from "effect"
import * as EphemeralRows from "../../layers/ephemeral/EphemeralRows.ts"
import * as StoredCallRecords from "../../layers/stores/StoredCallRecords.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import type { Rows } from "../../services/Rows.ts"

export const onRows = <A, E>(store: Layer.Layer<A, E, Rows>): Layer.Layer<A, E> =>
  Layer.provide(store, EphemeralRows.layer)

/** Records of calls that are there until the scope closes. */
export const callRecords = Effect.map(Layer.build(onRows(StoredCallRecords.layer)), (built) =>
  Context.get(built, CallRecords)
)
