/**
 * Reads the configuration of the live model from the environment: TROUPE_MODEL_PROVIDER, TROUPE_MODEL_BASE_URL, TROUPE_MODEL,
 * TROUPE_MODEL_API_KEY, TROUPE_MODEL_TIMEOUT_MS, TROUPE_MODEL_STREAM, TROUPE_MODEL_FALLBACKS, TROUPE_MODEL_CONCURRENT and
 * TROUPE_MODEL_TOKENS_PER_MINUTE. An error names the variable, but never its value.
 */
import { Config, Effect, Option, Redacted } from "effect"
import { ModelError } from "../../../services/ModelGateway.ts"
import { packaged, packagedNames } from "./PackagedProviders.ts"
import type { PackagedModel } from "./PackagedProviders.ts"

/** The wire formats: OpenAI's Chat and Responses, Anthropic's Messages, Gemini's, and OpenAI-compatible ones. */
const providers = [
  "openai-compatible",
  "openai",
  "openai-responses",
  "anthropic",
  "google"
] as const
export type ProviderName = (typeof providers)[number]

export interface ModelConfig {
  readonly provider: ProviderName
  /**
   * The endpoint's URL without `/chat/completions`, `/responses`, `/messages` or `/models`. It has no credentials and no query.
   */
  readonly base_url: string
  /** Undefined = the provider needs no key. */
  readonly api_key: Redacted.Redacted<string> | undefined
  /** The provider's name for the model that is used where an agent names none. */
  readonly model: string
  readonly timeout_ms: number
  /** False = turns are requested whole, for endpoints that do not stream. */
  readonly stream: boolean
  /** Models of the same endpoint that are asked when the first cannot answer, in this order. */
  readonly fallbacks: ReadonlyArray<string>
  /** The greatest number of concurrent requests; undefined = the limiter's default. */
  readonly concurrent_max: number | undefined
  /** The bound on tokens per minute, input and output together; 0 = no bound. */
  readonly tokens_per_minute: number
}

const addresses: Readonly<Partial<Record<ProviderName, string>>> = {
  openai: "https://api.openai.com/v1",
  "openai-responses": "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta"
}

const timeout_ms_default = 120_000
/** Node's fetch closes a silent connection after 300 s. */
const timeout_ms_max = 300_000
const fallbacks_max = 16

const refused = (message: string) => Effect.fail(new ModelError({ kind: "configuration", message }))

const textOf = (name: string): Effect.Effect<string | undefined, ModelError> =>
  Config.option(Config.Redacted(name)).pipe(
    Effect.map((option) => {
      const text = Option.isSome(option) ? Redacted.value(option.value).trim() : ""
      return text === "" ? undefined : text
    }),
    Effect.catchTag("ConfigError", () => refused(`${name} cannot be read`))
  )

interface Variables {
  readonly base_url: string
  readonly key: string
}

const troupe_variables: Variables = {
  base_url: "TROUPE_MODEL_BASE_URL",
  key: "TROUPE_MODEL_API_KEY"
}

const own_variables: Readonly<Record<ProviderName, Variables>> = {
  "openai-compatible": troupe_variables,
  openai: { base_url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY" },
  "openai-responses": { base_url: "OPENAI_BASE_URL", key: "OPENAI_API_KEY" },
  anthropic: { base_url: "ANTHROPIC_BASE_URL", key: "ANTHROPIC_API_KEY" },
  google: { base_url: "GOOGLE_GENERATIVE_AI_BASE_URL", key: "GOOGLE_GENERATIVE_AI_API_KEY" }
}

/** The URL without a trailing slash. Fails with the reason if it is malformed. */
const baseUrl = (text: string, { base_url, key }: Variables): Effect.Effect<string, ModelError> => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return refused(`${base_url} is not an http or https address`)
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return refused(
      `${base_url} must not hold credentials, a query or a fragment: the key goes into ${key}`
    )
  }
  return Effect.succeed(url.href.replace(/\/+$/, ""))
}

const providerOf = (text: string | undefined): Effect.Effect<ProviderName, ModelError> => {
  const named = providers.find((each) => each === (text ?? "openai-compatible"))
  return named === undefined
    ? refused(`TROUPE_MODEL_PROVIDER is none of ${providers.join(", ")}`)
    : Effect.succeed(named)
}

const keyOf = Effect.fnUntraced(function* (
  provider: ProviderName,
  elsewhere: boolean,
  variable: string
) {
  const key = yield* textOf(variable)
  if (key === undefined) {
    return elsewhere
      ? undefined
      : yield* refused(`${variable} is not set, and ${provider} asks for a key`)
  }
  // fetch refuses such a character in a header with an error that shows the key.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return yield* refused(`${variable} holds a space or a character that a header cannot`)
  }
  return Redacted.make(key)
})

const numberOf = Effect.fnUntraced(function* (name: string, least: number, most: number) {
  const text = yield* textOf(name)
  if (text === undefined) return undefined
  const number = Number(text)
  return Number.isInteger(number) && number >= least && number <= most
    ? number
    : yield* refused(`${name} is not a whole number from ${least} to ${most}`)
})

/** The longest attempt at a turn, in ms: TROUPE_MODEL_TIMEOUT_MS, however a model is chosen. */
export const timeoutFromEnv: Effect.Effect<number, ModelError> = Effect.map(
  numberOf("TROUPE_MODEL_TIMEOUT_MS", 1, timeout_ms_max),
  (given) => given ?? timeout_ms_default
)

const fallbacksOf = Effect.fnUntraced(function* (model: string) {
  const text = (yield* textOf("TROUPE_MODEL_FALLBACKS")) ?? ""
  const names = text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]))
  if (names.length > fallbacks_max) {
    return yield* refused(`TROUPE_MODEL_FALLBACKS names more than ${fallbacks_max} models`)
  }
  if (new Set([model, ...names]).size !== names.length + 1) {
    return yield* refused("TROUPE_MODEL_FALLBACKS names a model twice, or that of TROUPE_MODEL")
  }
  return names
})

const streamOf = Effect.fnUntraced(function* () {
  const text = (yield* textOf("TROUPE_MODEL_STREAM"))?.toLowerCase() ?? "on"
  if (text === "on" || text === "true" || text === "1") return true
  if (text === "off" || text === "false" || text === "0") return false
  return yield* refused("TROUPE_MODEL_STREAM is neither on nor off")
})

/**
 * The configuration from the environment; undefined if neither TROUPE_MODEL_PROVIDER nor TROUPE_MODEL_BASE_URL is set. Fails
 * with kind `configuration` on a value that cannot be used.
 */
export const fromEnv: Effect.Effect<ModelConfig | undefined, ModelError> = Effect.gen(function* () {
  const named = yield* textOf("TROUPE_MODEL_PROVIDER")
  const elsewhere = yield* textOf(troupe_variables.base_url)
  if (named === undefined && elsewhere === undefined) return undefined
  const provider = yield* providerOf(named)
  const address = elsewhere ?? addresses[provider]
  if (address === undefined) {
    return yield* refused(`TROUPE_MODEL_BASE_URL is not set: say where the ${provider} endpoint is`)
  }
  const base_url = yield* baseUrl(address, troupe_variables)
  const model = yield* textOf("TROUPE_MODEL")
  if (model === undefined) {
    return yield* refused(
      elsewhere === undefined
        ? `TROUPE_MODEL is not set: name the model of ${provider} to use`
        : "TROUPE_MODEL is not set: name the model to use at TROUPE_MODEL_BASE_URL"
    )
  }
  return {
    provider,
    base_url,
    api_key: yield* keyOf(provider, elsewhere !== undefined, troupe_variables.key),
    model,
    timeout_ms: yield* timeoutFromEnv,
    stream: yield* streamOf(),
    fallbacks: yield* fallbacksOf(model),
    concurrent_max: yield* numberOf("TROUPE_MODEL_CONCURRENT", 1, 10_000),
    tokens_per_minute: (yield* numberOf("TROUPE_MODEL_TOKENS_PER_MINUTE", 0, 1_000_000_000)) ?? 0
  }
})

const parts = /^([^/]*)\/(\S{1,200})$/

/** The model of a packaged provider, such as `mistral/mistral-large-latest`; undefined for other names. */
export const packagedOf = (name: string): Effect.Effect<PackagedModel | undefined, ModelError> => {
  const [, prefix, model] = parts.exec(name) ?? []
  return prefix === undefined || model === undefined
    ? Effect.undefined
    : packaged(prefix, model, (variable) =>
        Effect.map(textOf(variable), (text) =>
          text === undefined ? undefined : Redacted.make(text)
        )
      )
}

/** Of a name such as `anthropic/claude-sonnet-4-5`, with all else from the variables that the provider's own package reads. */
export const fromName = Effect.fnUntraced(function* (name: string) {
  const [, prefix, model] = parts.exec(name) ?? []
  const provider = providers.find((each) => each === prefix)
  if (provider === undefined || model === undefined) {
    return yield* refused(
      `a model's name is provider/model, with one of the providers ${[...providers, ...packagedNames].join(", ")}: give the model of any other as an object of its AI SDK package`
    )
  }
  const variables = own_variables[provider]
  const elsewhere = yield* textOf(variables.base_url)
  const address = elsewhere ?? addresses[provider]
  if (address === undefined) {
    return yield* refused(`${variables.base_url} is not set: say where the ${provider} endpoint is`)
  }
  return {
    provider,
    base_url: yield* baseUrl(address, variables),
    api_key: yield* keyOf(provider, elsewhere !== undefined, variables.key),
    model,
    timeout_ms: yield* timeoutFromEnv,
    stream: true,
    fallbacks: [],
    concurrent_max: undefined,
    tokens_per_minute: 0
  } satisfies ModelConfig
})
