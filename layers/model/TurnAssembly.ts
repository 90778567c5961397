/**
 * The parts of a provider's answer, streamed or whole, put together as one turn. Owns offsets, the order of parts, what
 * the provider wants back with them, ids of calls and the mapping of usage and finish; knows no transport.
 */
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { ModelError } from "../../services/ModelGateway.ts"
import type { ModelDelta } from "../../services/ModelGateway.ts"
import type { FinishReason, Usage } from "../../src/run/RunEvent.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { unstated } from "./ChatWire.ts"
import { Kept, merged, onMessage } from "./TurnParts.ts"
import type { Piece, Slot } from "./TurnParts.ts"

/** Text, reasoning and arguments of one turn together, in UTF-16 units. */
const turn_units_max = 16_000_000
const calls_max = 1_000
const parts_max = 10_000
/** What a provider wants back with all parts of a turn, in characters of JSON. */
const metadata_units_max = 4_000_000
const transient = (message: string) => new ModelError({ kind: "transient", message })

const tooLarge = () =>
  new ModelError({ kind: "refused", message: "the provider's answer is too large" })

const count = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isFinite(tokens) && tokens >= 0 ? Math.trunc(tokens) : undefined

/** Undefined where the provider counted nothing. */
export const usageOf = (usage: LanguageModelV4Usage): Usage | undefined => {
  const input = count(usage.inputTokens.total)
  const output = count(usage.outputTokens.total)
  if (input === undefined && output === undefined) return undefined
  const cached = count(usage.inputTokens.cacheRead)
  const written = count(usage.inputTokens.cacheWrite)
  const reasoning = count(usage.outputTokens.reasoning)
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    ...(cached === undefined ? undefined : { cached_tokens: cached }),
    ...(written === undefined || written === 0 ? undefined : { cache_write_tokens: written }),
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
      return refusals.has(finish.raw) ? "refusal" : "content_filter"
    case "other":
      return calls > 0 ? "tool_calls" : "other"
    case "error":
    case "interrupted":
      return undefined
  }
}

/** A refusal ends with the wire's word for a good end, or with none; the client makes it a filter of content. */
const refusals: ReadonlySet<string | undefined> = new Set([undefined, "stop", "refusal"])

/** Words that say what `finish` says already. */
const plain = new Set(
  (
    "stop end_turn completed tool_calls tool-calls tool_use function_call length max_tokens " +
    "max_output_tokens content_filter refusal"
  ).split(" ")
)

/** The wire's own word where it says more than `finish`; `unstated` is what the wire did not give. */
const rawOf = (raw: string | undefined, finish: FinishReason): string | undefined => {
  if (raw === undefined || raw === "" || raw === unstated) return undefined
  return finish !== "other" && plain.has(raw.toLowerCase()) ? undefined : raw.slice(0, 200)
}

/** Parts of a client's own making that it takes back; of others there are many, and they only tell. */
const wanted: ReadonlySet<string> = new Set(["anthropic.fallback", "openai.compaction"])

/** One attempt at a turn. Deltas go to `sink` as they come, offsets from 0 per kind. */
export class TurnAssembly {
  private text = ""
  private readonly slots: Array<Slot> = []
  /** The newest piece of each kind. */
  private readonly newest: { text?: Piece; reasoning?: Piece } = {}
  private reasoning_units = 0
  private argument_units = 0
  private calls = 0
  private model: string | undefined
  private finish: Pick<LanguageModelV4GenerateResult, "finishReason" | "usage"> | undefined
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
      case "text-start":
      case "text-end":
        return this.said("text", part.id, "", part.providerMetadata)
      case "text-delta":
        return this.said("text", part.id, part.delta, part.providerMetadata)
      case "reasoning-start":
      case "reasoning-end":
        return this.said("reasoning", part.id, "", part.providerMetadata)
      case "reasoning-delta":
        return this.said("reasoning", part.id, part.delta, part.providerMetadata)
      case "tool-call":
        return this.called(part)
      case "custom":
        if (wanted.has(part.kind)) {
          this.slots.push({ of: "custom", kind: part.kind, provider: part.providerMetadata })
        }
        return this.oversize()
      case "response-metadata":
        this.answeredBy(part.modelId)
        return undefined
      case "finish":
        this.ended(part)
        return undefined
      default:
        return undefined
    }
  }

  /** Takes a whole answer. */
  takeAll(answer: LanguageModelV4GenerateResult): ModelError | undefined {
    this.answeredBy(answer.response?.modelId)
    for (const [index, part] of answer.content.entries()) {
      const error = this.content(part, String(index))
      if (error !== undefined) return error
    }
    this.ended(answer)
    return undefined
  }

  private content(part: LanguageModelV4Content, id: string): ModelError | undefined {
    switch (part.type) {
      case "text":
      case "reasoning":
        return this.said(part.type, id, part.text, part.providerMetadata)
      case "tool-call":
      case "custom":
        return this.take(part)
      default:
        return undefined
    }
  }

  private ended(
    end: Pick<LanguageModelV4GenerateResult, "finishReason" | "usage" | "providerMetadata">
  ): void {
    this.finish = end
    const back = end.providerMetadata?.[onMessage]
    if (back !== undefined) {
      this.slots.push({
        of: "custom",
        kind: onMessage,
        provider: back as SharedV4ProviderMetadata
      })
    }
  }

  private answeredBy(model: string | undefined): void {
    if (model !== undefined && model !== "") this.model = model
  }

  /** A piece goes on where the newest of its kind has its id; texts stand in `text` in the order of their pieces. */
  private said(
    of: "text" | "reasoning",
    id: string,
    delta: string,
    provider: SharedV4ProviderMetadata | undefined
  ): ModelError | undefined {
    let piece = this.newest[of]
    if (piece === undefined || piece.id !== id) {
      piece = { id, units: 0, text: "", provider }
      this.newest[of] = piece
      this.slots.push({ of, piece })
    } else piece.provider = merged(piece.provider, provider)
    if (delta === "") return this.oversize()
    piece.units += delta.length
    if (of === "text") {
      this.sink({ kind: of, text: delta, offset: this.text.length })
      this.text += delta
    } else {
      this.sink({ kind: of, text: delta, offset: this.reasoning_units })
      this.reasoning_units += delta.length
      piece.text += delta
    }
    return this.oversize()
  }

  private called(call: LanguageModelV4ToolCall): ModelError | undefined {
    // What the provider ran itself is no proposal.
    if (call.providerExecuted === true) return undefined
    this.argument_units += call.input.length
    this.calls++
    this.slots.push({ of: "call", call })
    return this.oversize()
  }

  private oversize(): ModelError | undefined {
    return this.text.length + this.reasoning_units + this.argument_units > turn_units_max ||
      this.calls > calls_max ||
      this.slots.length > parts_max
      ? tooLarge()
      : undefined
  }

  /** The turn, or that it did not finish. `step` names calls without an id, `origin` is who gets back what is its own. */
  end(step: number, requested: string, madeUp?: RegExp, origin?: string): Turn | ModelError {
    const finish =
      this.finish === undefined ? undefined : finishOf(this.finish.finishReason, this.calls)
    if (this.finish === undefined || finish === undefined) {
      return transient("the provider's answer ended before it was finished")
    }
    if (finish === "tool_calls" && this.calls === 0 && this.text === "") {
      return transient("the provider asked for tools and named none")
    }
    const raw = rawOf(this.finish.finishReason.raw, finish)
    if (finish === "other" && raw === undefined && this.text === "") {
      return transient("the provider answered nothing and did not say why")
    }
    const kept = new Kept(step, madeUp)
    for (const slot of this.slots) kept.add(slot)
    if (kept.units > metadata_units_max) return tooLarge()
    const usage = usageOf(this.finish.usage)
    return {
      text: this.text,
      calls: kept.calls,
      finish,
      ...(raw === undefined ? undefined : { finish_raw: raw }),
      ...kept.rest(origin),
      ...(usage === undefined ? undefined : { usage }),
      model: this.model ?? requested
    }
  }
}
