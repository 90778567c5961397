/**
 * Settings of an agent's model turns besides the prompt: bounds, tool choice, the form of the answer, and options of single
 * providers. An absent setting leaves the provider's default.
 */
import { Schema } from "effect"
import { isCheckable } from "../run/AnswerSchema.ts"
import { between, jsonUpTo } from "../value/Bounds.ts"

/** JSON of at most 65,536 characters. */
const bounded = jsonUpTo(65_536)

const JsonObject = Schema.Record(Schema.String, Schema.Json)

/**
 * Which tools a turn may or must use, if it is offered any.
 *
 * - `auto`: the model decides (the default). `none`: it must answer.
 *
 * - `required`: every turn must call a tool, for agents that end with a tool whose value is the answer.
 *
 * - `required_first`, `{tool}`: the first turn of each frame must call some tool, or this one; later ones are `auto`.
 */
export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required", "required_first"]),
  Schema.Struct({
    /** The plain name of the tool that the first turn of each frame has to call. */
    tool: Schema.NonEmptyString
  })
])
export type ToolChoice = typeof ToolChoice.Type

/**
 * Asks for an answer that is JSON of this schema. If the answer does not fit, the model is asked once more; then the run fails.
 */
export class OutputFormat extends Schema.Opaque<OutputFormat>()(
  Schema.Struct({
    /** JSON Schema of the answer, at most 65,536 characters. */
    schema: JsonObject.check(bounded, isCheckable),
    /** How the provider is told of it: 1 to 64 letters, digits, `_` or `-`. Absent = the provider's own. */
    name: Schema.optionalKey(
      Schema.String.check(
        Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { message: "1 to 64 of A-Z a-z 0-9 _ -" })
      )
    ),
    /** What the answer is for, in at most 4,096 characters. Absent = nothing is said. */
    description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_096)))
  })
) {}

/** Settings of an agent's turns that go to the provider. One that a provider does not have is left out. */
export class ModelSettings extends Schema.Opaque<ModelSettings>()(
  Schema.Struct({
    /**
     * The greatest number of output tokens in one turn, 1 to 10,000,000. Reasoning counts too, where the provider counts it as
     * output. Absent = the provider's.
     */
    max_output_tokens: Schema.optionalKey(between(1, 10_000_000)),
    /** How freely tokens are drawn, 0 to 2. Absent = the provider's. */
    temperature: Schema.optionalKey(
      Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 }))
    ),
    /** How much the model reasons before it answers, for models that support this setting. Absent = the provider's. */
    reasoning_effort: Schema.optionalKey(
      Schema.Literals(["none", "minimal", "low", "medium", "high", "xhigh", "max"])
    ),
    /** Which tools a turn may or must use, if it is offered any. Absent = `auto`: the model decides. */
    tool_choice: Schema.optionalKey(ToolChoice),
    /** Asks for an answer that is JSON of a schema. Absent = a text. */
    output: Schema.optionalKey(OutputFormat),
    /**
     * False = the request does not ask the provider to cache instructions and tools between turns, where caching has to be asked
     * for. Absent = it does.
     */
    prompt_cache: Schema.optionalKey(Schema.Boolean),
    /**
     * True = `<think>` in a text, at its begin or that of a line, is reasoning up to `</think>`; false = it is text. Absent = true
     * for servers of open models (`openai-compatible`, Ollama, LM Studio, vLLM, Groq and others alike), else false.
     */
    think_tags: Schema.optionalKey(Schema.Boolean),
    /**
     * Calls that the model writes into its text, where its server reads none: `tag` (`<tool_call>`, as Qwen and Hermes), `bare` (JSON
     * or Python alone, as Llama) or `marker` (`[TOOL_CALLS]`, as Mistral). They are calls like any other. `off` = they are text.
     * Absent = by the model's name at servers of open models, else `off`.
     */
    calls_in_text: Schema.optionalKey(Schema.Literals(["tag", "bare", "marker", "off"])),
    /**
     * Options of single providers, by the provider's name (`openai`, `anthropic`, `google`, `openaiCompatible`), as the provider's
     * package documents them.
     */
    provider_options: Schema.optionalKey(Schema.Record(Schema.String, JsonObject).check(bounded))
  })
) {}
