/** What a model's turns bring into a run: its texts and calls, and how prompts that were too long were cut. */
import { Schema } from "effect"
import { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import { FilePart } from "../conversation/Part.ts"
import { TurnCost, Usage } from "../cost/TurnCost.ts"
import { FrameId } from "../value/Ids.ts"
import { CheckedJson } from "../value/JsonObject.ts"
import { FinishReason, ProviderRan, Source } from "./ProviderWork.ts"

/** A call as the model proposed it. `model_id` is the model's own id for it, which may repeat and identifies nothing here. */
export class ProposedCall extends Schema.Opaque<ProposedCall>()(
  Schema.Struct({
    /** The model's own id, which may repeat. */
    model_id: Schema.String,
    /** The tool's name as the model called it. */
    name: Schema.String,
    /** The arguments as the model gave them; null if they were no JSON. */
    arguments: CheckedJson,
    /** The text that was not JSON; then `arguments` is null. */
    malformed: Schema.optionalKey(Schema.String),
    /** Goes back to the turn's provider with the call, unchanged. Not for users. */
    provider: Schema.optionalKey(CheckedJson)
  })
) {}

/** A reasoning part that must go back to its provider unchanged. */
export class Reasoning extends Schema.Opaque<Reasoning>()(
  Schema.Struct({
    /** What the model thought, where its provider shows it. */
    text: Schema.String,
    /** Goes back to the provider unchanged. */
    provider: Schema.optionalKey(CheckedJson)
  })
) {}

/**
 * One part of a turn, in the model's order: the next so many UTF-16 units of `text`, the next of `reasoning`, the next of
 * `calls`, the next of `files`, or something that means nothing to anyone but its provider.
 */
export const TurnPart = Schema.Union([
  Schema.Struct({
    /** The next units of the text. */
    of: Schema.Literal("text"),
    /** How many UTF-16 units of the text. */
    units: Schema.Int,
    /** Goes back to the provider with the part. Absent = nothing. */
    provider: Schema.optionalKey(CheckedJson)
  }),
  Schema.Struct({
    /** The next reasoning or call. */
    of: Schema.Literals(["reasoning", "call"])
  }),
  Schema.Struct({
    /** The next file. */
    of: Schema.Literal("file"),
    /** Goes back to the provider with the part. Absent = nothing. */
    provider: Schema.optionalKey(CheckedJson)
  }),
  Schema.Struct({
    /** Something that means nothing to anyone but its provider. */
    of: Schema.Literal("custom"),
    /** The provider's name for it. */
    kind: Schema.String,
    /** What goes back to the provider. */
    provider: Schema.optionalKey(CheckedJson)
  })
])
export type TurnPart = typeof TurnPart.Type

/** What the functions of an agent gave for a turn: its instructions and tools. */
export class TurnInputs extends Schema.Opaque<TurnInputs>()(
  Schema.Struct({
    /** SHA-256 of the instructions and the names of the offered tools, as canonical JSON. */
    digest: Schema.String,
    /** Tools of the agent that the turn was not offered. Absent = none. */
    without: Schema.optionalKey(Schema.Array(Schema.String))
  })
) {}

/** A model has answered: a text, calls, or both. */
export class ModelTurned extends Schema.Opaque<ModelTurned>()(
  Schema.TaggedStruct("ModelTurned", {
    /** The frame whose turn it is: `0` = that of the run's agent. */
    frame: FrameId,
    /** Counts the frame's turns from 1. */
    step: Schema.Int,
    /** What the model said. */
    text: Schema.String,
    /** The calls that it proposes, in its order. */
    calls: Schema.Array(ProposedCall),
    /** Why the model stopped. */
    finish: FinishReason,
    /** The provider's own reason, where it is more specific than `finish`. */
    finish_raw: Schema.optionalKey(Schema.String),
    /** What goes back to its provider with the turn. Absent = nothing. */
    reasoning: Schema.optionalKey(Schema.Array(Reasoning)),
    /** Absent = reasoning, then text, then calls, and nothing that goes back to the provider with a text. */
    parts: Schema.optionalKey(Schema.Array(TurnPart)),
    /** The provider and model of the turn: reasoning and `provider` of its parts go back to these only. */
    origin: Schema.optionalKey(Schema.String),
    /** The tokens that it took. Absent = not known. */
    usage: Schema.optionalKey(Usage),
    /** The model that answered. Absent = not known. */
    model: Schema.optionalKey(Schema.String),
    /** Absent where no price table was given, and of a graph's turns. */
    cost: Schema.optionalKey(TurnCost),
    /** Tools that the provider ran by itself. The gate was asked for them before the turn. */
    ran: Schema.optionalKey(Schema.Array(ProviderRan)),
    /** The first of them that the turn was not offered: it ends its frame, and none of its calls runs. */
    undeclared: Schema.optionalKey(Schema.String),
    /** What the text refers to, according to the provider. */
    sources: Schema.optionalKey(Schema.Array(Source)),
    /** Images and other files that the model made. Absent = none. */
    files: Schema.optionalKey(Schema.Array(FilePart)),
    /** Why the provider could not read a call of the turn, in its words. At most 4,000 UTF-16 units. */
    unreadable: Schema.optionalKey(Schema.String),
    /** What the functions of the agent gave for the turn. Absent = the agent has none. */
    given: Schema.optionalKey(TurnInputs),
    /** The JSON of an answer that fits its schema, where the text has more around it. */
    answer: Schema.optionalKey(Schema.String),
    /** Why the answer does not fit its schema, at most 1,000 UTF-16 units: its frame has one more turn. */
    unfit: Schema.optionalKey(Schema.String),
    /** It has neither text nor a call, or has an unreadable one: its frame has another turn. */
    empty: Schema.optionalKey(Schema.Literal(true))
  })
) {}

/**
 * A prompt was too long: from here on a frame is shown less of what came before. Nothing is deleted. A cut replaces the one
 * before it; an absent one leaves it as it was.
 */
export class Compacted extends Schema.Opaque<Compacted>()(
  Schema.TaggedStruct("Compacted", {
    /** The frame whose prompt it was. */
    frame: FrameId,
    /** The turn before which it happened. */
    step: Schema.Int,
    /** `bound`: the agent's own bounds; `refused`: the provider found the prompt too long. */
    cause: Schema.Literals(["bound", "refused"]),
    /** Parts were left out, or a model summarised them. */
    how: Schema.Literals(["truncated", "summarised"]),
    /** What is left out of the conversation before the run. */
    history: Schema.optionalKey(HistoryCut),
    /** What is left out of the frame's own transcript. */
    own: Schema.optionalKey(FrameCut),
    /** Tokens of the whole prompt. `tokens_after` is above `tokens_max` where nothing more can be left out. */
    tokens_before: Schema.Int,
    /** Tokens of the shortened prompt. */
    tokens_after: Schema.Int,
    /** The most tokens that it may have. */
    tokens_max: Schema.Int,
    /** Of the turn that summarised, which is no step of the run. */
    usage: Schema.optionalKey(Usage),
    /** The model that summarised. */
    model: Schema.optionalKey(Schema.String),
    /** What the summary cost. */
    cost: Schema.optionalKey(TurnCost),
    /** Why nothing was summarised, though the agent's `compaction` is `summarise`. */
    fallback: Schema.optionalKey(Schema.String)
  })
) {}
