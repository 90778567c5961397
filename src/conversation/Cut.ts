/**
 * What a prompt leaves out, as the journal keeps it. A cut changes only what a model is shown: messages, turns and results stay
 * whole in the journal.
 */
import { Schema } from "effect"

/** A summary of everything up to and including `through`. */
export const Summary = Schema.Struct({ through: Schema.Int, text: Schema.String })
export interface Summary extends Schema.Schema.Type<typeof Summary> {}

/** Of the conversation before the run, counted in ordinals of runs; 0 = none. */
export const HistoryCut = Schema.Struct({
  /** Runs up to this one are not shown. */
  dropped: Schema.Int,
  /** Results of runs up to this one are shown as a note of their size. */
  elided: Schema.Int,
  summary: Schema.optionalKey(Summary)
})
export interface HistoryCut extends Schema.Schema.Type<typeof HistoryCut> {}

/** Of a frame's own transcript, counted in its steps; 0 = none. Its first message is always shown. */
export const FrameCut = Schema.Struct({
  dropped: Schema.Int,
  elided: Schema.Int,
  /** Each result of the last step was cut to so many UTF-16 units. */
  capped: Schema.optionalKey(Schema.Int),
  summary: Schema.optionalKey(Summary)
})
export interface FrameCut extends Schema.Schema.Type<typeof FrameCut> {}
