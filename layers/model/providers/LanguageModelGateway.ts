/**
 * A model behind any `effect/ai` `LanguageModel`. It streams each turn, runs no tool, and aborts if it is interrupted or too
 * slow. Prompt and answer are translated like those of the other live gateway, so runs look the same.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider"
import { Clock, Duration, Effect, Layer, Predicate, Record, Stream } from "effect"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import type { AiError } from "effect/ai"
import { truncateUnits, wellFormed } from "../../../src/value/CutText.ts"
import type { ModelDelta, ModelRequest, ModelTool } from "../../../services/ModelGateway.ts"
import { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import { defined, withDefaults } from "../../../src/value/PlainObject.ts"
import type { StreamedPart } from "./LanguageModelParts.ts"
import { partOf } from "./LanguageModelParts.ts"
import {
  errorOfEvent,
  isUnreadableCall,
  safeSentence,
  unreadableTurn
} from "../wire/ProviderError.ts"
import { toOptions } from "../wire/ProviderPrompt.ts"
import type { AnswerHeaders } from "../wire/RateLimitHeaders.ts"
import { AnswerHeard } from "../wire/RateLimitHeaders.ts"
import { continuations_max, TurnAssembly } from "../wire/TurnAssembly.ts"

export interface LanguageModelOptions {
  /** The timeout of one turn, in ms. */
  readonly timeout_ms: number
  /** The longest silence within a stream, in ms. */
  readonly idle_ms: number
  /** Provider and model as one name; provider data of another origin is not sent back. */
  readonly origin: string
}

export const options_default: LanguageModelOptions = {
  timeout_ms: 120_000,
  idle_ms: 60_000,
  origin: "language_model"
}

type Message = Prompt.Message

const transient = (message: string) => new ModelError({ kind: "transient", message })

const optionsOf = (part: {
  readonly providerOptions?: unknown
}): { options: Prompt.ProviderOptions } => ({
  options: (part.providerOptions ?? {}) as Prompt.ProviderOptions
})

type Entry = LanguageModelV4Prompt[number]

const assistant = (entry: Extract<Entry, { role: "assistant" }>): Message => {
  const content: Array<Prompt.AssistantMessagePart> = []
  for (const part of entry.content) {
    if (part.type === "text" || part.type === "reasoning") {
      content.push(Prompt.makePart(part.type, { text: part.text, ...optionsOf(part) }))
    } else if (part.type === "tool-call") {
      content.push(
        Prompt.makePart("tool-call", {
          id: part.toolCallId,
          name: part.toolName,
          params: part.input,
          providerExecuted: part.providerExecuted === true,
          ...optionsOf(part)
        })
      )
    } else if (part.type === "tool-result") {
      const { output } = part
      content.push(
        Prompt.makePart("tool-result", {
          id: part.toolCallId,
          name: part.toolName,
          result: "value" in output ? output.value : "",
          isFailure: output.type === "error-json",
          providerExecuted: true,
          ...optionsOf(part)
        })
      )
    }
  }
  return Prompt.makeMessage("assistant", { content })
}

const results = (entry: Extract<Entry, { role: "tool" }>): Message => {
  const content: Array<Prompt.ToolMessagePart> = []
  for (const part of entry.content) {
    if (part.type !== "tool-result") continue
    const { output } = part
    content.push(
      Prompt.makePart("tool-result", {
        id: part.toolCallId,
        name: part.toolName,
        result: "value" in output ? output.value : "",
        isFailure: output.type === "error-text",
        providerExecuted: false
      })
    )
  }
  return Prompt.makeMessage("tool", { content })
}

const messageOf = (entry: Entry): Message => {
  switch (entry.role) {
    case "system":
      return Prompt.makeMessage("system", { content: entry.content })
    case "user": {
      const content: Array<Prompt.UserMessagePart> = []
      for (const part of entry.content) {
        if (part.type === "text") content.push(Prompt.makePart("text", { text: part.text }))
        else if (part.data.type === "data") {
          const { data, filename: fileName, mediaType } = part
          content.push(
            Prompt.makePart("file", {
              mediaType,
              data: data.data,
              ...(fileName === undefined ? undefined : { fileName })
            })
          )
        }
      }
      return Prompt.makeMessage("user", { content })
    }
    case "assistant":
      return assistant(entry)
    case "tool":
      return results(entry)
  }
}

type Tools = Record<string, Tool.Any>

const toolkitOf = (tools: ReadonlyArray<ModelTool>): Toolkit.WithHandler<Tools> => {
  const kit = Toolkit.make(
    ...tools.map((tool) =>
      Tool.dynamic(tool.name, { description: tool.description, parameters: tool.input_schema })
    )
  )
  return {
    tools: kit.tools,
    handle: () => Effect.die(new Error("a model's gateway runs no tool"))
  } as unknown as Toolkit.WithHandler<Tools>
}

const choiceOf = (options: LanguageModelV4CallOptions): LanguageModel.ToolChoice<string> => {
  const choice = options.toolChoice
  if (choice === undefined) return "auto"
  return choice.type === "tool" ? { tool: choice.toolName } : choice.type
}

/** Settings that `effect/ai` has no option for; they are set in the model's own layer. */
const inexpressible = ({
  agent,
  provider_tools,
  settings
}: Pick<ModelRequest, "agent" | "provider_tools" | "settings">): ModelError | undefined => {
  if (provider_tools !== undefined && provider_tools.length > 0) {
    return new ModelError({
      kind: "configuration",
      message: `provider_tools of agent ${agent} cannot be given to a LanguageModel: use a model of an AI SDK package`
    })
  }
  const [name] = Object.entries(settings ?? {}).flatMap(([name, value]) =>
    value !== undefined && name !== "tool_choice" && name !== "prompt_cache" ? [name] : []
  )
  return name === undefined
    ? undefined
    : new ModelError({
        kind: "configuration",
        message: `model_settings.${name} of agent ${agent} cannot be asked of a LanguageModel: configure it where its layer is made`
      })
}

/** What the errors of a LanguageModel mean, by their tags. */
const meanings: {
  readonly [tag: string]: readonly [kind: ModelError["kind"], message: string, reason?: string]
} = {
  ToolConfigurationError: ["configuration", "the provider cannot take a tool's schema"],
  UnsupportedSchemaError: ["configuration", "the provider cannot take a tool's schema"],
  RateLimitError: ["transient", "the provider's rate limit is reached"],
  NetworkError: ["transient", "the provider could not be reached"],
  InvalidOutputError: ["transient", "the provider's answer could not be read"],
  InvalidResponseError: ["transient", "the provider's answer could not be read"],
  QuotaExhaustedError: ["refused", "the quota is exhausted"],
  ContentPolicyError: ["refused", "the provider filtered the request", "content_filter"]
}

const meaningOf = (error: AiError.AiError, description: string): (typeof meanings)[string] => {
  const known = meanings[error.reason._tag]
  if (known !== undefined) return known
  if (/tool_use_failed/.test(description)) {
    return ["refused", "the provider could not read a call", "tool_use_failed"]
  }
  return error.isRetryable
    ? ["transient", "the provider failed"]
    : ["refused", "the provider refused the request"]
}

/** Classifies an error of a LanguageModel. The provider's own reason is kept, without secrets. */
const ofAiError = (error: AiError.AiError): ModelError => {
  if (error.reason._tag === "AuthenticationError") {
    // A provider's message about a key often shows parts of it.
    return new ModelError({
      kind: "configuration",
      message: "the provider refused the key or what it may use"
    })
  }
  const description = ("description" in error.reason ? error.reason.description : undefined) ?? ""
  const [kind, message, reason] = meaningOf(error, description)
  const explained = safeSentence(description, [])
  const { retryAfter } = error
  return new ModelError({
    kind,
    message: truncateUnits(explained === "" ? message : `${message}: ${explained}`, 500),
    ...defined({
      reason,
      retry_after_ms:
        retryAfter === undefined || kind !== "transient"
          ? undefined
          : Math.ceil(Duration.toMillis(retryAfter))
    })
  })
}

/** The headers of an error answer, if its client kept them. Headers that the client hid do not concern limits. */
const headersOf = ({ reason }: AiError.AiError): AnswerHeaders => {
  const headers = "http" in reason ? (reason.http?.response?.headers ?? {}) : {}
  return Record.filter(headers as Readonly<Record<string, unknown>>, Predicate.isString)
}

interface ModelCall {
  readonly model: LanguageModel.LanguageModel
  readonly options: LanguageModelOptions
  readonly request: ModelRequest
  readonly toolkit: Toolkit.WithHandler<Tools> | undefined
  readonly sink: (delta: ModelDelta) => void
}

const redaction = { secrets: [], keyed: true }

interface Request extends Pick<ModelCall, "model" | "options" | "toolkit"> {
  readonly toolChoice: LanguageModel.ToolChoice<string>
}

const heard = Effect.fnUntraced(function* (
  assembly: TurnAssembly,
  { model, options, toolChoice, toolkit }: Request,
  prompt: LanguageModelV4Prompt
) {
  // The toolkit has no handlers, so the services that its types ask for are not needed.
  const stream = model.streamText({
    prompt: Prompt.fromMessages(prompt.map(messageOf)),
    ...(toolkit === undefined ? undefined : { toolkit }),
    toolChoice,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  } as LanguageModel.GenerateTextOptions<Tools> & {
    readonly toolkit: Toolkit.WithHandler<Tools>
  }) as Stream.Stream<StreamedPart, AiError.AiError>
  yield* stream.pipe(
    Stream.catch((error) =>
      Stream.fromEffect(
        Effect.flatMap(AnswerHeard, (heard) => {
          heard(headersOf(error))
          return Effect.fail(ofAiError(error))
        })
      )
    ),
    Stream.timeoutOrElse({
      duration: options.idle_ms,
      orElse: () => Stream.fail(transient(`the provider was silent for ${options.idle_ms} ms`))
    }),
    Stream.takeUntil((part) => part.type === "finish"),
    Stream.runForEach((part) => {
      if (part.type === "error") {
        return Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.fail(errorOfEvent(part.error, redaction, now))
        )
      }
      const translated = partOf(part)
      const error = translated === undefined ? undefined : assembly.take(translated)
      return error === undefined ? Effect.void : Effect.fail(error)
    })
  )
})

const callModel = Effect.fnUntraced(function* ({
  model,
  options,
  request,
  sink,
  toolkit
}: ModelCall) {
  const strange = inexpressible(request)
  if (strange !== undefined) return yield* strange
  const asked = toOptions(request, options.origin)
  if (asked instanceof ModelError) return yield* asked
  const given = wellFormed(asked)
  const assembly = new TurnAssembly(sink)
  const each = { model, options, toolkit, toolChoice: choiceOf(given) }
  yield* heard(assembly, each, given.prompt)
  for (let n = 0; n < continuations_max; n++) {
    const content = assembly.paused
    if (content === undefined) break
    assembly.goOn()
    yield* heard(assembly, each, [...given.prompt, { role: "assistant", content: [...content] }])
  }
  const turn = assembly.end(
    request.step,
    request.model ?? options.origin,
    undefined,
    options.origin
  )
  return turn instanceof ModelError ? yield* turn : turn
})

const make = (options: LanguageModelOptions) =>
  Effect.map(LanguageModel.LanguageModel, (model) => {
    // Built once for each agent: its tools are the same list at every turn.
    const toolkits = new WeakMap<ReadonlyArray<ModelTool>, Toolkit.WithHandler<Tools>>()
    const toolkitFor = (tools: ReadonlyArray<ModelTool>) => {
      if (tools.length === 0) return undefined
      let toolkit = toolkits.get(tools)
      if (toolkit === undefined) toolkits.set(tools, (toolkit = toolkitOf(tools)))
      return toolkit
    }
    return ModelGateway.of({
      turn: (request, sink) =>
        Effect.suspend(() =>
          callModel({ model, options, request, sink, toolkit: toolkitFor(request.tools) })
        ).pipe(
          Effect.catchIf(isUnreadableCall, (error) =>
            Effect.succeed(unreadableTurn(error, request.model ?? options.origin))
          ),
          Effect.timeoutOrElse({
            duration: options.timeout_ms,
            orElse: () =>
              Effect.fail(transient(`the provider did not answer within ${options.timeout_ms} ms`))
          })
        ),
      checkProviderTools: ({ agent, provider_tools }) => {
        const error = inexpressible({ agent, provider_tools, settings: undefined })
        return error === undefined ? Effect.void : Effect.fail(error)
      }
    })
  })

/** A gateway that asks the `LanguageModel`, with one attempt for each turn (absent options are those of `options_default`). */
export const layer = (
  options: Partial<LanguageModelOptions> = {}
): Layer.Layer<ModelGateway, never, LanguageModel.LanguageModel> =>
  Layer.effect(ModelGateway, make(withDefaults(options_default, options)))
