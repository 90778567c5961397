/**
 * Where the live model is, read from the environment: TROUPE_MODEL_BASE_URL, TROUPE_MODEL, TROUPE_MODEL_API_KEY and
 * TROUPE_MODEL_TIMEOUT_MS. An error names the variable and never its value.
 */
import { Config, Effect, Option, Redacted } from "effect"
import { ModelError } from "../../services/ModelGateway.ts"

export interface ModelConfig {
  /** Up to and without `/chat/completions`. No credentials in it, no query. */
  readonly base_url: string
  /** Absent = the provider asks for none. */
  readonly api_key: Redacted.Redacted<string> | undefined
  /** The provider's name for the model that is used where an agent names none. */
  readonly model: string
  /** The bound of one attempt, in ms. */
  readonly timeout_ms: number
}

const timeout_ms_default = 120_000
/** Node's own fetch gives up a silent connection after 300 s. */
const timeout_ms_max = 300_000

const refused = (message: string) => Effect.fail(new ModelError({ kind: "configuration", message }))

const textOf = (name: string): Effect.Effect<string | undefined, ModelError> =>
  Config.option(Config.Redacted(name)).pipe(
    Effect.map((option) => {
      const text = Option.isSome(option) ? Redacted.value(option.value).trim() : ""
      return text === "" ? undefined : text
    }),
    Effect.catchTag("ConfigError", () => refused(`${name} cannot be read`))
  )

/** The address without a slash at its end, or why it is none. */
const baseUrl = (text: string): Effect.Effect<string, ModelError> => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return refused("TROUPE_MODEL_BASE_URL is not an http or https address")
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return refused(
      "TROUPE_MODEL_BASE_URL must not hold credentials, a query or a fragment: the key goes into TROUPE_MODEL_API_KEY"
    )
  }
  return Effect.succeed(url.href.replace(/\/+$/, ""))
}

/** Undefined where TROUPE_MODEL_BASE_URL is not set. Fails with kind `configuration` on a value that cannot be used. */
export const fromEnv: Effect.Effect<ModelConfig | undefined, ModelError> = Effect.gen(function* () {
  const address = yield* textOf("TROUPE_MODEL_BASE_URL")
  if (address === undefined) return undefined
  const base_url = yield* baseUrl(address)
  const model = yield* textOf("TROUPE_MODEL")
  if (model === undefined) {
    return yield* refused("TROUPE_MODEL is not set: name the model to use at TROUPE_MODEL_BASE_URL")
  }
  const key = yield* textOf("TROUPE_MODEL_API_KEY")
  // A header with such a character is refused by fetch, in an error that shows it whole.
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    return yield* refused("TROUPE_MODEL_API_KEY holds a space or a character that a header cannot")
  }
  const timeout = yield* textOf("TROUPE_MODEL_TIMEOUT_MS")
  const timeout_ms = timeout === undefined ? timeout_ms_default : Number(timeout)
  if (!Number.isInteger(timeout_ms) || timeout_ms < 1 || timeout_ms > timeout_ms_max) {
    return yield* refused(
      `TROUPE_MODEL_TIMEOUT_MS is not a whole number from 1 to ${timeout_ms_max}`
    )
  }
  return {
    base_url,
    api_key: key === undefined ? undefined : Redacted.make(key),
    model,
    timeout_ms
  }
})
