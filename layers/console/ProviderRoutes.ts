/** Signing in by an identity provider: there, and back. */
import { Clock, Effect, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { rightRefusal } from "../../src/principal/Rights.ts"
import type { IdentityProvider } from "./IdentityProvider.ts"
import type { Claims } from "./OpenIdOptions.ts"
import { principalOf } from "./OpenIdOptions.ts"
import * as Sessions from "./Sessions.ts"
import type { Page, Surface } from "./SignedPages.ts"
import { pageAt, pathOf, shown, to } from "./SignedPages.ts"

const cookie_name = "troupe_sign_in"
/** How long somebody may take at the provider. */
const sign_in_ms = 600_000

/** A sign-in as its browser has it: when it was begun, an id that nobody else knows, and the page that was asked for first. */
const cookieFor = Effect.fnUntraced(function* (page: string) {
  const at = yield* Clock.currentTimeMillis
  return `${at}.${yield* Sessions.newId}.${Base64Url.encode(page)}`
})

interface Begun {
  readonly cookie: string
  readonly at: number
  readonly page: string
}

const begunIn = ({ cookies }: HttpServerRequest.HttpServerRequest): Begun | undefined => {
  const cookie = cookies[cookie_name] ?? ""
  const [, at, page = ""] = /^(\d{13})\.[0-9a-f]{64}\.([\w-]{0,1000})$/.exec(cookie) ?? []
  if (at === undefined) return undefined
  const read = Result.getOrElse(Base64Url.decodeString(page), () => "")
  return { cookie, at: Number(at), page: read }
}

/** What goes to the provider. None says anything of another one, and another time or page in the cookie makes others of them. */
const secretsOf = (cookie: string) =>
  Effect.all({
    state: Sessions.sha256(`state ${cookie}`),
    nonce: Sessions.sha256(`nonce ${cookie}`),
    verifier: Sessions.sha256(`verifier ${cookie}`)
  })

/** The address of the console for browsers. */
export const addressOf = (
  { url }: IdentityProvider,
  request: HttpServerRequest.HttpServerRequest,
  path: string
): string => url?.replace(/\/$/, "") ?? `${Sessions.originOf(request)}${path}`

const callbackOf = (...of: Parameters<typeof addressOf>) => `${addressOf(...of)}/callback`

const remembered = (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  value: string
) => {
  const maxAge = value === "" ? 0 : sign_in_ms
  return Sessions.withCookie(response, request, { name: cookie_name, maxAge, path, value })
}

const queryOf = ({ url }: HttpServerRequest.HttpServerRequest) => new URL(url, "http://console")

const begin = (provider: IdentityProvider) => (surface: Surface) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const path = pathOf(surface, request)
    const page = queryOf(request).searchParams.get("to") ?? ""
    const cookie = yield* cookieFor(pageAt(path, page) === path ? "" : page)
    const callback = callbackOf(provider, request, path)
    const address = yield* provider.begin(yield* secretsOf(cookie), callback)
    return remembered(to(address), request, path, cookie)
  }).pipe(Effect.catch((error: unknown) => shown(surface, error)))

const notBegun = {
  problem: {
    status: 400,
    title: "Sign in again",
    detail:
      "This sign-in was begun in another browser or more than 10 minutes ago, or it was used before."
  }
}

const unknownHere = (name: string) => ({
  problem: {
    status: 403,
    title: "Not for you",
    detail: `${name} knows you, and this console does not. Ask those who run it.`
  }
})

/** The principal of somebody with these claims, who may look into runs. */
const admitted = Effect.fnUntraced(function* (
  { issuer, name, principal }: IdentityProvider,
  claims: Claims
) {
  // Their values are the person's own.
  const noted = { issuer, claims: Object.keys(claims).join(" ") }
  const found = yield* Effect.tapError(principalOf(principal, claims), ({ message }) =>
    Effect.logWarning("somebody whom an identity provider signed in is no principal", {
      ...noted,
      reason: message
    })
  ).pipe(Effect.mapError(() => unknownHere(name)))
  if (found === undefined) return yield* Effect.fail(unknownHere(name))
  if (rightRefusal(found, "inspect") === undefined) return found
  yield* Effect.logWarning("somebody whom an identity provider signed in has no role here", noted)
  const detail = `You are ${found.id} at ${name}, and nothing there lets you look into runs here. Ask those who run this console.`
  return yield* Effect.fail({ problem: { status: 403, title: "Not for you", detail } })
})

const finished = Effect.fnUntraced(function* (provider: IdentityProvider, surface: Surface) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const path = pathOf(surface, request)
  const begun = begunIn(request)
  if (begun === undefined) return yield* Effect.fail(notBegun)
  const { search, searchParams } = queryOf(request)
  const secrets = yield* secretsOf(begun.cookie)
  const isLate = (yield* Clock.currentTimeMillis) >= begun.at + sign_in_ms
  if (isLate || !Sessions.isSame(searchParams.get("state") ?? "", secrets.state)) {
    return yield* Effect.fail(notBegun)
  }
  yield* surface.signIn
  const callback = callbackOf(provider, request, path)
  const { claims, id_token } = yield* provider.finish(secrets, callback, search)
  const principal = yield* admitted(provider, claims)
  yield* surface.admit(principal)
  return yield* Sessions.beginProvided(to(pageAt(path, begun.page)), request, path, {
    ...provider,
    principal,
    id_token
  })
})

const callback = (provider: IdentityProvider) => (surface: Surface) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const answer = yield* Effect.catch(finished(provider, surface), (error: unknown) =>
      shown(surface, error)
    )
    // Whatever has become of it, it is over.
    return remembered(answer, request, pathOf(surface, request), "")
  })

/** The routes of a provider. */
export const providerPages = (provider: IdentityProvider): ReadonlyArray<Page> => [
  { method: "GET", path: "/console/sign-in/provider", answer: begin(provider) },
  { method: "GET", path: "/console/callback", answer: callback(provider) }
]
