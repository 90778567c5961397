/**
 * Sends one HTTP request to a URL that may be fetched, and reads its answer within bounds. A name is resolved once, all of its
 * addresses are checked, and only checked addresses are dialled, so that a later answer of the resolver has no effect (DNS
 * rebinding). Redirects are not followed.
 */
import * as http from "node:http"
import * as https from "node:https"
import type { LookupFunction } from "node:net"
import { isIPv6 } from "node:net"
import type { Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { Effect, Result, Schema } from "effect"
import type { AddressRange } from "../../src/network/Address.ts"
import { literalAddress, mayDial, portOf } from "../../src/network/Address.ts"
import { lookup } from "node:dns/promises"

const charset = /charset=["']?([\w-]{1,40})/i
const known = new Set(["utf-8", "utf8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16le"])

/** Decodes a body; UTF-8 where no character set is named, or one that is not known here. A character that was cut in two is left out. */
export const answerText = (body: Uint8Array, content_type: string): string => {
  const named = charset.exec(content_type)?.[1]?.toLowerCase() ?? "utf-8"
  const decoder = new TextDecoder(known.has(named) ? named : "utf-8")
  return decoder.decode(body, { stream: true })
}

/** Why a fetch failed. `message` is a sentence without addresses and without text from the server. */
export class FetchError extends Schema.TaggedError<FetchError>()("FetchError", {
  reason: Schema.Literals([
    "url",
    "method",
    "headers",
    "host",
    "port",
    "address",
    "unresolved",
    "redirect",
    "encoding",
    "size",
    "network",
    "timeout"
  ]),
  message: Schema.String,
  /** True = no connection was made, so nothing was sent. Absent = something may have been sent. */
  unsent: Schema.optionalKey(Schema.Literal(true))
}) {}

export const refuse = (reason: FetchError["reason"], message: string): FetchError =>
  new FetchError({ reason, message })

/** The addresses of a host name. A rejection or an empty list means that there are none. */
export type Resolver = (host: string) => Promise<ReadonlyArray<string>>

export const systemResolver: Resolver = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address)

export interface Rules {
  /** The host names that may be reached; `.example.org` stands for the names below it. Undefined = any. */
  readonly hosts: ReadonlyArray<string> | undefined
  readonly ports: ReadonlyArray<number>
  readonly allow: ReadonlyArray<AddressRange>
  /** True = an operator named the host, so it may be private, but not a metadata service. Absent = a model may have chosen it. */
  readonly named?: boolean
  readonly resolve: Resolver
}

export interface Admitted {
  readonly url: URL
  /** The host without brackets: a name, or an address. */
  readonly host: string
  /** The addresses that may be dialled, 1 to 16. */
  readonly addresses: ReadonlyArray<string>
}

const url_max = 8_000
const addresses_max = 16

const isHost = (host: string, hosts: ReadonlyArray<string>): boolean =>
  hosts.some((each) => (each.startsWith(".") ? host.endsWith(each) : host === each))

/** Parses a URL and checks its form: http or https, without credentials, with an allowed host and port. */
const parsed = (text: string, rules: Rules): Result.Result<URL, FetchError> => {
  const url = text.length > url_max ? null : URL.parse(text)
  if (url === null || !/^https?:\/\//i.test(text)) {
    return Result.fail(refuse("url", "this is no absolute http or https URL"))
  }
  if (url.username !== "" || url.password !== "") {
    return Result.fail(refuse("url", "a URL must not hold a user name or a password"))
  }
  const port = portOf(url)
  if (!rules.ports.includes(port)) {
    return Result.fail(refuse("port", `port ${port} is not among those that may be used`))
  }
  const host = url.hostname.replace(/\.$/, "")
  return rules.hosts !== undefined && !isHost(host, rules.hosts)
    ? Result.fail(refuse("host", `${host.slice(0, 253)} is not among the hosts that may be used`))
    : Result.succeed(url)
}

/** Checks a URL and resolves its name once. If one of its addresses may not be dialled, the whole URL is refused. */
export const admit = Effect.fnUntraced(function* (
  text: string,
  rules: Rules
): Effect.fn.Return<Admitted, FetchError> {
  const form = parsed(text, rules)
  if (Result.isFailure(form)) return yield* form.failure
  const url = form.success
  const own = literalAddress(url)
  const addresses =
    own === undefined
      ? yield* Effect.tryPromise({
          try: () => rules.resolve(url.hostname),
          catch: () => refuse("unresolved", "the host could not be resolved")
        })
      : [own]
  if (addresses.length === 0) {
    return yield* refuse("unresolved", "the host could not be resolved")
  }
  if (!addresses.every((address) => mayDial(address, rules))) {
    return yield* refuse(
      "address",
      "the host is not on the public internet, and may not be reached"
    )
  }
  return { url, host: own ?? url.hostname, addresses: addresses.slice(0, addresses_max) }
})

export interface HttpMessage {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** At most `bytes_max` bytes of the body, decoded unless `encoded` is true. */
  readonly body: Uint8Array
  /** True = the answer was longer than `bytes_max`. */
  readonly truncated: boolean
  /** True = the body is not decoded, because its encoding is not supported. */
  readonly encoded: boolean
}

export interface Reading {
  /** The most bytes of the body after decompression. */
  readonly bytes_max: number
  /** Whether a body in an unsupported encoding is returned as it is; otherwise it is a failure. */
  readonly takesEncoded: boolean
}

const header_bytes_max = 32_768

/** A map, because the name comes from outside, and an object has inherited members such as `constructor`. */
const decoders: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress]
])

const headersOf = (message: http.IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(message.headers).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value] as const] : []
    )
  )

/** A lookup that gives only the checked addresses: the name is not resolved again. */
const pinned = (addresses: ReadonlyArray<string>): LookupFunction => {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  const [first] = all
  return (_, options, done) => {
    if (options.all === true || first === undefined) done(null, all)
    else done(null, first.address, first.family)
  }
}

/** The first size of the buffer for an answer, in bytes; it is doubled when the buffer is full. */
const room_bytes_first = 65_536

/** One buffer: a host may send each byte as a chunk of its own, and a list of such chunks takes a few hundred times their length. */
class Gathered {
  readonly #bytes_max: number
  #room = Buffer.alloc(0)
  #length = 0

  constructor(bytes_max: number) {
    this.#bytes_max = bytes_max
  }

  /** Adds a chunk. False if a part of it exceeds the bound and was left out. */
  add(chunk: Buffer): boolean {
    const taken = Math.min(chunk.length, this.#bytes_max - this.#length)
    const needed = this.#length + taken
    if (needed > this.#room.length) {
      const size = Math.max(needed, this.#room.length * 2, room_bytes_first)
      const room = Buffer.allocUnsafe(Math.min(size, this.#bytes_max))
      this.#room.copy(room, 0, 0, this.#length)
      this.#room = room
    }
    chunk.copy(this.#room, this.#length, 0, taken)
    this.#length = needed
    return taken === chunk.length
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }
}

/** Compressed bytes are counted after decompression, so that a decompression bomb ends at the bound. */
const read = (
  method: string,
  message: http.IncomingMessage,
  { bytes_max, takesEncoded }: Reading,
  done: (result: Effect.Effect<HttpAnswer, FetchError>) => void
): void => {
  const [status, headers] = [message.statusCode ?? 0, headersOf(message)]
  // Some servers declare an encoding for an empty body, and no decoder accepts that.
  const isEmpty =
    method === "HEAD" || status === 204 || status === 304 || headers["content-length"] === "0"
  const encoding = isEmpty
    ? "identity"
    : (headers["content-encoding"] ?? "identity").trim().toLowerCase()
  const decoder = decoders.get(encoding)?.()
  const encoded = decoder === undefined && encoding !== "identity" && encoding !== ""
  if (encoded && !takesEncoded) {
    return done(Effect.fail(refuse("encoding", "the answer has an encoding that is not supported")))
  }
  const gathered = new Gathered(bytes_max)
  const end = (truncated: boolean) => {
    decoder?.destroy()
    done(Effect.succeed({ status, headers, body: gathered.bytes, truncated, encoded }))
  }
  if (decoder !== undefined) {
    // Others send no byte of it, and do not say so before.
    let hasBytes = false
    message.once("data", () => (hasBytes = true))
    message.once("end", () => {
      if (!hasBytes) end(false)
    })
  }
  const source = decoder === undefined ? message : message.pipe(decoder)
  source.on("data", (chunk: Buffer) => {
    if (!gathered.add(chunk)) end(true)
  })
  source.on("end", () => end(false))
  const broken = () =>
    done(Effect.fail(refuse("network", "the answer broke off or cannot be read")))
  source.on("error", broken)
  message.on("error", broken)
  message.on("aborted", broken)
}

const silent = refuse("network", "the host did not answer, or not in HTTP")
const unconnected = new FetchError({ reason: "network", message: silent.message, unsent: true })

/** Whether the request failed while its connection was being made. With several addresses, all of them must have failed so. */
const isUnconnected = (error: unknown): boolean =>
  error instanceof AggregateError
    ? error.errors.length > 0 && error.errors.every(isUnconnected)
    : error instanceof Error && "syscall" in error && error.syscall === "connect"

/** Fails with `network`, whose outcome is unknown unless `unsent` is true, or `encoding`. Interrupting it closes the connection. */
export const exchange = (
  { addresses, host, url }: Admitted,
  outgoing: HttpMessage,
  reading: Reading,
  ca: string | undefined
): Effect.Effect<HttpAnswer, FetchError> =>
  Effect.callback<HttpAnswer, FetchError>((resume) => {
    let over = false
    const options: https.RequestOptions = {
      method: outgoing.method,
      host,
      port: portOf(url),
      path: url.pathname + url.search,
      headers: { ...outgoing.headers, host: url.host },
      lookup: pinned(addresses),
      // A new connection: it is shared with no other call, and no proxy of the environment is used.
      agent: false,
      maxHeaderSize: header_bytes_max,
      ...(ca === undefined ? undefined : { ca })
    }
    const request = (url.protocol === "https:" ? https : http).request(options)
    const done = (result: Effect.Effect<HttpAnswer, FetchError>) => {
      if (over) return
      over = true
      resume(result)
      request.destroy()
    }
    // Over TLS, nothing is sent before the other side has shown a trusted certificate.
    let isOpen = url.protocol !== "https:"
    request.on("socket", (socket) => socket.once("secureConnect", () => (isOpen = true)))
    request.on("error", (error) =>
      done(Effect.fail(isUnconnected(error) || !isOpen ? unconnected : silent))
    )
    request.on("response", (message) => {
      // An error that a listener throws would end the process.
      try {
        read(outgoing.method, message, reading, done)
      } catch {
        done(Effect.fail(silent))
      }
    })
    request.on("upgrade", (_, socket) => {
      socket.destroy()
      done(Effect.fail(silent))
    })
    request.end(outgoing.body)
    return Effect.sync(() => {
      over = true
      request.destroy()
    })
  })
