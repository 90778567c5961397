/**
 * Decides whether a URL may be fetched, and at which addresses. A name is resolved once, all of its addresses are
 * checked, and only checked addresses are dialled, so that a later answer of the resolver has no effect (DNS
 * rebinding).
 */
import { lookup } from "node:dns/promises"
import { Effect, Result, Schema } from "effect"
import type { AddressRange } from "../../src/network/Address.ts"
import { literalAddress, mayDial, portOf } from "../../src/network/Dialling.ts"

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

/** The system's resolver. */
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
