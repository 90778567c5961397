/**
 * The parts of a provider's stream, put together as one turn. Owns offsets, reasoning parts, ids of calls and the mapping
 * of usage and finish; knows no transport.
 */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { ModelError } from "../../services/ModelGateway.ts"
import type { ModelDelta } from "../../services/ModelGateway.ts"
import type { Json } from "../../src/Canonical.ts"
import type { FinishReason, ProposedCall, Reasoning, Usage } from "../../src/run/RunEvent.ts"
import type { Turn } from "../../src/run/RunDecider.ts"

/** Text, reasoning and arguments of one turn together, in UTF-16 units. */
const turn_units_max = 16_000_000
const calls_max = 1_000
/** Whoever walks the arguments later does so by recursion. */
const depth_max = 100

const transient = (message: string) => new ModelError({ kind: "transient", message })

const shallow = (value: unknown, depth: number): boolean => {
  if (typeof value !== "object" || value === null) return true
  if (depth === 0) return false
  for (const member of Object.values(value)) if (!shallow(member, depth - 1)) return false
  return true
}

/** The arguments of a call; what is not JSON, or nested more than 100 deep, is kept as text. No text = no arguments. */
export const argumentsOf = (input: string): Pick<ProposedCall, "arguments" | "malformed"> => {
  if (input.trim() === "") return { arguments: {} }
  try {
    const value: unknown = JSON.parse(input)
    if (shallow(value, depth_max)) return { arguments: value as Json }
  } catch {
    // Kept as text below: the model is told, and nothing crashes.
  }
  return { arguments: null, malformed: input }
}

const count = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isFinite(tokens) && tokens >= 0 ? Math.trunc(tokens) : undefined

/** Undefined where the provider counted nothing. */
export const usageOf = (usage: LanguageModelV4Usage): Usage | undefined => {
  const input = count(usage.inputTokens.total)
  const output = count(usage.outputTokens.total)
  if (input === undefined && output === undefined) return undefined
  const cached = count(usage.inputTokens.cacheRead)
  const reasoning = count(usage.outputTokens.reasoning)
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    ...(cached === undefined ? undefined : { cached_tokens: cached }),
    ...(reasoning === undefined ? undefined : { reasoning_tokens: reasoning })
  }
}

/** Undefined = the turn did not finish. */
const finishOf = (finish: LanguageModelV4FinishReason, calls: number): FinishReason | undefined => {
  switch (finish.unified) {
    case "stop":
      // Some servers say stop after a call.
      return calls > 0 ? "tool_calls" : "stop"
    case "tool-calls":
      return "tool_calls"
    case "length":
      return "length"
    case "content-filter":
      // A refusal ends with the wire's `stop`; the client makes it a filter of content.
      return finish.raw === "stop" || finish.raw === "refusal" ? "refusal" : "content_filter"
    case "other":
      return calls > 0 ? "tool_calls" : "other"
    case "error":
    case "interrupted":
      return undefined
  }
}

interface ReasoningPart {
  text: string
  provider: SharedV4ProviderMetadata | undefined
}

/** One attempt at a turn. Deltas go to `sink` as they come, offsets from 0 per kind. */
export class TurnAssembly {
  private text = ""
  private readonly reasoning = new Map<string, ReasoningPart>()
  private reasoning_units = 0
  private argument_units = 0
  private readonly calls: Array<LanguageModelV4ToolCall> = []
  private model: string | undefined
  private finish: Extract<LanguageModelV4StreamPart, { type: "finish" }> | undefined
  private readonly sink: (delta: ModelDelta) => void

  constructor(sink: (delta: ModelDelta) => void) {
    this.sink = sink
  }

  /** Was the last part seen? */
  get finished(): boolean {
    return this.finish !== undefined
  }

  /** Takes a part; an error if the turn has become too large. Error parts are the caller's. */
  take(part: LanguageModelV4StreamPart): ModelError | undefined {
    switch (part.type) {
      case "text-delta":
        if (part.delta === "") return undefined
        this.sink({ kind: "text", text: part.delta, offset: this.text.length })
        this.text += part.delta
        return this.oversize()
      case "reasoning-start":
      case "reasoning-end":
        this.reasoned(part.id, "", part.providerMetadata)
        return undefined
      case "reasoning-delta":
        if (part.delta !== "") {
          this.sink({ kind: "reasoning", text: part.delta, offset: this.reasoning_units })
        }
        this.reasoned(part.id, part.delta, part.providerMetadata)
        return this.oversize()
      case "tool-call":
        // What the provider ran itself is no proposal.
        if (part.providerExecuted === true) return undefined
        this.argument_units += part.input.length
        this.calls.push(part)
        return this.oversize()
      case "response-metadata":
        if (part.modelId !== undefined && part.modelId !== "") this.model = part.modelId
        return undefined
      case "finish":
        this.finish = part
        return undefined
      default:
        return undefined
    }
  }

  private reasoned(id: string, text: string, provider: SharedV4ProviderMetadata | undefined): void {
    const part = this.reasoning.get(id)
    this.reasoning_units += text.length
    if (part === undefined) this.reasoning.set(id, { text, provider })
    else {
      part.text += text
      part.provider = provider ?? part.provider
    }
  }

  private oversize(): ModelError | undefined {
    return this.text.length + this.reasoning_units + this.argument_units > turn_units_max ||
      this.calls.length > calls_max
      ? new ModelError({ kind: "refused", message: "the provider's answer is too large" })
      : undefined
  }

  /** Ids of the wire stay; one that is missing, repeated or made up by the client is named by its place. */
  private proposed(step: number, madeUp: RegExp | undefined): ReadonlyArray<ProposedCall> {
    const used = new Set<string>()
    return this.calls.map((call, index) => {
      let id = call.toolCallId
      if (id === "" || used.has(id) || madeUp?.test(id) === true) id = `call_${step}_${index}`
      used.add(id)
      return { model_id: id, name: call.toolName, ...argumentsOf(call.input) }
    })
  }

  private reasoningParts(): ReadonlyArray<Reasoning> {
    const parts: Array<Reasoning> = []
    for (const { provider, text } of this.reasoning.values()) {
      if (provider !== undefined) parts.push({ text, provider: provider as Json })
      else if (text !== "") parts.push({ text })
    }
    return parts
  }

  /** The turn, or that it did not finish. `step` names calls without an id. */
  end(step: number, requested: string, madeUp?: RegExp): Turn | ModelError {
    const finish =
      this.finish === undefined ? undefined : finishOf(this.finish.finishReason, this.calls.length)
    if (this.finish === undefined || finish === undefined) {
      return transient("the provider's answer ended before it was finished")
    }
    if (finish === "tool_calls" && this.calls.length === 0 && this.text === "") {
      return transient("the provider asked for tools and named none")
    }
    const reasoning = this.reasoningParts()
    const usage = usageOf(this.finish.usage)
    return {
      text: this.text,
      calls: this.proposed(step, madeUp),
      finish,
      ...(reasoning.length === 0 ? undefined : { reasoning }),
      ...(usage === undefined ? undefined : { usage }),
      model: this.model ?? requested
    }
  }
}
