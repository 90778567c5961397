/**
 * What a guard said of a text, as the journal has it. What is done about it is in `Guarding.ts`.
 */
import { Schema } from "effect"
import { CallId, FrameId } from "../value/Ids.ts"

/**
 * The texts of a run that guards judge: what it is told (`message`), what a model is to read of a call (`result`), and what a model
 * says (`answer`).
 */
export const GuardedText = Schema.Literals(["message", "result", "answer"])
export type GuardedText = typeof GuardedText.Type

/** `enforce`: the verdict holds. `observe`: it is journaled, and nothing else happens. */
export const GuardMode = Schema.Literals(["enforce", "observe"])
export type GuardMode = typeof GuardMode.Type

/** Why a text is refused whose guard threw, gave no verdict, or took longer than it may. */
export const guard_failed = "GUARD_FAILED"

/** The reason of a run whose message or answer a guard has refused. Its text is what the sender is told. */
export const guard_refused = "guard_refused"

export class Guarded extends Schema.Opaque<Guarded>()(
  Schema.TaggedStruct("Guarded", {
    /** The name of the guard. */
    guard: Schema.String,
    /** Whether the verdict holds, or is only journaled. */
    mode: GuardMode,
    /** What kind of text was judged. */
    on: GuardedText,
    /** The frame that was told the text, or whose turn it is. */
    frame: FrameId,
    /** The turn that is the text, or the first one that is shown it. */
    step: Schema.Int,
    /** The call whose result it is. */
    call: Schema.optionalKey(CallId),
    /** The text is passed, changed, refused, or a person decides. */
    verdict: Schema.Literals(["pass", "change", "refuse", "ask"]),
    /** The guard's own words, at most 1,000 UTF-16 units, or `GUARD_FAILED`. */
    reason: Schema.optionalKey(Schema.String),
    /** What the model reads instead. Absent = the text is the same; of an answer, that it is in the turn behind this event. */
    text: Schema.optionalKey(Schema.String)
  })
) {}

/** Which text it is. */
export type GuardedPlace = Pick<Guarded, "call" | "frame" | "on" | "step">

/** Does the verdict stop the text? */
export const isRefusal = ({ mode, verdict }: Pick<Guarded, "mode" | "verdict">): boolean =>
  mode === "enforce" && verdict === "refuse"
