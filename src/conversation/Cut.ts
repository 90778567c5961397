/**
 * What a prompt leaves out, as it is journaled. A cut changes only what a model is shown: messages, turns and results stay
 * complete in the journal.
 */
import { Schema } from "effect"

/** A summary of everything up to and including `through`. */
export const Summary = Schema.Struct({ through: Schema.Int, text: Schema.String })
export interface Summary extends Schema.Schema.Type<typeof Summary> {}

/** A cut of the conversation before the run. Its numbers are ordinals of runs; 0 = none. */
export const HistoryCut = Schema.Struct({
  /** Runs up to and including this one are not shown. */
  dropped: Schema.Int,
  /** Results of runs up to and including this one are shown as a note of their size. */
  elided: Schema.Int,
  summary: Schema.optionalKey(Summary)
})
export interface HistoryCut extends Schema.Schema.Type<typeof HistoryCut> {}

/** A cut of a frame's own transcript. Its numbers are steps of the frame; 0 = none. The frame's first message is always shown. */
export const FrameCut = Schema.Struct({
  dropped: Schema.Int,
  elided: Schema.Int,
  /** The length in UTF-16 units to which each result of the last step was cut. */
  capped: Schema.optionalKey(Schema.Int),
  summary: Schema.optionalKey(Summary)
})
export interface FrameCut extends Schema.Schema.Type<typeof FrameCut> {}
