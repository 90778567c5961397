/**
 * The parts of a finished answer as what a turn keeps of them: calls with ids, reasoning, the order of parts, and what the
 * provider wants back with each, unchanged.
 */
import type { LanguageModelV4ToolCall, SharedV4ProviderMetadata } from "@ai-sdk/provider"
import { Result } from "effect"
import type { FileInput } from "../../../src/conversation/Part.ts"
import { fileTypeOf } from "../../../src/conversation/Part.ts"
import type { Json } from "../../../src/value/Canonical.ts"
import { bounds_result, readJson } from "../../../src/value/BoundedJson.ts"
import { restoredNumbers } from "./JudgedAnswer.ts"
import type { AssistantPart, OutputItem } from "./OutputItems.ts"
import { item_part_kind } from "./OutputItems.ts"
import { jsonText } from "./ProviderFound.ts"
import type { ProposedCall, Reasoning, TurnPart } from "../../../src/run/RunEvent.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"

/** The kind of a pseudo part whose data is sent back with the message as a whole. */
export const message_part_kind = "troupe.message"

/** The kind of a part that a provider made of what came before it: it goes back as it came, and is shown to nobody. */
export const compaction_part_kind = "troupe.compaction"

/** The kind of a call that the provider ran, or of its result: within the run it goes back as it came. */
export const ran_part_kind = "troupe.ran"

export const isCompaction = (provider: SharedV4ProviderMetadata | undefined): boolean =>
  provider?.["anthropic"]?.["type"] === "compaction"

/** An object that is written as JSON in a text, as some servers encode arguments a second time; any other value as it is. */
const decodedTwice = (value: Json): Json => {
  if (typeof value !== "string" || !/^\s*\{/.test(value)) return value
  const read = readJson(value)
  return Result.isSuccess(read) ? read.success : value
}

/** What is not JSON, or beyond its bounds, is kept as text. No text = no arguments, and so is the null that Cohere gives. */
export const argumentsOf = (input: string): Pick<ProposedCall, "arguments" | "malformed"> => {
  if (/^\s*(null)?\s*$/.test(input)) return { arguments: {} }
  const text = restoredNumbers(input)
  const read = readJson(text)
  return Result.isSuccess(read)
    ? { arguments: decodedTwice(read.success) }
    : { arguments: null, malformed: text }
}

/** Later data wins; members that it lacks are kept, because an end may leave out what the start had. */
export const mergeMetadata = (
  one: SharedV4ProviderMetadata | undefined,
  two: SharedV4ProviderMetadata | undefined
): SharedV4ProviderMetadata | undefined => {
  if (one === undefined || two === undefined) return one ?? two
  const all = { ...one }
  for (const [name, data] of Object.entries(two)) all[name] = { ...all[name], ...data }
  return all
}

/** Nothing in it, as some clients send it with every part, is nothing. */
const substance = (provider: SharedV4ProviderMetadata | undefined): boolean =>
  provider !== undefined && Object.values(provider).some((data) => Object.keys(data).length > 0)

export interface Piece {
  readonly id: string
  /** What belongs to it: of a text the number of units, of reasoning the text. */
  units: number
  text: string
  provider: SharedV4ProviderMetadata | undefined
}

export type Slot =
  | { readonly of: "text"; readonly piece: Piece }
  | { readonly of: "reasoning"; readonly piece: Piece }
  /** `empty`: no text of arguments came for it; `open`: it was begun and never closed. */
  | {
      readonly of: "call"
      readonly call: LanguageModelV4ToolCall
      readonly empty: boolean
      readonly open: boolean
    }
  | { readonly of: "compaction"; readonly piece: Piece }
  | {
      readonly of: "file"
      readonly media_type: string
      readonly data: Uint8Array | string
      readonly provider: SharedV4ProviderMetadata | undefined
    }
  /** A call that the provider ran, or what came of it. */
  | { readonly of: "ran"; readonly part: AssistantPart }
  /** The same as one item of the answer. */
  | { readonly of: "item"; readonly item: Json }
  | {
      readonly of: "custom"
      readonly kind: string
      readonly provider: SharedV4ProviderMetadata | undefined
    }

/** What came of arguments that must not run: nobody closed the call, or none came in a cut turn. Undefined = they are whole. */
const cutArguments = (
  { call, empty, open }: Extract<Slot, { of: "call" }>,
  ended: boolean
): string | undefined => {
  if (open) return restoredNumbers(call.input)
  return empty && !ended ? "" : undefined
}

/** What a turn keeps of calls that the provider ran, in characters of JSON; above it, nothing of them goes back. */
const ran_units_max = 400_000

/** Without what the provider ran, or with the calls and results of the tools that `keeps` names: a run that goes on needs them. */
export const withRan = (
  all: ReadonlyArray<Slot>,
  keeps: (tool: string) => boolean
): ReadonlyArray<Slot> => {
  if (!all.some((slot) => slot.of === "ran")) return all
  const slots = all.filter(
    (slot) => slot.of !== "ran" || ("toolName" in slot.part && keeps(slot.part.toolName))
  )
  const ran = slots.flatMap((slot) => (slot.of === "ran" ? [slot.part] : []))
  const json = jsonText(ran)
  const read = json.length > ran_units_max ? undefined : readJson(json, bounds_result)
  const copies =
    read !== undefined && Result.isSuccess(read)
      ? (read.success as unknown as ReadonlyArray<AssistantPart>)
      : []
  const idOf = (part: AssistantPart) => ("toolCallId" in part ? part.toolCallId : "")
  const sides = new Map<string, number>()
  for (const part of ran) sides.set(idOf(part), (sides.get(idOf(part)) ?? 0) + 1)
  let place = 0
  return slots.flatMap((slot): ReadonlyArray<Slot> => {
    if (slot.of !== "ran") return [slot]
    const part = copies[place++]
    return part !== undefined && sides.get(idOf(part)) === 2 ? [{ of: "ran", part }] : []
  })
}

/** The same of items of answers, by id: each stands where its call came. An item without a call of its client is not kept. */
export const withItemsRan = (
  slots: ReadonlyArray<Slot>,
  items: ReadonlyMap<string, OutputItem>,
  goesOn: boolean
): ReadonlyArray<Slot> => {
  const left = new Map(items)
  const json = goesOn && items.size > 0 ? jsonText([...items.values()]) : ""
  const isKept = json !== "" && json.length <= ran_units_max
  return slots.flatMap((slot): ReadonlyArray<Slot> => {
    if (slot.of !== "ran") return [slot]
    const id = "toolCallId" in slot.part ? slot.part.toolCallId : ""
    const item = isKept ? left.get(id) : undefined
    left.delete(id)
    const read = item === undefined ? undefined : readJson(jsonText(item), bounds_result)
    return read !== undefined && Result.isSuccess(read) ? [{ of: "item", item: read.success }] : []
  })
}

export class Kept {
  readonly calls: Array<ProposedCall> = []
  units = 0
  private readonly reasoning: Array<Reasoning> = []
  private readonly generated: Array<FileInput> = []
  private readonly parts: Array<TurnPart> = []
  private readonly used = new Set<string>()
  private owned = false
  private readonly step: number
  private readonly madeUp: RegExp | undefined
  private readonly ended: boolean

  constructor(step: number, madeUp: RegExp | undefined, ended: boolean) {
    this.step = step
    this.madeUp = madeUp
    this.ended = ended
  }

  add(slot: Slot): void {
    switch (slot.of) {
      case "text": {
        const { provider, units } = slot.piece
        const back = this.back(provider)
        if (units > 0 || "provider" in back) this.parts.push({ of: "text", units, ...back })
        return
      }
      case "reasoning": {
        const { provider, text } = slot.piece
        const back = this.back(provider)
        if (text === "" && !("provider" in back)) return
        this.owned = true
        this.reasoning.push({ text, ...back })
        this.parts.push({ of: "reasoning" })
        return
      }
      case "call":
        this.call(slot.call, cutArguments(slot, this.ended))
        return
      case "file": {
        const { data, media_type, provider } = slot
        this.generated.push({ type: fileTypeOf(media_type), media_type, data })
        this.parts.push({ of: "file", ...this.back(provider) })
        return
      }
      case "compaction": {
        const { provider, text } = slot.piece
        if (text === "") return
        this.owned = true
        this.parts.push({
          of: "custom",
          kind: compaction_part_kind,
          ...this.back({ ...provider, [compaction_part_kind]: { text } })
        })
        return
      }
      case "ran":
        this.owned = true
        this.parts.push({
          of: "custom",
          kind: ran_part_kind,
          provider: slot.part as unknown as Json
        })
        return
      case "item":
        this.owned = true
        this.parts.push({ of: "custom", kind: item_part_kind, provider: slot.item })
        return
      case "custom":
        this.owned = true
        this.parts.push({ of: "custom", kind: slot.kind, ...this.back(slot.provider) })
    }
  }

  /** Ids of the wire stay; one that is missing, repeated or made up by the client is named by its place. */
  private call(call: LanguageModelV4ToolCall, cut: string | undefined): void {
    let id = call.toolCallId
    if (id === "" || this.used.has(id) || this.madeUp?.test(id) === true) {
      id = `call_${this.step}_${this.calls.length}`
    }
    this.used.add(id)
    this.calls.push({
      model_id: id,
      name: call.toolName,
      // Of a turn that was cut, nothing is not no arguments: they never came, or not to their end.
      ...(cut === undefined ? argumentsOf(call.input) : { arguments: null, malformed: cut }),
      ...this.back(call.providerMetadata)
    })
    this.parts.push({ of: "call" })
  }

  /** As JSON, which it is but for members that are undefined. */
  private back(provider: SharedV4ProviderMetadata | undefined): { provider?: Json } {
    if (!substance(provider)) return {}
    const json = JSON.stringify(provider)
    this.units += json.length
    const read = readJson(json, bounds_result)
    if (Result.isFailure(read)) return {}
    this.owned = true
    return { provider: read.success }
  }

  /** The order is kept where it is not the usual one: reasoning, one text, calls. */
  rest(origin: string | undefined): Pick<Turn, "generated" | "reasoning" | "parts" | "origin"> {
    const rank = { reasoning: 0, text: 1, file: 2, call: 3, custom: 4 }
    let texts = 0
    const usual = this.parts.every((part, index) => {
      const isOwned = (part.of === "text" || part.of === "file") && "provider" in part
      if (part.of === "custom" || isOwned || (part.of === "text" && texts++ > 0)) return false
      const before = this.parts[index - 1]
      return before === undefined || rank[before.of] <= rank[part.of]
    })
    return {
      ...(this.generated.length === 0 ? undefined : { generated: this.generated }),
      ...(this.reasoning.length === 0 ? undefined : { reasoning: this.reasoning }),
      ...(usual ? undefined : { parts: this.parts }),
      ...(this.owned && origin !== undefined ? { origin } : undefined)
    }
  }
}
