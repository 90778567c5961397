/**
 * The HTTP API as a terminal needs it: JSON calls whose errors are sentences, and an event stream that comes back after
 * every interruption.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { makeParser } from "effect/encoding/Sse"
import { data_default } from "./ChatCommand.ts"

export interface Endpoint {
  readonly url: string
  readonly token: string
}

/** The API refused, or could not be reached. The message is for a person. */
export class ApiError extends Error {
  readonly status: number | undefined
  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

const fileText = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8").trim() || undefined
  } catch {
    return undefined
  }
}

/** Flags win over the environment, which wins over the files that `npm start` writes into its data directory. */
export const resolveEndpoint = (flags: {
  readonly url?: string | undefined
  readonly token?: string | undefined
}): Endpoint => {
  const { TROUPE_DATA, TROUPE_TOKEN, TROUPE_URL } = process.env
  const data = TROUPE_DATA || data_default
  const url = flags.url ?? (TROUPE_URL || fileText(join(data, "url")))
  const token = flags.token ?? (TROUPE_TOKEN || fileText(join(data, "token")))
  if (url === undefined || token === undefined) {
    const missing = url === undefined ? "address" : "token"
    throw new ApiError(
      `There is no ${missing} to use. There is none in ${data}: start the service here with \`npm start\`, or give --url and ` +
        "--token, or set TROUPE_URL and TROUPE_TOKEN, or TROUPE_DATA as the service has it."
    )
  }
  return { url: url.replace(/\/+$/, ""), token }
}

/** One event of a conversation's stream. `id` is that of the last event that had one: the cursor to resume from. */
interface StreamEvent {
  readonly id: string | undefined
  readonly name: string
  readonly data: unknown
}

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** The largest event, in UTF-16 units. An event holds at most one turn of a model or one result of a tool. */
const event_units_max = 64 * 2 ** 20

const answer_ms = 30_000
/** The service sends a comment every 15 s: a connection that is silent for this long is dead. */
const silence_ms = 45_000
const pause_ms = 1_000

/** Events of an open response, until it ends or is silent for `silence_ms`. */
async function* eventsOf(response: Response, abort: AbortController): AsyncGenerator<StreamEvent> {
  if (response.body === null) return
  let timer: NodeJS.Timeout | undefined
  let events: Array<StreamEvent> = []
  const parser = makeParser(
    (event) => {
      if (event._tag === "Retry") return
      events.push({ id: event.id, name: event.event, data: decodeJson(event.data) })
    },
    { maxEventSize: event_units_max }
  )
  try {
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer)
      timer = setTimeout(() => abort.abort(), silence_ms)
      const tooLarge = parser.feed(text)
      if (tooLarge !== undefined) throw tooLarge
      const read = events
      events = []
      yield* read
    }
  } finally {
    clearTimeout(timer)
    abort.abort()
  }
}

const decodeProblem = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      title: Schema.optionalKey(Schema.String),
      detail: Schema.optionalKey(Schema.String),
      available: Schema.optionalKey(Schema.Array(Schema.String)),
      errors: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            path: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
            message: Schema.String
          })
        )
      )
    })
  )
)

/** A problem as sentences; the status where the answer is not a problem. */
const textOf = async (response: Response): Promise<string> => {
  const text = await response.text()
  try {
    const { available = [], detail, errors, title } = decodeProblem(text)
    const instead = available.length === 0 ? "" : ` There is: ${available.join(", ")}.`
    const places = (errors ?? []).map(({ message, path }) => `\n  ${path.join(".")}: ${message}`)
    return `${title ?? response.statusText}. ${detail ?? ""}${instead}${places.join("")}`
  } catch {
    return `The service answered ${response.status}.`
  }
}

/** The body of an answer, decoded. Fails with ApiError, without a status where the connection ended first. */
const bodyOf = async <S extends Schema.ConstraintDecoder<unknown>>(
  response: Response,
  schema: S
): Promise<S["Type"]> => {
  const text = await response.text().catch(() => {
    throw new ApiError("The connection was lost before the answer was whole.")
  })
  try {
    return Schema.decodeUnknownSync(Schema.fromJsonString(schema))(text)
  } catch {
    const { origin } = new URL(response.url)
    throw new ApiError(`What answers at ${origin} is not this service.`, response.status)
  }
}

export class ApiClient {
  readonly #endpoint: () => Endpoint

  /** The endpoint is read at every request: a service that was restarted may have another port. */
  constructor(endpoint: () => Endpoint) {
    this.#endpoint = endpoint
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const { token, url } = this.#endpoint()
    try {
      return await fetch(url + path, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${token}` }
      })
    } catch (cause) {
      if (cause instanceof TypeError && /Invalid URL|Failed to parse/.test(cause.message)) {
        throw new ApiError(`${url} is not an address.`)
      }
      throw new ApiError(
        `Nobody answers at ${url}. Is the service running? Start it with \`npm start\`.`
      )
    }
  }

  async #answer(path: string, body: unknown, headers?: Record<string, string>): Promise<Response> {
    const response = await this.#fetch(path, {
      signal: AbortSignal.timeout(answer_ms),
      ...(body === undefined
        ? undefined
        : {
            method: "POST",
            headers: { ...headers, "content-type": "application/json" },
            body: JSON.stringify(body)
          })
    })
    if (!response.ok) throw new ApiError(await textOf(response), response.status)
    return response
  }

  /** A GET, or a POST if there is a body. Fails with ApiError. */
  async call<S extends Schema.ConstraintDecoder<unknown>>(
    path: string,
    schema: S,
    body?: unknown,
    headers?: Record<string, string>
  ): Promise<S["Type"]> {
    return bodyOf(await this.#answer(path, body, headers), schema)
  }

  /** A POST whose answer has no body. Fails with ApiError. */
  async post(path: string, body: unknown): Promise<void> {
    await this.#answer(path, body)
  }

  /**
   * Repeats a request while the service is away: only for one that may be sent twice. `lost` is called at the first
   * failure. Fails after `patience_ms`.
   */
  async patiently<A>(
    patience_ms: number,
    request: () => Promise<A>,
    lost: (reason: string) => void
  ): Promise<A> {
    const until = Date.now() + patience_ms
    for (let tries = 0; ; tries++) {
      try {
        return await request()
      } catch (error) {
        const away = error instanceof ApiError && (error.status ?? 503) === 503
        if (!away || Date.now() >= until) throw error
        if (tries === 0) {
          lost(`${error.message} Trying again for ${Math.round(patience_ms / 60_000)} minutes.`)
        }
      }
      await sleep(pause_ms)
    }
  }

  /**
   * Events of a conversation after `cursor`, without end: after a lost connection it reconnects and resumes after the
   * last event. `lost` is called at each loss. Fails when the service refuses, or was away for `patience_ms`.
   */
  async *follow(
    conversation: string,
    cursor: string,
    patience_ms: number,
    lost: (reason: string) => void
  ): AsyncGenerator<StreamEvent> {
    let seen = cursor
    let away_since: number | undefined
    for (;;) {
      const abort = new AbortController()
      try {
        const response = await this.#fetch(
          `/v1/conversations/${encodeURIComponent(conversation)}/events`,
          { headers: { accept: "text/event-stream", "last-event-id": seen }, signal: abort.signal }
        )
        if (!response.ok) throw new ApiError(await textOf(response), response.status)
        away_since = undefined
        for await (const event of eventsOf(response, abort)) {
          if (event.id !== undefined) seen = event.id
          yield event
        }
      } catch (error) {
        const status = error instanceof ApiError ? (error.status ?? 503) : 503
        if (status !== 503) throw error
        away_since ??= Date.now()
        if (Date.now() - away_since > patience_ms) throw error
      }
      lost("The connection is lost; trying again.")
      await sleep(pause_ms)
    }
  }
}
