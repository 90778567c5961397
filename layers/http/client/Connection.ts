/**
 * Requests to one service: with its token and to no other address, within bounds, and again where the connection or the service
 * was away and a second request does nothing twice.
 */
import { answerError, TroupeError, unreadable, valueOf, wrongInput } from "./TroupeError.ts"

/** How a client finds its service, and how patient it is. */
export interface ClientOptions {
  /** The URL of the API, such as `https://shop.example/agents`. In a page it may begin at the page's own host: `/agents`. */
  readonly url: string
  /**
   * A token of the service, or what gives one, which is called for each request, and once more where a token is refused (401): it
   * may keep one until it expires. Nobody but the service at `url` is sent it.
   */
  readonly token: string | (() => string | Promise<string>)
  /** More headers of each request, such as `on-behalf-of`. Absent = none. */
  readonly headers?: Readonly<Record<string, string>>
  /** What sends requests. Absent = the `fetch` of the page or of Node. */
  readonly fetch?: typeof globalThis.fetch
  /** How long an answer may take to begin, in ms. Absent = 60,000, and of an upload 600,000. */
  readonly timeout_ms?: number
  /** How long an answer that has begun may be silent, in ms: longer than the service's `heartbeat_ms`. Absent = 45,000. */
  readonly silence_ms?: number
  /**
   * How often a request is repeated, and a stream tried again without success. The waits begin at half a second and double up to
   * ten; a `Retry-After` of up to 30 s counts instead. Absent = 8, which is about half a minute.
   */
  readonly retries_max?: number
  /** The most bytes of an answer that is not streamed. Absent = 67,108,864. */
  readonly answer_bytes_max?: number
}

/** Options of one call. */
export interface CallOptions {
  /** Aborting it ends the call, which rejects with the signal's reason. What was sent may have been done all the same. */
  readonly signal?: AbortSignal | undefined
  /** In place of that of the client. */
  readonly timeout_ms?: number | undefined
}

/** A request, but for who sends it. */
export interface Ask {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Blob | Uint8Array<ArrayBuffer> | undefined
  /** A second one would do it again: it is repeated only where the first one was refused for its number. */
  readonly isAnew?: boolean | undefined
}

/** Of an answer that says what is wrong. */
const problem_bytes_max = 1_048_576
const wait_first_ms = 500
const wait_most_ms = 10_000
const retry_after_most_ms = 30_000

const lost = (cause: unknown): TroupeError =>
  new TroupeError("ConnectionLost", "The connection was lost before the answer was whole.", {
    retryable: true,
    cause
  })

const late = (): TroupeError =>
  new TroupeError("TimedOut", "The service did not answer in time.", { retryable: true })

const redirected = ({ status }: Response): TroupeError =>
  new TroupeError("Redirected", "The address leads elsewhere, where no token is sent to.", {
    ...(status === 0 ? undefined : { status })
  })

/** The address of the API without a slash at its end. Throws for what is none. */
const baseOf = (given: string): string => {
  const { location } = globalThis as { readonly location?: { readonly href: string } }
  if (!URL.canParse(given, location?.href)) throw wrongInput("url: expected the URL of the API")
  const { hash, href, password, protocol, search, username } = new URL(given, location?.href)
  if (!/^https?:$/.test(protocol)) throw wrongInput("url: expected one with http or https")
  if (`${username}${password}${search}${hash}` !== "") {
    throw wrongInput("url: expected one without a user, a query and a fragment")
  }
  return href.replace(/\/+$/, "")
}

const bounded = (name: string, given: number | undefined, usual: number): number => {
  const value = given ?? usual
  if (Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31) return value
  throw wrongInput(`${name}: expected a whole number from 0 to 2,147,483,647`)
}

/** A part of a path. Browsers take dots for steps in it, so that they would be another path. */
export const segment = (name: string, value: unknown): string => {
  if (typeof value === "string" && !/^\.{0,2}$/.test(value) && value.isWellFormed()) {
    return encodeURIComponent(value)
  }
  throw wrongInput(`${name}: expected an id`)
}

/** The body of a request. Throws for what JSON cannot say. */
export const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw wrongInput("expected an input that JSON can say", cause)
  }
}

const queryOf = (query: Ask["query"] = {}): string => {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? "" : `?${given.toString()}`
}

/** A later one of these is in place of an earlier one. */
const headersOf = (
  ...all: ReadonlyArray<Readonly<Record<string, string>> | undefined>
): Headers => {
  const headers = new Headers()
  try {
    for (const [name, value] of all.flatMap((some) => Object.entries(some ?? {}))) {
      headers.set(name, value)
    }
    return headers
  } catch (cause) {
    throw wrongInput("headers: expected names and values of HTTP headers", cause)
  }
}

/** A request that is open: what ends it, and why it failed. */
export class Exchange {
  readonly #abort = new AbortController()
  /** That of who called. */
  readonly given: AbortSignal | undefined
  readonly #stop = () => this.#abort.abort()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(given: AbortSignal | undefined) {
    given?.throwIfAborted()
    this.given = given
    given?.addEventListener("abort", this.#stop)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** It ends unless this is called again within so many ms. */
  within(wait_ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#abort.abort(late()), wait_ms)
  }

  /** Nothing is waited for until the next `within`. Throws if who called has ended it, though there is more that has come. */
  rest(): void {
    clearTimeout(this.#timer)
    this.given?.throwIfAborted()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.given?.removeEventListener("abort", this.#stop)
    this.#abort.abort()
  }

  /** What a failure is for who called: the reason of its signal, or a typed error. */
  failure(error: unknown): unknown {
    if (this.given?.aborted === true) return this.given.reason
    if (error instanceof TroupeError) return error
    const { reason } = this.signal as { readonly reason?: unknown }
    return reason instanceof TroupeError ? reason : lost(error)
  }
}

const sleep = (wait_ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, wait_ms)
    if (signal?.aborted === true) stop()
    else signal?.addEventListener("abort", stop, { once: true })
  })

/** How it went with one call or stream so far. */
export class Attempts {
  /** How often it was sent. */
  sent = 0
  /** How often it failed since it last went on. */
  failed = 0
  isRenewed = false

  wentOn(): void {
    this.failed = 0
    this.isRenewed = false
  }
}

/** A request with its token. */
interface Prepared {
  readonly url: string
  readonly init: RequestInit
  readonly timeout_ms: number
}

export class Connection {
  readonly #base: string
  readonly #options: ClientOptions
  readonly #silence_ms: number
  readonly #timeout_ms: number
  readonly #retries_max: number
  readonly #bytes_max: number

  /** Throws `InvalidInput` for options that are none. */
  constructor(options: ClientOptions) {
    this.#base = baseOf(options.url)
    this.#options = options
    this.#silence_ms = bounded("silence_ms", options.silence_ms, 45_000)
    this.#timeout_ms = bounded("timeout_ms", options.timeout_ms, 60_000)
    this.#retries_max = bounded("retries_max", options.retries_max, 8)
    this.#bytes_max = bounded("answer_bytes_max", options.answer_bytes_max, 67_108_864)
  }

  /** Fails with what the token's function fails with. */
  async prepare(ask: Ask, timeout_ms?: number): Promise<Prepared> {
    const { headers: more, token: given } = this.#options
    const { body, headers: own, method, path, query } = ask
    const token = typeof given === "function" ? await given() : given
    if (typeof token !== "string" || !/^[!-~]+$/.test(token)) {
      throw wrongInput("token: expected a text of printable characters without spaces")
    }
    const url = this.#base + path + queryOf(query)
    const headers = headersOf(more, own, { authorization: `Bearer ${token}` })
    return {
      url,
      init: {
        method,
        headers,
        ...(body === undefined ? undefined : { body }),
        cache: "no-store",
        credentials: "omit",
        redirect: "manual"
      },
      timeout_ms: bounded("timeout_ms", timeout_ms, this.#timeout_ms)
    }
  }

  /** Sends a request once; the answer when it has begun, and is a success. */
  async open({ init, timeout_ms, url }: Prepared, exchange: Exchange): Promise<Response> {
    exchange.within(timeout_ms)
    const { fetch = globalThis.fetch } = this.#options
    const response = await fetch(url, { ...init, signal: exchange.signal })
    const { status, type } = response
    if (type === "opaqueredirect" || (status >= 300 && status < 400)) throw redirected(response)
    if (response.ok) return response
    const body = await this.#body(response, exchange, problem_bytes_max)
    throw answerError(response, await body.text())
  }

  /** The pieces of an answer, as they come. */
  async *pieces({ body }: Response, exchange: Exchange): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    if (body === null) return
    const reader = body.getReader()
    for (;;) {
      exchange.within(this.#silence_ms)
      const { done, value } = await reader.read()
      if (done) return
      yield value as Uint8Array<ArrayBuffer>
    }
  }

  async #body(response: Response, exchange: Exchange, bytes_max: number): Promise<Blob> {
    const pieces: Array<Uint8Array<ArrayBuffer>> = []
    let bytes = 0
    for await (const piece of this.pieces(response, exchange)) {
      bytes += piece.length
      if (bytes > bytes_max) {
        throw new TroupeError("AnswerTooLarge", `The answer has more than ${bytes_max} bytes.`)
      }
      pieces.push(piece)
    }
    return new Blob(pieces, { type: response.headers.get("content-type") ?? "" })
  }

  /** How long to wait before the next try; undefined = there is none. */
  #waitAfter(error: TroupeError, attempts: Attempts, isAnew: boolean): number | undefined {
    const { retry_after_ms: asked = 0, retryable, status } = error
    if (status === 401 && typeof this.#options.token === "function" && !attempts.isRenewed) {
      attempts.isRenewed = true
      return 0
    }
    if (!retryable || asked > retry_after_most_ms || (isAnew && status !== 429)) return undefined
    if (++attempts.failed > this.#retries_max) return undefined
    // Many clients that lost one service do not come back at once.
    const most_ms = Math.min(wait_most_ms, wait_first_ms * 2 ** (attempts.failed - 1))
    return asked + most_ms * (0.5 + Math.random() / 2)
  }

  /** Ends a try that failed, and waits until the next one is due. Fails if there is none. */
  async again(
    failure: unknown,
    exchange: Exchange,
    attempts: Attempts,
    isAnew = false
  ): Promise<void> {
    const error = exchange.failure(failure)
    exchange.close()
    if (!(error instanceof TroupeError)) throw error
    error.attempts = attempts.sent
    const wait_ms = this.#waitAfter(error, attempts, isAnew)
    if (wait_ms === undefined) throw error
    await sleep(wait_ms, exchange.given)
  }

  /** The body of an answer. */
  async whole(ask: Ask, { signal, timeout_ms }: CallOptions = {}): Promise<Blob> {
    const attempts = new Attempts()
    for (;;) {
      const prepared = await this.prepare(ask, timeout_ms)
      const exchange = new Exchange(signal)
      attempts.sent++
      try {
        return await this.#body(await this.open(prepared, exchange), exchange, this.#bytes_max)
      } catch (error) {
        await this.again(error, exchange, attempts, ask.isAnew)
      } finally {
        exchange.close()
      }
    }
  }

  /** The value of an answer in JSON; undefined if it has no body. */
  async json(ask: Ask, options?: CallOptions): Promise<unknown> {
    const text = await (await this.whole(ask, options)).text()
    if (text === "") return undefined
    const value = valueOf(text)
    if (value === undefined) throw unreadable("its answer is no JSON")
    return value
  }
}
