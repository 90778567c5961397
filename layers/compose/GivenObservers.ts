/**
 * Functions of an application that are called in passing, for its own metrics and logs.
 */
import { Effect, Layer, Schema } from "effect"
import type { ModelTurnObserver } from "../../services/ModelTurnObserver.ts"
import { ModelTurnObservers } from "../../services/ModelTurnObserver.ts"
import type { ToolCallObserver } from "../../services/ToolCallObserver.ts"
import { ToolCallObservers } from "../../services/ToolCallObserver.ts"
import { func } from "./OptionShapes.ts"

/**
 * Each is called once, in the process that appended the event, once that is durable; after a crash in between, not at all: what
 * must not be missed is read with `watch`, or from the journal. Nobody waits for what it gives. What it throws is logged, and so
 * is why a promise that it gave was rejected.
 */
export interface GivenObservers {
  /** Called with each call that is over, refused ones too: its metadata, arguments and outcome, as they are journaled. */
  readonly call?: ToolCallObserver
  /** Called with each model turn and each use of a model by a tool: whose it was, its tokens, and with `prices` its cost. */
  readonly turn?: ModelTurnObserver
}

export const GivenObservers = Schema.Struct({
  call: Schema.optionalKey(func),
  turn: Schema.optionalKey(func)
})

/** Adds them to the observers that there are. */
export const layer = ({ call, turn }: GivenObservers = {}): Layer.Layer<never> =>
  Layer.merge(
    Layer.effect(
      ToolCallObservers,
      Effect.map(ToolCallObservers, (others) => (call === undefined ? others : [...others, call]))
    ),
    Layer.effect(
      ModelTurnObservers,
      Effect.map(ModelTurnObservers, (others) => (turn === undefined ? others : [...others, turn]))
    )
  )
