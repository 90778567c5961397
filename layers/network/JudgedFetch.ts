/**
 * A fetch that dials only checked addresses: the connection is made to the addresses that were checked, so that a later
 * answer of the resolver has no effect. Redirects are not followed, and no proxy of the environment is used.
 */
import { lookup } from "node:dns"
import type { LookupFunction } from "node:net"
import { Agent, fetch as dial } from "undici"
import type { DialAllowance } from "../../src/network/Address.ts"
import { literalAddress, mayDial } from "../../src/network/Address.ts"

const refused = (): Error => new Error("the host is not at an address that may be reached")

const judged =
  (allowance: DialAllowance): LookupFunction =>
  (host, options, done) =>
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, [])
      return found.length > 0 && found.every(({ address }) => mayDial(address, allowance))
        ? done(null, found)
        : done(refused(), [])
    })

/** Fails like `fetch` does where the host may not be reached, and at a redirect unless `manual` is asked for. */
export const judgedFetch = (allowance: DialAllowance): typeof globalThis.fetch => {
  const dispatcher = new Agent({ connect: { lookup: judged(allowance) } })
  // One and the same fetch as Node's own, of another release: the types differ in what they leave out.
  const send = dial as unknown as (input: unknown, init: unknown) => Promise<Response>
  return (input, init) => {
    const address = literalAddress(new URL(input instanceof Request ? input.url : input))
    return address !== undefined && !mayDial(address, allowance)
      ? Promise.reject(refused())
      : send(input, {
          ...init,
          redirect: init?.redirect === "manual" ? "manual" : "error",
          dispatcher
        })
  }
}
