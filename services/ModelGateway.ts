/**
 * Makes one model turn: takes a request, returns the finished turn, and passes deltas to a sink while the turn runs. Retries,
 * rate limits and fallbacks belong to the implementations.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { ModelSettings } from "../src/agent/ModelSettings.ts"
import type { ProviderTool } from "../src/agent/ProviderTools.ts"
import type { TranscriptEntry } from "../src/conversation/Transcript.ts"
import type { AgentName, FrameId, RunId } from "../src/value/Ids.ts"
import type { AnswerSchema } from "../src/run/AnswerSchema.ts"
import type { Turn } from "../src/run/RunDecider.ts"

/** A tool in the form that the model sees, without its output schema and its bound context. */
export interface ModelTool {
  /** The name that the model uses. */
  readonly name: string
  /** What the model reads of it. */
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly input_schema: Readonly<Record<string, unknown>>
}

/** One turn that a model is asked for. */
export interface ModelRequest {
  /** The run. */
  readonly run: RunId
  /** The run's trace, for a span of the turn. */
  readonly trace_id?: string | undefined
  /** The agent whose turn it is. */
  readonly agent: AgentName
  /** The frame whose turn it is. */
  readonly frame: FrameId
  /** Counts the frame's turns from 1. */
  readonly step: number
  /**
   * `summary`: the request is not a turn of the frame but asks for a summary of what its prompt will leave out. Absent = a turn.
   */
  readonly purpose?: "summary" | undefined
  /** Absent = the gateway's default. */
  readonly model: string | undefined
  /** The system prompt. */
  readonly system: string
  /** The conversation before this run, and the transcript of the frame. Must not be modified. */
  readonly history: ReadonlyArray<TranscriptEntry>
  /** What was said and done in the frame so far. Must not be modified. */
  readonly transcript: ReadonlyArray<TranscriptEntry>
  /**
   * The bytes of the files that the entries name, in Base64 by digest. A file that is not among them is left out of the prompt,
   * and a note stands in its place. Absent = the entries name no files.
   */
  readonly files?: ReadonlyMap<string, string> | undefined
  /** Empty = the model must answer. */
  readonly tools: ReadonlyArray<ModelTool>
  /** The tools that the provider may run by itself in this turn. Absent = none. */
  readonly provider_tools?: ReadonlyArray<ProviderTool> | undefined
  /** JSON Schema that an answer has to fit; `system` mentions it too. Absent = the schema of `settings`, if any. */
  readonly answer_schema?: AnswerSchema | undefined
  /** Absent = the provider's defaults. */
  readonly settings?: ModelSettings | undefined
}

/** The part of an agent that a gateway checks before its first turn. */
export type ProviderToolUse = Pick<ModelRequest, "agent" | "model" | "tools" | "settings"> & {
  /** The provider's own tools that the agent has. */
  readonly provider_tools: ReadonlyArray<ProviderTool>
}

/** A piece of a turn in progress. `offset` counts UTF-16 units of this kind's text so far. */
export interface ModelDelta {
  /** What the model says, or what it thinks. */
  readonly kind: "text" | "reasoning"
  /** The piece. */
  readonly text: string
  /** How many UTF-16 units of this kind came before, in this turn. */
  readonly offset: number
}

/** `configuration`: key, model or endpoint; `refused`: the provider's reason; `transient`: may work later. */
export const ModelErrorKind = Schema.Literals(["configuration", "refused", "transient"])

/**
 * The maximum size of a turn as JSON in UTF-8, without its files, because every later prompt of its conversation may contain it.
 * A larger turn is refused.
 */
export const turn_bytes_max = 4 * 2 ** 20

/** The reason of a ModelError when the model does not accept a file of the run. No model was called. */
export const media_unsupported = "media_unsupported"

/** The turn failed. `message` is safe to show to an operator: it contains no key and no address. */
export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  /** What went wrong: it decides whether the turn is tried again. */
  kind: ModelErrorKind,
  /** What went wrong, for an operator. */
  message: Schema.String,
  /** When a later turn may succeed, in ms, as the provider says. Absent = it does not say. */
  retry_after_ms: Schema.optionalKey(Schema.Int),
  /**
   * `media_unsupported`: the model does not take a file of the message. From the provider: `context_length` (the prompt is too
   * long; a shorter one may pass), `content_filter` (the prompt was blocked), `tool_use_failed` (a call of the model could not be
   * parsed). From the gateway itself: `circuit_open`, `retry_later` (the provider asked for a wait that is not over), `queue_full`,
   * `queue_timeout`, `cassette_diverged`, `graph_stopped` (no model was called). Absent = another failure of the provider or the network.
   */
  reason: Schema.optionalKey(Schema.String),
  /** What the model wrote of a turn that broke off each time that it was asked for, at the last of them. Absent = nothing. */
  text: Schema.optionalKey(Schema.String)
}) {}

/** Asks models for turns. It knows providers; nothing else does. */
export class ModelGateway extends Context.Service<
  ModelGateway,
  {
    /** Makes one turn. An interruption aborts the request. `sink` is called synchronously and must not throw. */
    turn(request: ModelRequest, sink: (delta: ModelDelta) => void): Effect.Effect<Turn, ModelError>
    /**
     * Fails with kind `configuration` if a model that may take the agent's turns does not support these tools of its provider.
     * Absent = this cannot be known before a turn.
     */
    readonly checkProviderTools?: (use: ProviderToolUse) => Effect.Effect<void, ModelError>
    /** The models that may take the turns of an agent that asks for `model`, by the names that they are asked by. Absent = not known. */
    readonly modelsFor?: (model: string | undefined) => ReadonlyArray<string>
  }
>()("troupe/services/ModelGateway") {}
