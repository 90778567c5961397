/**
 * A live model behind any `LanguageModelV4`, the Vercel AI SDK's provider interface. It streams each turn (or requests it
 * whole), and aborts the request if it is interrupted or too slow. `ResilientModelGateway` retries transient failures.
 */
import { APICallError, JSONParseError } from "@ai-sdk/provider"
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult
} from "@ai-sdk/provider"
import { Clock, Config, Effect, Exit, Redacted } from "effect"
import type { Layer } from "effect"
import type { ModelDelta, ModelRequest, ProviderToolUse } from "../../../services/ModelGateway.ts"
import { ModelError, ModelGateway } from "../../../services/ModelGateway.ts"
import type { ProviderTool } from "../../../src/agent/ProviderTools.ts"
import { withDefaults } from "../../../src/value/PlainObject.ts"
import { truncateUnits, wellFormed } from "../../../src/value/CutText.ts"
import { sinceBytes } from "../wire/JudgedAnswer.ts"
import { isToolResult } from "../wire/TurnCollectors.ts"
import type { Redaction } from "../wire/ProviderError.ts"
import {
  errorOfEvent,
  errorOfThrown,
  exceptionIn,
  isUnreadableCall,
  safeSentence,
  unreadableArguments,
  unreadableTurn
} from "../wire/ProviderError.ts"
import { optionRefused, toOptions } from "../wire/ProviderPrompt.ts"
import type { ProviderHabits } from "../wire/ProviderHabits.ts"
import { dropsEvents, readingOf } from "../wire/ProviderHabits.ts"
import { optionAround, toSent } from "../wire/ProviderToolRequests.ts"
import { AnswerHeard } from "../wire/RateLimitHeaders.ts"
import type { AssistantPart } from "../wire/OutputItems.ts"
import { WholeAnswer } from "../wire/ChatWire.ts"
import { continuations_max, TurnAssembly } from "../wire/TurnAssembly.ts"
import * as ClientWarnings from "../wire/ClientWarnings.ts"
import * as ResilientModelGateway from "../plan/ResilientModelGateway.ts"

/** A provider: its client, and the texts that its errors must not show. */
export interface ModelProvider extends Redaction, ProviderHabits {
  readonly model: (id: string) => LanguageModelV4
  /** The model for requests that name none. */
  readonly model_default: string
  /** Matches the random ids that the client makes up when the provider's response has none. */
  readonly made_up_ids?: RegExp | undefined
  /** False = turns are requested whole, without streaming. */
  readonly stream?: boolean | undefined
}

/** Bounds of one attempt, in ms. */
export interface AttemptPolicy {
  readonly timeout_ms: number
  /**
   * The longest time without a byte in a stream after its first event. It does not apply before, because a client may not report
   * that the stream began.
   */
  readonly idle_ms: number
}

/** Bounds of one turn. Waits double from `backoff_initial_ms`, with jitter; all times in ms. */
export interface TurnPolicy extends AttemptPolicy {
  readonly attempts_max: number
  readonly backoff_initial_ms: number
  /** If a provider asks for a longer wait, the turn fails with `retry_after_ms`, and nothing is asked before it is over. */
  readonly retry_after_ms_max: number
}

export const policy_default: TurnPolicy = {
  attempts_max: 3,
  timeout_ms: 120_000,
  idle_ms: 60_000,
  backoff_initial_ms: 500,
  retry_after_ms_max: 30_000
}

const models_max = 64

const transient = (message: string) => new ModelError({ kind: "transient", message })

/** Runs a promise of the client. An error that it throws is classified, together with the time at which it was thrown. */
const called = <A>(provider: ModelProvider, promise: () => PromiseLike<A>) =>
  Effect.catch(
    Effect.tryPromise({ try: promise, catch: (error) => ({ error }) }),
    Effect.fnUntraced(function* ({ error }) {
      const heard = yield* AnswerHeard
      if (APICallError.isInstance(error)) heard(error.responseHeaders ?? {})
      // Cohere's client ends the stream at arguments that it cannot read. Of an event it says so in a part.
      if (JSONParseError.isInstance(error)) {
        return yield* unreadableArguments(safeSentence(error.text, provider.secrets))
      }
      return yield* errorOfThrown(error, provider, yield* Clock.currentTimeMillis)
    })
  )

/** The provider and model to which a provider's own data may be sent back; another model cannot read it. */
const originOf = (model: LanguageModelV4): string => `${model.provider}:${model.modelId}`

interface Attempt {
  readonly provider: ModelProvider
  readonly policy: AttemptPolicy
  readonly model: LanguageModelV4
  readonly options: LanguageModelV4CallOptions
  readonly request: ModelRequest
  readonly sink: (delta: ModelDelta) => void
  readonly warn: ClientWarnings.Warn
}

const generateWhole = Effect.fnUntraced(function* (
  { model, options, provider, warn }: Attempt,
  assembly: TurnAssembly,
  signal: AbortSignal
) {
  const answer = yield* called(provider, () =>
    model.doGenerate({ ...options, abortSignal: signal })
  )
  const heard = yield* AnswerHeard
  heard(answer.response?.headers ?? {})
  yield* warn(model.modelId, answer.warnings)
  const error = assembly.takeAll(answer)
  if (error !== undefined) return yield* error
})

const open = async (
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions
): Promise<LanguageModelV4StreamResult | WholeAnswer> => {
  try {
    return await model.doStream(options)
  } catch (error) {
    if (error instanceof WholeAnswer) return error
    throw error
  }
}

/** Fails when neither a part nor a byte of the answer has arrived for `idle_ms`. */
const silence = Effect.fnUntraced(function* (idle_ms: number, signal: AbortSignal) {
  const since = yield* Clock.currentTimeMillis
  for (;;) {
    const waited_ms = (yield* Clock.currentTimeMillis) - since
    const left_ms = Math.ceil(idle_ms - Math.min(waited_ms, sinceBytes(signal)))
    if (left_ms <= 0) return yield* transient(`the provider was silent for ${idle_ms} ms`)
    yield* Effect.sleep(left_ms)
  }
})

/** The error in a part of an answer, also one that the client dropped. */
const failureIn = (part: LanguageModelV4StreamPart): unknown => {
  if (part.type === "error") return isToolResult(part.error) ? undefined : part.error
  return part.type === "raw" ? exceptionIn(part.rawValue) : undefined
}

const streamed = Effect.fnUntraced(function* (
  each: Attempt,
  assembly: TurnAssembly,
  signal: AbortSignal,
  opened: (reader: ReadableStreamDefaultReader) => void
) {
  const { model, options, policy, provider, warn } = each
  const result = yield* called(provider, () => open(model, { ...options, abortSignal: signal }))
  if (result instanceof WholeAnswer) {
    const headers = { ...options.headers, ...result.headers }
    return yield* generateWhole({ ...each, options: { ...options, headers } }, assembly, signal)
  }
  const { response, stream } = result
  const heard = yield* AnswerHeard
  heard(response?.headers ?? {})
  const parts = stream.getReader()
  opened(parts)
  while (!assembly.finished) {
    const { done, value } = yield* Effect.raceFirst(
      called(provider, () => parts.read()),
      silence(policy.idle_ms, signal)
    )
    if (done) return
    const failed = failureIn(value)
    if (failed !== undefined) {
      return yield* errorOfEvent(failed, provider, yield* Clock.currentTimeMillis)
    }
    if (value.type === "stream-start") yield* warn(model.modelId, value.warnings)
    const error = assembly.take(value)
    if (error !== undefined) return yield* error
  }
})

const continued = (each: Attempt, given: ReadonlyArray<AssistantPart>): Attempt => ({
  ...each,
  options: {
    ...each.options,
    prompt: [...each.options.prompt, { role: "assistant", content: [...given] }]
  }
})

/** How long a client may take, after a turn is complete, to free its connection for the next one, in ms. */
const leave_ms = 1_000

/** Cancels the stream and aborts the request, because a client may ignore one of them; at once if the turn did not succeed. */
const leave = (
  exit: Exit.Exit<unknown, unknown>,
  abort: AbortController,
  reader: ReadableStreamDefaultReader | undefined
): void => {
  if (Exit.isSuccess(exit)) setTimeout(() => abort.abort(), leave_ms).unref()
  else abort.abort()
  reader?.cancel().catch(() => {})
}

/** The longest text of a turn that broke off, in UTF-16 units. */
const broken_units_max = 100_000

/** The error with what was written before it. A refusal is about the request, and its provider may have taken the text back. */
const withText = (error: ModelError, assembly: TurnAssembly): ModelError =>
  error.kind === "transient" && assembly.written_text.trim() !== ""
    ? new ModelError({
        ...error,
        message: error.message,
        text: truncateUnits(assembly.written_text, broken_units_max).toWellFormed()
      })
    : error

const attempt = (given: Attempt) =>
  Effect.suspend(() => {
    const each = { ...given, options: wellFormed(given.options) }
    const { model, policy, provider, request: asked, sink } = each
    const abort = new AbortController()
    let reader: ReadableStreamDefaultReader | undefined
    const assembly = new TurnAssembly(sink, readingOf(provider, model.modelId, asked))
    const run = Effect.fnUntraced(function* () {
      const request = (part: Attempt) =>
        provider.stream === false
          ? generateWhole(part, assembly, abort.signal)
          : streamed(part, assembly, abort.signal, (opened) => {
              reader = opened
            })
      yield* request(each)
      for (let n = 0; n < continuations_max; n++) {
        const content = assembly.paused
        if (content === undefined) break
        assembly.goOn()
        yield* request(continued(each, content))
      }
      const turn = assembly.end(
        asked.step,
        model.modelId,
        provider.made_up_ids,
        originOf(model),
        provider
      )
      return turn instanceof ModelError ? yield* turn : turn
    })
    return Effect.onExit(
      Effect.catchIf(run(), isUnreadableCall, (error) =>
        Effect.sync(() => {
          for (const kind of ["text", "reasoning"] as const) sink({ kind, text: "", offset: 0 })
          return unreadableTurn(error, model.modelId)
        })
      ),
      (exit) => Effect.sync(() => leave(exit, abort, reader))
    ).pipe(
      Effect.timeoutOrElse({
        duration: policy.timeout_ms,
        orElse: () =>
          Effect.fail(transient(`the provider did not answer within ${policy.timeout_ms} ms`))
      }),
      Effect.mapError((error) => withText(error, assembly))
    )
  })

/** The token of an MCP server, from the environment. Fails with kind `configuration` if it is not set. */
const tokenOf = Effect.fnUntraced(function* (tool: ProviderTool) {
  if (tool.tool !== "mcp" || tool.token_variable === undefined) return undefined
  const name = tool.token_variable
  const read = yield* Effect.option(Config.Redacted(name))
  const token = read._tag === "Some" ? Redacted.value(read.value).trim() : ""
  if (token !== "" && /^[\x21-\x7e]+$/.test(token)) return token
  return yield* new ModelError({
    kind: "configuration",
    message: `${name}, which has the token of mcp:${tool.server}, is not set or holds a character that a header cannot`
  })
})

const sentTools = Effect.fnUntraced(function* (
  model: LanguageModelV4,
  { agent, provider_tools, tools }: ProviderToolUse
) {
  const tokens = new Map<ProviderTool, string>()
  for (const tool of provider_tools) {
    const token = yield* tokenOf(tool)
    if (token !== undefined) tokens.set(tool, token)
  }
  const sent = toSent(model, provider_tools, tools.length, (tool) => tokens.get(tool))
  return typeof sent === "string"
    ? yield* new ModelError({
        kind: "configuration",
        message: `provider_tools of agent ${agent}: ${sent}`
      })
    : { sent, secrets: [...tokens.values()] }
})

const withEvents = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
  ...options,
  includeRawChunks: true
})

const make = (provider: ModelProvider, policy: AttemptPolicy): ModelGateway["Service"] => {
  const models = new Map<string, LanguageModelV4>()
  const warn = ClientWarnings.make()
  const modelOf = (id: string): LanguageModelV4 => {
    let model = models.get(id)
    if (model === undefined) {
      model = provider.model(id)
      if (models.size >= models_max) models.clear()
      models.set(id, model)
    }
    return model
  }
  return {
    turn: Effect.fn("ModelGateway.turn")(function* (request, sink) {
      const model = modelOf(request.model ?? provider.model_default)
      const { provider_tools = [] } = request
      if (provider_tools.length === 0) {
        const asked = toOptions(request, originOf(model), provider)
        if (asked instanceof ModelError) return yield* asked
        const options = dropsEvents(model) ? withEvents(asked) : asked
        return yield* attempt({ provider, policy, model, options, request, sink, warn })
      }
      const { secrets, sent } = yield* sentTools(model, { ...request, provider_tools })
      const asked = toOptions(request, originOf(model), provider, sent)
      if (asked instanceof ModelError) return yield* asked
      const options =
        provider.takes_back_items === true || dropsEvents(model) ? withEvents(asked) : asked
      const guarded = { ...provider, secrets: [...provider.secrets, ...secrets] }
      const strictly = ClientWarnings.refusingLeftTools(warn)
      return yield* attempt({
        provider: guarded,
        policy,
        model,
        options,
        request,
        sink,
        warn: strictly
      })
    }),
    checkProviderTools: (use) => {
      const option = optionAround(use.settings?.provider_options)
      return option === undefined
        ? Effect.asVoid(sentTools(modelOf(use.model ?? provider.model_default), use))
        : Effect.fail(optionRefused(use.agent, option))
    }
  }
}

/**
 * A gateway for a plan of models. It makes one attempt for each turn, within the bounds of `policy` (absent members are those of
 * `policy_default`).
 */
export const gateway = (
  provider: ModelProvider,
  policy: Partial<AttemptPolicy> = {}
): ModelGateway["Service"] => make(provider, withDefaults(policy_default, policy))

/**
 * A gateway to the provider's models that retries transient failures (absent members of `policy` are those of `policy_default`).
 */
export const layer = (
  provider: ModelProvider,
  policy: Partial<TurnPolicy> = {}
): Layer.Layer<ModelGateway, ModelError> => {
  const { attempts_max, backoff_initial_ms, retry_after_ms_max, ...each } = {
    ...policy_default,
    ...policy
  }
  const name = provider.model_default
  return ResilientModelGateway.layer(
    Effect.sync(() => ({
      models: [{ name, provider: provider.model(name).provider, gateway: make(provider, each) }],
      retry: { attempts_max, backoff_initial_ms, retry_after_ms_max }
    }))
  )
}
