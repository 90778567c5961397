/** How often somebody may try to sign in, by the address from which they come: nobody is known before. */
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { isAddress, isGlobalAddress } from "../../../src/network/Address.ts"
import { refusedUntil } from "./Problems.ts"
import { TokenBuckets } from "./TokenBuckets.ts"

/** Tries of one client in a minute. */
const client_per_minute = 30
/** Those of all clients of one proxy, and of those whose address is not known. */
const shared_per_minute = 300

/** The network of a client: one with IPv6 has as many addresses as it likes, 64 bits of them. */
const networkOf = (address: string): string => {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, "")
  if (!bare.includes(":")) return bare
  const [before = "", after] = bare.toLowerCase().split("::")
  const head = before.split(":")
  const tail = after === undefined || after === "" ? [] : after.split(":")
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  return [...head, ...Array<string>(zeros).fill("0"), ...tail].slice(0, 4).join(":")
}

/**
 * Whom a try counts for: a peer on the internet is the client. One of this network may be a proxy, which says last in
 * `X-Forwarded-For` for whom it asks; as it may be a client that says so, its own tries are counted too.
 */
const keysOf = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest) => {
  const peer = Option.getOrElse(remoteAddress, () => "")
  const own = networkOf(peer)
  if (isAddress(peer) && isGlobalAddress(peer)) return [[own, client_per_minute]] as const
  const said = headers["x-forwarded-for"]?.split(",").at(-1)?.trim() ?? ""
  if (isAddress(said)) {
    return [
      [`${own} for ${networkOf(said)}`, client_per_minute],
      [own, shared_per_minute]
    ] as const
  }
  return [[own, peer === "" ? shared_per_minute : client_per_minute]] as const
}

/** Counts a try. Fails with 429 and the time to wait. */
export const makeSignInTries = () => {
  const buckets = new Map(
    [client_per_minute, shared_per_minute].map((each) => [each, new TokenBuckets(each)])
  )
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      for (const [key, per_minute] of keysOf(request)) {
        const wait_ms = buckets.get(per_minute)?.take(key, now) ?? 0
        if (wait_ms === 0) continue
        const seconds = Math.ceil(wait_ms / 1_000)
        return refusedUntil(
          seconds,
          "too-many-sign-ins",
          "Too many tries to sign in",
          `At most ${per_minute} a minute are taken from one address. Try again in ${seconds} s.`
        )
      }
      return Effect.void
    })
  )
}
