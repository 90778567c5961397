/** Who is signed in: a cookie with a random id, behind which stands a session with the digest of its token. */
import { Clock, Effect, Redacted } from "effect"
import { Digest, Mac, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { ConsoleSessions } from "../../services/ConsoleSessions.ts"
import { Credentials } from "../../services/Credentials.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import type { Tenant } from "../../src/value/Ids.ts"

const cookie_name = "troupe_console"
/** A session ends after 12 hours, or with its token. */
const session_ms = 12 * 3_600_000
/** A link that signs in once is good for an hour. */
const link_ms = 3_600_000

/** An id as it is given out: 32 random bytes in hex. */
const isId = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{64}$/.test(text)

/** In hex. */
export const sha256 = (text: string) =>
  Digest.Digest.use((digest) =>
    Effect.map(digest.digest(Digest.sha256, new TextEncoder().encode(text)), Hex.encode)
  )

const newId = SecureRandom.SecureRandom.use((random) =>
  Effect.map(random.randomBytes(32), Hex.encode)
)

const added = Effect.fnUntraced(function* (
  kind: "link" | "session",
  {
    tenant,
    token_sha256
  }: Pick<Parameters<ConsoleSessions["Service"]["add"]>[1], "tenant" | "token_sha256">
) {
  const id = yield* newId
  const ends_at = (yield* Clock.currentTimeMillis) + (kind === "link" ? link_ms : session_ms)
  const session = { tenant, token_sha256, ends_at }
  yield* Effect.flatMap(sha256(id), (digest) =>
    ConsoleSessions.use((sessions) => sessions.add(digest, session, kind))
  )
  return id
})

/** The path of a link that signs in once with a token of this tenant, behind the console's own path. */
export const signInLink = Effect.fn("Console.signInLink")(function* (
  tenant: Tenant,
  token: Redacted.Redacted
) {
  const code = yield* added("link", { tenant, token_sha256: yield* sha256(Redacted.value(token)) })
  return `/sign-in?code=${code}`
})

/** Whether somebody in between read the request over TLS, or this process did. */
export const isSecure = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean => {
  // Of several proxies the first one is at the browser.
  const [scheme = ""] = (headers["x-forwarded-proto"] ?? "").split(",", 1)
  if (scheme.trim() === "https") return true
  if (source instanceof Request) return source.url.startsWith("https:")
  const socket: unknown = "socket" in source ? source.socket : undefined
  return typeof socket === "object" && socket !== null && "encrypted" in socket
}

const withCookie = (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest,
  {
    maxAge,
    path,
    value
  }: { readonly maxAge: number; readonly path: string; readonly value: string }
) =>
  HttpServerResponse.setCookieUnsafe(response, cookie_name, value, {
    httpOnly: true,
    sameSite: "lax",
    secure: isSecure(request),
    path,
    maxAge
  })

/** The response with a new session of the token in its cookie. */
export const beginSession = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  by: { readonly principal: Principal; readonly token_sha256: string }
) {
  const { principal, token_sha256 } = by
  const value = yield* added("session", { tenant: principal.tenant, token_sha256 })
  return withCookie(response, request, { maxAge: session_ms, path, value })
})

/** The principal of a token that was typed, and the token's digest. */
export const byToken = Effect.fnUntraced(function* (token: Redacted.Redacted) {
  const principal = yield* Credentials.use((credentials) => credentials.verify(token))
  return { principal, token_sha256: yield* sha256(Redacted.value(token)) }
})

const byDigest = (token_sha256: string) =>
  Effect.map(
    Credentials.use((credentials) => credentials.verifyDigest(token_sha256)),
    (principal) => ({ principal, token_sha256 })
  )

/** The same of a link, which is used thereby. Undefined = it was used before, has ended, or is none. */
export const byLink = Effect.fnUntraced(function* (code: string | undefined) {
  if (!isId(code)) return undefined
  const digest = yield* sha256(code)
  const found = yield* ConsoleSessions.use((sessions) => sessions.use(digest))
  return found === undefined ? undefined : yield* byDigest(found.token_sha256)
})

/** Who is signed in, and what the forms of its session have to send. Undefined = nobody. */
export const signedIn = Effect.fnUntraced(function* ({
  cookies
}: HttpServerRequest.HttpServerRequest) {
  const id = cookies[cookie_name]
  if (!isId(id)) return undefined
  const digest = yield* sha256(id)
  const session = yield* ConsoleSessions.use((sessions) => sessions.find(digest))
  if (session === undefined) return undefined
  const found = yield* Effect.catchTag(
    byDigest(session.token_sha256),
    "Unauthorized",
    () => Effect.undefined
  )
  if (found === undefined) return undefined
  return { principal: found.principal, digest, form_key: yield* sha256(`form ${id}`) }
})

/** Ends a session, and takes its cookie away. */
export const endSession = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  digest: string
) {
  yield* ConsoleSessions.use((sessions) => sessions.end(digest))
  return withCookie(response, request, { maxAge: 0, path, value: "" })
})

const encoder = new TextEncoder()

/** Compares in a time that says nothing of where they differ. */
export const isSame = (a: string, b: string): boolean =>
  Mac.timingSafeEqual(encoder.encode(a), encoder.encode(b))

/** Whether a page of this very service sent the request. What is no browser says nothing of it. */
export const isOwnPage = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin"
  const { origin } = headers
  if (origin === undefined) return true
  return URL.canParse(origin) && new URL(origin).host === headers["host"]
}
