/**
 * Assembles the parts of a provider's answer, streamed or whole, into one turn. Owns offsets, the order of parts,
 * provider data that is sent back with them, ids of calls, and the mapping of usage and finish; knows no transport.
 */
import type {
  LanguageModelV4Content,
  LanguageModelV4File,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { parts_max as files_max } from "../../../src/conversation/Part.ts"
import { truncateUnits, isBeyondBytes, wellFormed } from "../../../src/value/CutText.ts"
import { ModelError, turn_bytes_max } from "../../../services/ModelGateway.ts"
import type { ModelDelta } from "../../../services/ModelGateway.ts"
import type { Usage } from "../../../src/run/RunEvent.ts"
import { isCompleteFinish } from "../../../src/run/IncompleteTurn.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import { found_key, ProviderFound } from "./ProviderFound.ts"
import type { Found } from "./ProviderFound.ts"
import { AssistantParts, NovaTools, OpenInputs } from "./TurnCollectors.ts"
import type { AssistantPart, OutputItem } from "./OutputItems.ts"
import { itemOfEvent, itemsOfAnswer, waitingStatus } from "./OutputItems.ts"
import type { ProviderHabits } from "./ProviderHabits.ts"
import {
  finishOf,
  isPaused,
  isUnreadable,
  isUnsaid,
  rawFinishOf,
  sumUsage,
  usageOf
} from "./TurnFinish.ts"
import {
  isCompaction,
  Kept,
  mergeMetadata,
  message_part_kind,
  withItemsRan,
  withRan
} from "./TurnParts.ts"
import type { Piece, Slot } from "./TurnParts.ts"
import type { Said, WrittenText } from "./WrittenText.ts"

/** The bound on continuations of a provider that pauses, in one turn. */
export const continuations_max = 8

/** Text, reasoning and arguments of one turn together, in UTF-16 units, each of which takes a byte at least. */
const turn_units_max = turn_bytes_max
const calls_max = 1_000
const parts_max = 10_000
/** The bound on provider data of all parts of a turn, in characters of JSON. */
const metadata_units_max = 4_000_000
/** The greatest length of the base64 of all files of a turn, in characters. */
const file_units_max = 64_000_000
const model_units_max = 200
/** What a UTF-16 unit takes in JSON at most, in bytes: a control character is six. */
const unit_bytes_max = 6
const transient = (message: string) => new ModelError({ kind: "transient", message })

const tooLarge = () =>
  new ModelError({ kind: "refused", message: "the provider's answer is too large" })

/** Parts of a client's own making that it takes back; of others there are many, and they only tell. */
const wanted: ReadonlySet<string> = new Set(["anthropic.fallback", "openai.compaction"])

type End = Pick<LanguageModelV4GenerateResult, "finishReason" | "usage" | "providerMetadata">

/** One attempt at a turn, of one request or of several where the provider paused. Deltas go to `sink` as they come, offsets from 0 per kind. */
export class TurnAssembly {
  private text = ""
  private readonly slots: Array<Slot> = []
  private readonly newest: { text?: Piece; reasoning?: Piece } = {}
  private reasoning_units = 0
  private argument_units = 0
  private compacted_units = 0
  private calls = 0
  private files = 0
  private file_units = 0
  private silent_calls = false
  private model: string | undefined
  private finish: End | undefined
  private counted: Usage | undefined
  private readonly found = new ProviderFound()
  private readonly inputs = new OpenInputs()
  private readonly assistantParts = new AssistantParts()
  /** What the provider ran, by id, where the client shows its wire. */
  private readonly items = new Map<string, OutputItem>()
  private readonly nova = new NovaTools()
  private readonly sink: (delta: ModelDelta) => void
  /** Reads what is written into the texts; undefined = a text is a text. */
  private readonly written: WrittenText | undefined
  private text_id = ""
  private unread: string | undefined

  constructor(sink: (delta: ModelDelta) => void, written?: WrittenText) {
    this.sink = sink
    this.written = written
  }

  /** The text so far. */
  get written_text(): string {
    return this.text
  }

  get finished(): boolean {
    return this.finish !== undefined
  }

  /** The parts to send back so that a paused provider continues. Undefined = it did not pause. */
  get paused(): ReadonlyArray<AssistantPart> | undefined {
    if (this.finish === undefined || this.calls > 0 || !isPaused(this.finish.finishReason)) {
      return undefined
    }
    const parts = this.assistantParts.parts()
    return parts.length === 0 ? undefined : parts
  }

  /** Prepares for the parts of a further request, which belong to the same turn. */
  goOn(): void {
    if (this.finish !== undefined) this.counted = sumUsage(this.counted, usageOf(this.finish.usage))
    this.finish = undefined
    delete this.newest.text
    delete this.newest.reasoning
  }

  /** Adds a part. Returns an error if the turn has become too large. The caller handles error parts. */
  take(part: LanguageModelV4StreamPart): ModelError | undefined {
    switch (part.type) {
      case "text-start":
      case "text-end":
        return this.said(part.id, "", part.providerMetadata)
      case "text-delta":
        return this.said(part.id, part.delta, part.providerMetadata)
      case "reasoning-start":
      case "reasoning-end":
        return this.wrote("reasoning", part.id, "", part.providerMetadata)
      case "reasoning-delta":
        return this.wrote("reasoning", part.id, part.delta, part.providerMetadata)
      case "tool-input-start":
      case "tool-input-delta":
        this.inputs.take(part)
        return this.oversize()
      case "tool-call":
        return this.called(part)
      case "tool-result":
        return this.gave(part)
      case "source":
        this.found.refers(part)
        return undefined
      case "file":
        return this.generated(part)
      case "custom":
        if (wanted.has(part.kind)) {
          this.slots.push({ of: "custom", kind: part.kind, provider: part.providerMetadata })
        }
        return this.oversize()
      case "raw":
        return this.heard(part.rawValue)
      case "response-metadata":
        this.answeredBy(part.modelId)
        return undefined
      case "finish":
        // A client also says this of a stream whose last event never came. Then the turn stays unfinished.
        if (!isUnsaid(part.finishReason)) this.ended(part)
        return undefined
      default:
        return undefined
    }
  }

  /** An event as it came, where the client drops a part of it. */
  private heard(event: unknown): ModelError | undefined {
    for (const [id, item] of itemOfEvent(event)) this.items.set(id, item)
    const gave = this.nova.take(event)
    if (gave === undefined) return undefined
    const { id: toolCallId, name: toolName, result } = gave
    return this.gave({ type: "tool-result", toolCallId, toolName, result })
  }

  takeAll(answer: LanguageModelV4GenerateResult): ModelError | undefined {
    const waiting = waitingStatus(answer.response?.body)
    if (waiting !== undefined) return waits(waiting)
    this.answeredBy(answer.response?.modelId)
    for (const [id, item] of itemsOfAnswer(answer.response?.body)) this.items.set(id, item)
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
        return this.said(id, part.text, part.providerMetadata)
      case "reasoning":
        return this.wrote("reasoning", id, part.text, part.providerMetadata)
      case "tool-call":
      case "tool-result":
      case "source":
      case "custom":
      case "file":
        return this.take(part)
      default:
        return undefined
    }
  }

  /** What a tool of the provider gave. An image that it made is a file of the turn, and no text of a record. */
  private gave(part: LanguageModelV4ToolResult): ModelError | undefined {
    const image = imageOf(part)
    this.found.gave(image === undefined ? part : { ...part, result: {} })
    this.slots.push({ of: "ran", part: this.assistantParts.gave(part) })
    return (image === undefined ? undefined : this.generated(image)) ?? this.oversize()
  }

  /** A file that is only an address is left out: nobody says how long it is there, nor who may read it. */
  private generated({ data, mediaType, providerMetadata }: LanguageModelV4File) {
    if (data.type !== "data") return undefined
    this.files++
    this.file_units += data.data.length
    const media_type = mediaType.replace(/;.*$/s, "").trim().toLowerCase()
    this.slots.push({ of: "file", media_type, data: data.data, provider: providerMetadata })
    return this.files > files_max || this.file_units > file_units_max ? tooLarge() : undefined
  }

  private ended(end: End): void {
    this.finish = end
    this.readRest()
    const found = end.providerMetadata?.[found_key]
    if (found !== undefined) this.addFound(found as Found)
    this.found.addGrounding(end.providerMetadata)
    const back = end.providerMetadata?.[message_part_kind]
    if (back !== undefined) {
      this.slots.push({
        of: "custom",
        kind: message_part_kind,
        provider: back as SharedV4ProviderMetadata
      })
    }
  }

  private addFound(found: Found): void {
    this.found.addFound(found)
    for (const url of found.images ?? []) {
      const [, mediaType, data] = /^data:([^;,]+);base64,(.+)$/s.exec(url) ?? []
      if (mediaType !== undefined && data !== undefined) {
        this.generated({ type: "file", mediaType, data: { type: "data", data } })
      }
    }
  }

  private get isNothing(): boolean {
    return this.text === "" && this.calls === 0 && this.files === 0
  }

  private answeredBy(model: string | undefined): void {
    if (model !== undefined && model !== "") this.model = truncateUnits(model, model_units_max)
  }

  /** A piece of a text, which may be more than a text. */
  private said(
    id: string,
    delta: string,
    provider: SharedV4ProviderMetadata | undefined
  ): ModelError | undefined {
    if (this.written === undefined) return this.wrote("text", id, delta, provider)
    this.text_id = id
    for (const each of this.written.push(delta)) this.place(each)
    return provider === undefined ? this.oversize() : this.wrote("text", id, "", provider)
  }

  private place({ of, place, text }: Said): void {
    if (of === "unsaid") this.unsay()
    else this.wrote(of, `${this.text_id}/${place}`, text, undefined)
  }

  /** What was a text so far is reasoning. */
  private unsay(): void {
    for (const [at, slot] of this.slots.entries()) {
      if (slot.of === "text") this.slots[at] = { of: "reasoning", piece: slot.piece }
    }
    this.sink({ kind: "text", text: "", offset: 0 })
    if (this.text !== "") {
      this.sink({ kind: "reasoning", text: this.text, offset: this.reasoning_units })
    }
    this.reasoning_units += this.text.length
    this.text = ""
    delete this.newest.text
  }

  /** What is left of the text when all of it is there: calls that are written in it, if it has no others. */
  private readRest(): void {
    if (this.written === undefined) return
    const { calls, said, unreadable } = this.written.end(this.calls > 0)
    for (const each of said) this.place(each)
    this.unread = unreadable
    for (const { input, name } of calls) {
      this.called({ type: "tool-call", toolCallId: "", toolName: name, input })
    }
  }

  /** A piece goes on where the newest of its kind has its id; texts stand in `text` in the order of their pieces. */
  private wrote(
    of: "text" | "reasoning",
    id: string,
    delta: string,
    provider: SharedV4ProviderMetadata | undefined
  ): ModelError | undefined {
    this.found.cites(provider)
    let piece = this.newest[of]
    if (piece === undefined || piece.id !== id) {
      piece = { id, units: 0, text: "", provider }
      this.newest[of] = piece
      this.slots.push(
        of === "text" && isCompaction(provider) ? { of: "compaction", piece } : { of, piece }
      )
      this.assistantParts.wrote(of, piece)
    } else piece.provider = mergeMetadata(piece.provider, provider)
    if (delta === "") return this.oversize()
    piece.text += delta
    if (isCompaction(piece.provider)) {
      // A summary of what came before, for the provider alone: nobody reads it as an answer.
      this.compacted_units += delta.length
      return this.oversize()
    }
    piece.units += delta.length
    if (of === "text") {
      this.sink({ kind: of, text: delta, offset: this.text.length })
      this.text += delta
    } else {
      this.sink({ kind: of, text: delta, offset: this.reasoning_units })
      this.reasoning_units += delta.length
    }
    return this.oversize()
  }

  private called(given: LanguageModelV4ToolCall): ModelError | undefined {
    const call = this.nova.isUse(given.toolCallId) ? { ...given, providerExecuted: true } : given
    this.argument_units += call.input.length + call.toolName.length + call.toolCallId.length
    const ran = this.assistantParts.called(call)
    if (ran !== undefined) this.slots.push({ of: "ran", part: ran })
    const wire = this.inputs.close(call.toolCallId)
    // What the provider ran itself is no proposal: it is kept to be seen.
    if (call.providerExecuted === true) this.found.called(call)
    else this.propose(call, isNothing(call.input) && (wire ?? call.input).trim() === "", false)
    return this.oversize()
  }

  /** `empty`: no text of arguments came, whatever a client made of it. `open`: nobody closed the call. */
  private propose(call: LanguageModelV4ToolCall, empty: boolean, open: boolean): void {
    this.calls++
    this.silent_calls ||= empty
    this.slots.push({ of: "call", call, empty, open })
  }

  private oversize(): ModelError | undefined {
    const waiting = this.written?.units ?? 0
    return this.text.length + waiting + this.reasoning_units + this.argument_units >
      turn_units_max ||
      this.compacted_units + this.inputs.units > turn_units_max ||
      this.calls > calls_max ||
      this.slots.length > parts_max
      ? tooLarge()
      : undefined
  }

  /** What the provider ran, which is kept only if the run continues after the turn. */
  private kept(takes: Pick<ProviderHabits, "takes_back_items" | "takes_back_ran">) {
    const goesOn = this.calls > 0
    if (takes.takes_back_items === true) return withItemsRan(this.slots, this.items, goesOn)
    return withRan(this.slots, (tool) => goesOn && takes.takes_back_ran?.(tool) === true)
  }

  /** `step` is in ids of calls that came without one; `origin` alone gets this turn's provider data back, as far as it `takes` it. */
  end(
    step: number,
    requested: string,
    madeUp?: RegExp,
    origin?: string,
    takes: Pick<ProviderHabits, "takes_back_items" | "takes_back_ran"> = {}
  ): Turn | ModelError {
    if (this.finish === undefined) return unfinished()
    if (this.files > files_max || this.file_units > file_units_max) return tooLarge()
    // A call that was begun and never closed is one that the turn was cut in.
    const open = this.inputs.open()
    for (const call of open) this.propose(call, call.input.trim() === "", true)
    const { finishReason, providerMetadata, usage: counted } = this.finish
    const unread = this.unread
    const stated = finishOf(finishReason, {
      calls: this.calls,
      whole: !this.silent_calls,
      open: open.length > 0
    })
    if (stated === undefined) return unfinished()
    const finish = unread === undefined || !isCompleteFinish(stated) ? stated : "other"
    if (finish === "tool_calls" && this.calls === 0 && this.text === "") {
      return transient("the provider asked for tools and named none")
    }
    const raw = rawFinishOf(finishReason.raw, finish)
    if (finish === "other" && raw === undefined && unread === undefined && this.isNothing) {
      return transient("the provider answered nothing and did not say why")
    }
    const kept = new Kept(step, madeUp, isCompleteFinish(finish))
    for (const slot of this.kept(takes)) kept.add(slot)
    if (kept.units > metadata_units_max) return tooLarge()
    const usage = sumUsage(this.counted, usageOf(counted))
    const turn: Turn = {
      text: this.text,
      calls: kept.calls,
      finish,
      ...(raw === undefined ? undefined : { finish_raw: raw }),
      ...(isUnreadable(finishReason) && this.calls === 0
        ? { unreadable: unreadableText(finishReason.raw, providerMetadata) }
        : unread === undefined
          ? undefined
          : { unreadable: truncateUnits(unread, unreadable_units_max) }),
      ...kept.rest(origin),
      ...this.found.found(madeUp),
      ...(usage === undefined ? undefined : { usage }),
      model: this.model ?? requested
    }
    if (this.isBeyondTurn(turn, kept.units)) return tooLarge()
    const { generated, ...said } = turn
    // What the journal could not keep, no later request could say.
    const whole = wellFormed(said)
    return whole === said ? turn : { ...whole, ...(generated && { generated }) }
  }

  /** Is it more than a turn may be? Most have so little text that they are not written to be measured. */
  private isBeyondTurn(turn: Turn, metadata_units: number): boolean {
    const units = this.text.length + this.reasoning_units + this.argument_units + metadata_units
    return (
      units * unit_bytes_max > turn_bytes_max / 2 &&
      isBeyondBytes(JSON.stringify({ ...turn, generated: undefined }), turn_bytes_max)
    )
  }
}

/** How base64 of each format begins. */
const formats = { "/9j/": "image/jpeg", UklGR: "image/webp" }

/** The image of OpenAI's own tool; its previews are not kept. */
const imageOf = ({
  preliminary,
  result,
  toolName
}: LanguageModelV4ToolResult): LanguageModelV4File | undefined => {
  if (!toolName.includes("image_generation") || preliminary === true) return undefined
  const data = typeof result === "object" && "result" in result ? result["result"] : undefined
  if (typeof data !== "string" || data === "") return undefined
  const [, mediaType = "image/png"] =
    Object.entries(formats).find(([begin]) => data.startsWith(begin)) ?? []
  return { type: "file", mediaType, data: { type: "data", data } }
}

/** Also the `{}` that clients make of arguments that never came. */
const isNothing = (input: string): boolean => /^\s*(\{\s*\})?\s*$/.test(input)

const unfinished = () => transient("the provider's answer ended before it was finished")

/** The provider has only begun: another request would get the answer. Asked again, it would begin anew. */
const waits = (status: string) =>
  new ModelError({
    kind: "refused",
    message: `the provider only queued the request (status ${status}): leave out the option that asks for this, such as background`
  })

const unreadable_units_max = 4_000

/** What the provider says of a call that it could not read. */
const unreadableText = (
  raw: string | undefined,
  metadata: SharedV4ProviderMetadata | undefined
): string => {
  const explained = metadata?.["google"]?.["finishMessage"]
  return truncateUnits(
    `${raw ?? ""}${typeof explained === "string" ? `: ${explained}` : ""}`,
    unreadable_units_max
  )
}
