/**
 * What observes calls and model turns: functions of an application, for its own metrics and logs, and the recorder.
 */
import { Effect, Layer, Schema } from "effect"
import type { ModelTurnObserver, ToolCallObserver } from "../../../services/RunObserver.ts"
import { ModelTurnObservers, ToolCallObservers } from "../../../services/RunObserver.ts"
import { func } from "./OptionShapes.ts"

/**
 * Each of the functions is called once, in the process that appended the event, after the event is durable. If the process crashes in
 * between, it is not called; use `watch` or the journal for what must not be missed. Nothing waits for its result. An error that
 * it throws, or the rejection of a promise that it returns, is logged.
 */
export interface ObserversInput {
  /** Called with each finished call, including refused ones: its metadata, arguments and outcome, as they are journaled. */
  readonly call?: ToolCallObserver
  /** Called with each model turn and each use of a model by a tool: its agent, its tokens and, with `prices`, its cost. */
  readonly turn?: ModelTurnObserver
  /** Stores a record of every call besides the journal, for audits (see `records`). Absent = no. */
  readonly record?: boolean
}

export const ObserversInput = Schema.Struct({
  call: Schema.optionalKey(func),
  turn: Schema.optionalKey(func),
  record: Schema.optionalKey(Schema.Boolean)
})

/** Adds the functions to the existing observers. */
export const layer = ({ call, turn }: ObserversInput = {}): Layer.Layer<never> =>
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
