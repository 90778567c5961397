/**
 * Translates a model request into the prompt and tools of a provider's client. It is pure and total: whatever a
 * transcript holds, every call in the prompt has an id of its own and exactly one result.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolChoice,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import { media_unsupported, ModelError } from "../../../services/ModelGateway.ts"
import type { ModelRequest, ModelTool } from "../../../services/ModelGateway.ts"
import type { ModelSettings } from "../../../src/agent/ModelSettings.ts"
import { resultText } from "../../../src/conversation/Transcript.ts"
import type { FilePart, Part } from "../../../src/conversation/Part.ts"
import { fileText } from "../../../src/conversation/Part.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { ProposedCall, TurnPart } from "../../../src/run/RunEvent.ts"
import type { AssistantPart } from "./OutputItems.ts"
import { item_part_kind, standIn, toolOfItem } from "./OutputItems.ts"
import { isOffered, joinedOptions, optionAround } from "./ProviderToolRequests.ts"
import type { RanTool, SentTools } from "./ProviderToolRequests.ts"
import type { ProviderHabits } from "./ProviderHabits.ts"
import { isStrict, not_strict } from "./ProviderHabits.ts"
import { compaction_part_kind, message_part_kind, ran_part_kind } from "./TurnParts.ts"

type AssistantEntry = Extract<TranscriptEntry, { role: "assistant" }>
type ToolEntry = Extract<TranscriptEntry, { role: "tool" }>

type JSONSchema = NonNullable<
  Extract<LanguageModelV4CallOptions["responseFormat"], { type: "json" }>["schema"]
>

/** The provider data to send back. Data that is not an object of objects did not come from a client and is left out. */
const optionsOf = (part: object): { providerOptions?: SharedV4ProviderOptions } => {
  const provider = "provider" in part ? part.provider : undefined
  return typeof provider === "object" && provider !== null && !Array.isArray(provider)
    ? { providerOptions: provider as SharedV4ProviderOptions }
    : {}
}

/** A provider's own compaction of earlier content, in the form in which its client sends it back. */
const compactionOf = (part: object): AssistantPart => {
  const { [compaction_part_kind]: kept, ...providerOptions } = optionsOf(part).providerOptions ?? {}
  const text = kept?.["text"]
  return { type: "text", text: typeof text === "string" ? text : "", providerOptions }
}

const usualParts = (entry: AssistantEntry): ReadonlyArray<TurnPart> => [
  ...(entry.reasoning ?? []).map(() => ({ of: "reasoning" }) as const),
  { of: "text", units: entry.text.length },
  ...entry.calls.map(() => ({ of: "call" }) as const)
]

/** A call's place in its turn, from its id `frame/step.index`. */
const indexOf = (entry: ToolEntry): number =>
  Number(entry.call.slice(entry.call.lastIndexOf(".") + 1))

const unanswered = "cancelled: this call did not run."

type Shown = Pick<ModelRequest, "system" | "history" | "transcript" | "files">

type UserPart = Extract<LanguageModelV4Message, { role: "user" }>["content"][number]

const note = (part: FilePart, why: string): UserPart => ({
  type: "text",
  text: `${fileText(part)} (${why})`
})

/** Builds the messages in order; `pending` are the calls of the last turn, by place, that have no result yet. */
class PromptBuilder {
  readonly messages: LanguageModelV4Prompt = []
  private readonly ids = new Set<string>()
  private pending = new Map<number, { readonly id: string; readonly name: string }>()
  private results: Array<LanguageModelV4ToolResultPart> = []
  /** Files of results that the wire format does not support inside a result. */
  private behind: Array<UserPart> = []
  private readonly origin: string | undefined
  private readonly files: ModelRequest["files"]
  private readonly habits: ProviderHabits
  /** True = the entries belong to the run and not to the conversation before it. */
  isOwn = false
  /** Whether this provider tool is offered in this turn. Undefined = none is. */
  offered: ((ran: RanTool) => boolean) | undefined
  /** The first file of the run that the model does not accept; undefined = it accepts all of them. */
  untaken: FilePart | undefined

  constructor(origin: string | undefined, files: ModelRequest["files"], habits: ProviderHabits) {
    this.origin = origin
    this.files = files
    this.habits = habits
  }

  add(entry: TranscriptEntry): void {
    switch (entry.role) {
      case "user":
        this.close()
        this.messages.push({
          role: "user",
          content:
            entry.parts === undefined
              ? [{ type: "text", text: entry.text }]
              : this.user(entry.text, entry.parts)
        })
        return
      case "assistant":
        this.close()
        this.assistant(entry)
        return
      case "tool":
        this.result(entry)
    }
  }

  private user(text: string, parts: ReadonlyArray<Part>): Array<UserPart> {
    const content: Array<UserPart> = text === "" ? [] : [{ type: "text", text }]
    for (const part of parts) {
      content.push(part.type === "text" ? { type: "text", text: part.text } : this.file(part))
    }
    return content
  }

  /** Adds a file that the model made: as a file if the wire format supports sending it back, else as a description. */
  private generated(
    content: Array<AssistantPart>,
    file: FilePart,
    options: { providerOptions?: SharedV4ProviderOptions }
  ): void {
    const data = this.habits.takes_back_files === true ? this.files?.get(file.digest) : undefined
    content.push(
      data === undefined
        ? { type: "text", text: fileText(file) }
        : { type: "file", mediaType: file.media_type, data: { type: "data", data }, ...options }
    )
  }

  /** A file's bytes, or a note in their place. A file from earlier in the conversation may have been meant for another model. */
  private file(part: FilePart, isWanted = this.isOwn): UserPart {
    const { digest, media_type, name } = part
    if (this.habits.takes?.(media_type) === false) {
      if (isWanted) this.untaken ??= part
      return note(part, "it cannot be shown to this model")
    }
    const data = this.files?.get(digest)
    return data === undefined
      ? note(part, "it is left out here")
      : {
          type: "file",
          mediaType: media_type,
          ...(name === undefined ? undefined : { filename: name }),
          data: { type: "data", data }
        }
  }

  /** Ends a step. A call without a result gets one, because a provider refuses a prompt that lacks it. */
  close(): void {
    for (const { id, name } of this.pending.values()) {
      this.results.push(result(id, name, { type: "error-text", value: unanswered }))
    }
    if (this.results.length > 0) this.messages.push({ role: "tool", content: this.results })
    if (this.behind.length > 0) this.messages.push({ role: "user", content: this.behind })
    this.pending = new Map()
    this.results = []
    this.behind = []
  }

  private assistant(entry: AssistantEntry): void {
    // What belongs to another provider or model is left out: it would be refused, or read as something that was said.
    const own = entry.origin === undefined || entry.origin === this.origin
    const optionsFor: typeof optionsOf = own ? optionsOf : () => ({})
    const content: Array<AssistantPart> = []
    let spoken = 0
    let thought = 0
    let called = 0
    let filed = 0
    let whole: { providerOptions?: SharedV4ProviderOptions } = {}
    const text = (units: number, part: object) => {
      const piece = entry.text.slice(spoken, spoken + units)
      spoken += units
      const options = optionsFor(part)
      if (piece !== "" || options.providerOptions !== undefined) {
        content.push({ type: "text", text: piece, ...options })
      }
    }
    const call = () => {
      const proposed = entry.calls[called]
      if (proposed !== undefined) content.push(this.call(proposed, called++, optionsFor(proposed)))
    }
    for (const part of entry.parts ?? usualParts(entry)) {
      switch (part.of) {
        case "text":
          text(part.units, part)
          break
        case "call":
          call()
          break
        case "reasoning": {
          const reasoning = entry.reasoning?.[thought++]
          if (own && reasoning !== undefined) {
            content.push({ type: "reasoning", text: reasoning.text, ...optionsOf(reasoning) })
          }
          break
        }
        case "file": {
          const file = entry.files?.[filed++]
          if (file !== undefined) this.generated(content, file, own ? optionsOf(part) : {})
          break
        }
        case "custom":
          if (own && part.kind === message_part_kind) whole = optionsOf(part)
          else if (own && part.kind === compaction_part_kind) content.push(compactionOf(part))
          else if (part.kind === ran_part_kind)
            content.push(...(own ? this.ran(part.provider) : []))
          else if (part.kind === item_part_kind)
            content.push(...(own ? this.item(part.provider) : []))
          else if (own) {
            const kind = part.kind as `${string}.${string}`
            content.push({ type: "custom", kind, ...optionsOf(part) })
          }
      }
    }
    // Parts below the threshold lose nothing.
    text(entry.text.length - spoken, {})
    for (const file of entry.files?.slice(filed) ?? []) this.generated(content, file, {})
    while (called < entry.calls.length) call()
    // Reasoning alone is no message: providers refuse one that says nothing.
    if (content.every((part) => part.type === "reasoning" || part.type === "custom")) return
    this.messages.push({ role: "assistant", content, ...whole })
  }

  /** A use of a provider tool. It is sent back only within the run, and only to an agent that may still use the tool. */
  private ran(kept: unknown): ReadonlyArray<AssistantPart> {
    const part = kept as Extract<AssistantPart, { type: "tool-call" | "tool-result" }> | undefined
    if (part === undefined || !this.isOwn) return []
    if (this.habits.takes_back_ran?.(part.toolName) !== true) return []
    if (this.offered?.({ name: part.toolName }) !== true) return []
    this.ids.add(part.toolCallId)
    return [part]
  }

  /** Like `ran`, for a provider whose uses are sent back as output items. */
  private item(item: unknown): ReadonlyArray<AssistantPart> {
    if (!this.isOwn || this.habits.takes_back_items !== true) return []
    const of = toolOfItem(item)
    return of !== undefined && this.offered?.(of) === true ? [standIn(item)] : []
  }

  private call(
    call: ProposedCall,
    index: number,
    options: { providerOptions?: SharedV4ProviderOptions }
  ): AssistantPart {
    const id = this.unique(call.model_id)
    this.pending.set(index, { id, name: call.name })
    return {
      type: "tool-call",
      toolCallId: id,
      toolName: call.name,
      // Arguments that were not JSON cannot go back as JSON; the call's result says what was wrong.
      input: call.malformed === undefined ? call.arguments : {},
      ...options
    }
  }

  /** Makes an id unique in the prompt. A model's own ids may repeat from turn to turn. */
  private unique(wanted: string): string {
    const base = wanted === "" ? "call" : wanted
    let id = base
    for (let n = 2; this.ids.has(id); n++) id = `${base}_${n}`
    this.ids.add(id)
    return id
  }

  private result(entry: ToolEntry): void {
    const index = indexOf(entry)
    const call = this.pending.get(index)
    // The past is cut to a token budget, and the cut may fall between a call and its result.
    if (call === undefined) return
    this.pending.delete(index)
    const value = resultText(entry)
    this.results.push(
      result(
        call.id,
        call.name,
        entry.files === undefined
          ? { type: entry.outcome._tag === "Value" ? "text" : "error-text", value }
          : this.withFiles(call.name, value, entry.files)
      )
    )
  }

  /** A result with the files that the wire format supports inside one; the others follow the results of the step. */
  private withFiles(
    name: string,
    text: string,
    files: ReadonlyArray<FilePart>
  ): LanguageModelV4ToolResultPart["output"] {
    const value: Extract<LanguageModelV4ToolResultPart["output"], { type: "content" }>["value"] = [
      { type: "text", text }
    ]
    const behind: Array<UserPart> = []
    for (const file of files) {
      const shown = this.file(file, false)
      if (shown.type === "text" || this.habits.takes_in_results?.(file.media_type) === true) {
        value.push(shown)
      } else behind.push(shown)
    }
    if (behind.length > 0) {
      this.behind.push({ type: "text", text: `[files of the result of ${name}]` }, ...behind)
    }
    return value.length === 1 ? { type: "text", value: text } : { type: "content", value }
  }
}

const result = (
  toolCallId: string,
  toolName: string,
  output: LanguageModelV4ToolResultPart["output"]
): LanguageModelV4ToolResultPart => ({ type: "tool-result", toolCallId, toolName, output })

/** One prompt for the model of that `origin`. `refused` is called with the first file of the run that the model does not take. */
export const toPrompt = (
  request: Shown,
  origin?: string,
  habits: ProviderHabits = {},
  refused?: (part: FilePart) => void,
  offered?: (ran: RanTool) => boolean
): LanguageModelV4Prompt => {
  const builder = new PromptBuilder(origin, request.files, habits)
  builder.offered = offered
  if (request.system !== "") builder.messages.push({ role: "system", content: request.system })
  for (const entry of request.history) builder.add(entry)
  // A new run: what the last one left open has no result to come.
  builder.close()
  builder.isOwn = true
  for (const entry of request.transcript) builder.add(entry)
  builder.close()
  if (builder.untaken !== undefined) refused?.(builder.untaken)
  return builder.messages
}

const mediaUnsupported = (origin: string, part: FilePart): ModelError =>
  new ModelError({
    kind: "configuration",
    reason: media_unsupported,
    message: `the model ${origin} takes no ${part.media_type}: ${fileText(part)}`
  })

const toTools = (tools: ReadonlyArray<ModelTool>): Array<LanguageModelV4FunctionTool> =>
  tools.map((tool) => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema
  }))

const toChoice = (request: ModelRequest): LanguageModelV4ToolChoice | ModelError => {
  const choice = request.settings?.tool_choice ?? "auto"
  if (typeof choice === "string" && choice !== "required_first") return { type: choice }
  if (request.step > 1) return { type: "auto" }
  if (choice === "required_first") return { type: "required" }
  return request.tools.some((tool) => tool.name === choice.tool)
    ? { type: "tool", toolName: choice.tool }
    : new ModelError({
        kind: "configuration",
        message: `model_settings.tool_choice of agent ${request.agent} names ${choice.tool}, which is none of its tools`
      })
}

const toProviderOptions = (
  usual: SharedV4ProviderOptions | undefined,
  agent: ModelSettings["provider_options"] | SharedV4ProviderOptions
): SharedV4ProviderOptions | undefined => {
  if (usual === undefined || agent === undefined) {
    return (usual ?? agent) as SharedV4ProviderOptions | undefined
  }
  const all = { ...usual, ...(agent as SharedV4ProviderOptions) }
  for (const name of Object.keys(usual)) all[name] = { ...usual[name], ...all[name] }
  return all
}

/** The tools that occur in a prompt, declared only by name, because they must not be called again. */
const pastTools = (prompt: LanguageModelV4Prompt): Array<LanguageModelV4FunctionTool> => {
  const names = new Set<string>()
  for (const message of prompt) {
    if (message.role !== "assistant") continue
    for (const part of message.content) {
      if (part.type === "tool-call" && part.providerExecuted !== true) names.add(part.toolName)
    }
  }
  return Array.from(names, (name) => ({
    type: "function",
    name,
    inputSchema: { type: "object", properties: {} }
  }))
}

/** For the provider's cache: instructions and tools are the same in every turn of an agent, so the prompt is kept up to each. */
const markKept = (
  { prompt, tools }: LanguageModelV4CallOptions,
  providerOptions: SharedV4ProviderOptions
): void => {
  const [first] = prompt
  if (first?.role === "system") prompt[0] = { ...first, providerOptions }
  const last = tools?.at(-1)
  if (tools !== undefined && last?.type === "function") {
    tools[tools.length - 1] = { ...last, providerOptions }
  }
}

export const optionRefused = (agent: string, option: string): ModelError =>
  new ModelError({
    kind: "configuration",
    message: `model_settings.provider_options.${option} of agent ${agent}: tools that the provider runs are declared in provider_tools, with settings`
  })

/** The complete options for a client's request, or the error if the request cannot be expressed. */
export const toOptions = (
  request: ModelRequest,
  origin: string,
  habits: ProviderHabits = {},
  sent?: SentTools
): LanguageModelV4CallOptions | ModelError => {
  const { answer_schema, settings, tools } = request
  const option = optionAround(settings?.provider_options)
  if (option !== undefined) return optionRefused(request.agent, option)
  let untaken: FilePart | undefined
  const prompt = toPrompt(
    request,
    origin,
    habits,
    (part) => {
      untaken = part
    },
    sent === undefined ? undefined : (ran) => isOffered(sent, ran)
  )
  if (untaken !== undefined) return mediaUnsupported(origin, untaken)
  const options: LanguageModelV4CallOptions = { prompt }
  const provided = sent?.tools ?? []
  if (tools.length + provided.length > 0) {
    const choice = toChoice(request)
    if (choice instanceof ModelError) return choice
    // The agent's own come last: the prompt is kept up to the last of them.
    options.tools = [...provided, ...toTools(tools)]
    options.toolChoice = choice
  } else if (habits.declares_past_tools === true) {
    const past = pastTools(options.prompt)
    if (past.length > 0) {
      options.tools = past
      options.toolChoice = { type: "none" }
    }
  }
  if (habits.break_point !== undefined && settings?.prompt_cache !== false) {
    markKept(options, habits.break_point)
  }
  const reasons = settings?.reasoning_effort !== undefined && settings.reasoning_effort !== "none"
  const usual = reasons
    ? toProviderOptions(habits.options, habits.reasoning_options)
    : habits.options
  const output =
    answer_schema === undefined ? settings?.output : { schema: answer_schema, name: "answer" }
  const loose = output === undefined || isStrict(output.schema) ? undefined : not_strict
  const asked = toProviderOptions(toProviderOptions(loose, usual), settings?.provider_options)
  const providerOptions = sent?.options === undefined ? asked : joinedOptions(asked, sent.options)
  if (providerOptions !== undefined) options.providerOptions = providerOptions
  if (output !== undefined) {
    // The package's type of a schema is stricter than JSON; the provider judges it.
    const { schema, ...named } = output
    options.responseFormat = { type: "json", schema: schema as JSONSchema, ...named }
  }
  if (settings === undefined) return options
  if (settings.max_output_tokens !== undefined) options.maxOutputTokens = settings.max_output_tokens
  if (settings.temperature !== undefined) options.temperature = settings.temperature
  if (settings.reasoning_effort !== undefined) options.reasoning = settings.reasoning_effort
  return options
}
