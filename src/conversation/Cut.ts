/**
 * What a prompt leaves out, as it is journaled. A cut changes only what a model is shown: messages, turns and results stay
 * complete in the journal.
 */
import { Schema } from "effect"

/** A summary of everything up to and including `through`. */
export class Summary extends Schema.Opaque<Summary>()(
  Schema.Struct({
    /** The last run or step that it covers. */
    through: Schema.Int,
    /** The summary. */
    text: Schema.String
  })
) {}

/** A cut of the conversation before the run. Its numbers are ordinals of runs; 0 = none. */
export class HistoryCut extends Schema.Opaque<HistoryCut>()(
  Schema.Struct({
    /** Runs up to and including this one are not shown. */
    dropped: Schema.Int,
    /** Results of runs up to and including this one are shown as a note of their size. */
    elided: Schema.Int,
    /** What stands in place of the runs that are not shown. Absent = nothing. */
    summary: Schema.optionalKey(Summary)
  })
) {}

/** A cut of a frame's own transcript. Its numbers are steps of the frame; 0 = none. The frame's first message is always shown. */
export class FrameCut extends Schema.Opaque<FrameCut>()(
  Schema.Struct({
    /** Steps up to and including this one are not shown. */
    dropped: Schema.Int,
    /** Results of steps up to and including this one are shown as a note of their size. */
    elided: Schema.Int,
    /** The length in UTF-16 units to which each result of the last step was cut. */
    capped: Schema.optionalKey(Schema.Int),
    /** What stands in place of the steps that are not shown. Absent = nothing. */
    summary: Schema.optionalKey(Summary)
  })
) {}
