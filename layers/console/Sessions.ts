/** Who is signed in: a cookie with a random id, behind which stands a session with the digest of its token, or with a principal. */
import { Clock, Effect, Redacted } from "effect"
import { Aead, Digest, Mac, SecureRandom } from "effect/crypto"
import { Base64, Hex } from "effect/encoding"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import { ConsoleSessions } from "../../services/ConsoleSessions.ts"
import type { ConsoleSession } from "../../services/ConsoleSessions.ts"
import { Credentials } from "../../services/Credentials.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { Tenant } from "../../src/value/Ids.ts"

const cookie_name = "troupe_console"
/** A session ends after 12 hours, or with its token. */
const session_ms = 12 * 3_600_000
/** A link that signs in once is good for an hour. */
const link_ms = 3_600_000

/** 32 random bytes in hex. */
const isId = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{64}$/.test(text)

/** In hex. */
export const sha256 = (text: string) =>
  Digest.Digest.use((digest) =>
    Effect.map(digest.digest(Digest.sha256, new TextEncoder().encode(text)), Hex.encode)
  )

/** An id as it is given out. */
export const newId = SecureRandom.SecureRandom.use((random) =>
  Effect.map(random.randomBytes(32), Hex.encode)
)

const added = Effect.fnUntraced(function* (
  kind: "link" | "session",
  of: Omit<ConsoleSession, "ends_at">,
  holds_ms: number,
  given?: string
) {
  const id = given ?? (yield* newId)
  const session = { ...of, ends_at: (yield* Clock.currentTimeMillis) + holds_ms }
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
  const of = { tenant, token_sha256: yield* sha256(Redacted.value(token)) }
  const code = yield* added("link", of, link_ms)
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

/** Scheme and host of the service, as its client has them. */
export const originOf = (request: HttpServerRequest.HttpServerRequest): string =>
  `${isSecure(request) ? "https" : "http"}://${request.headers["host"] ?? "localhost"}`

export const withCookie = (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest,
  {
    maxAge,
    name = cookie_name,
    path,
    value
  }: {
    readonly maxAge: number
    /** Absent = that of sessions. */
    readonly name?: string
    readonly path: string
    readonly value: string
  }
) =>
  HttpServerResponse.setCookieUnsafe(response, name, value, {
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
  const of = { tenant: principal.tenant, token_sha256 }
  const value = yield* added("session", of, session_ms)
  return withCookie(response, request, { maxAge: session_ms, path, value })
})

/** No key is used twice. */
const nonce = new Uint8Array(Aead.aes256Gcm.nonceLength)

/** What only the browser of a session opens: a copy of the database has no key. */
const sealedBy = Effect.fnUntraced(function* (id: string) {
  const digest = yield* Digest.Digest
  const bytes = yield* digest.digest(Digest.sha256, new TextEncoder().encode(`seal ${id}`))
  const key = yield* Aead.key(Aead.aes256Gcm, bytes)
  const aead = yield* Effect.provide(Aead.Aead, Aead.layerWebCrypto)
  return {
    seal: (text: string) =>
      Effect.map(aead.encrypt(key, new TextEncoder().encode(text), { nonce }), Base64.encode),
    open: (sealed: string) =>
      Effect.flatMap(Effect.fromResult(Base64.decode(sealed)), (bytes) =>
        Effect.map(aead.decrypt(key, bytes, { nonce }), (text) => new TextDecoder().decode(text))
      )
  }
})

/** The ID token with which the session of a request began; undefined = none is kept. */
export const idTokenOf = Effect.fnUntraced(function* ({
  cookies
}: HttpServerRequest.HttpServerRequest) {
  const id = cookies[cookie_name]
  if (!isId(id)) return undefined
  const digest = yield* sha256(id)
  const session = yield* ConsoleSessions.use((sessions) => sessions.find(digest, "session"))
  const sealed = session?.provided?.id_token
  if (sealed === undefined) return undefined
  return yield* Effect.orElseSucceed(
    Effect.flatMap(sealedBy(id), ({ open }) => open(sealed)),
    () => undefined
  )
})

/** The same of somebody whom an identity provider signed in. There is no token, so the session has the principal. */
export const beginProvided = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  by: {
    readonly issuer: string
    readonly principal: Principal
    readonly session_ms?: number
    readonly id_token: string | undefined
  }
) {
  const { id_token, issuer, session_ms: holds_ms = session_ms } = by
  const { id, roles, tenant } = by.principal
  // In place of a token's, so that one person has no more sessions than one token.
  const token_sha256 = yield* sha256(JSON.stringify([issuer, tenant, id]))
  const session = yield* newId
  const { seal } = yield* Effect.orDie(sealedBy(session))
  const sealed = id_token === undefined ? undefined : yield* Effect.orDie(seal(id_token))
  const provided = { issuer, id, roles, ...defined({ id_token: sealed }) }
  const value = yield* added("session", { tenant, token_sha256, provided }, holds_ms, session)
  return withCookie(response, request, { maxAge: holds_ms, path, value })
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

/** Whether a link still begins a session. Changes nothing. */
export const isLink = Effect.fnUntraced(function* (code: string) {
  if (!isId(code)) return false
  const digest = yield* sha256(code)
  const found = yield* ConsoleSessions.use((sessions) => sessions.find(digest, "link"))
  return found !== undefined
})

/** The same of a link, which is used thereby. Undefined = it was used before, has ended, or is none. */
export const byLink = Effect.fnUntraced(function* (code: string | undefined) {
  if (!isId(code)) return undefined
  const digest = yield* sha256(code)
  const found = yield* ConsoleSessions.use((sessions) => sessions.use(digest))
  return found === undefined ? undefined : yield* byDigest(found.token_sha256)
})

/** Whom a session stands for. Undefined = its token is not in force any more, or its provider is not the one of this console. */
const principalOf = Effect.fnUntraced(function* (
  { provided, tenant, token_sha256 }: ConsoleSession,
  issuer: string | undefined
) {
  if (provided === undefined) return (yield* byDigest(token_sha256)).principal
  if (provided.issuer !== issuer) return undefined
  const { id, roles } = provided
  return yield* Entries.principal({ id, tenant, roles }, "principal")
})

/** Who is signed in, and what the forms of its session have to send. Undefined = nobody. `issuer`: the identity provider, if any. */
export const signedIn = Effect.fnUntraced(function* (
  { cookies }: HttpServerRequest.HttpServerRequest,
  issuer: string | undefined
) {
  const id = cookies[cookie_name]
  if (!isId(id)) return undefined
  const digest = yield* sha256(id)
  const session = yield* ConsoleSessions.use((sessions) => sessions.find(digest, "session"))
  if (session === undefined) return undefined
  const principal = yield* Effect.catchTags(principalOf(session, issuer), {
    Unauthorized: () => Effect.undefined,
    // A role that the service does not have any more.
    InvalidInput: () => Effect.undefined
  })
  if (principal === undefined) return undefined
  const form_key = yield* sha256(`form ${id}`)
  return { principal, digest, form_key, isProvided: session.provided !== undefined }
})

/** Ends a session, and then takes its cookie away from the browser. */
export const endSession = Effect.fnUntraced(function* <E, R>(
  response: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  digest: string
) {
  yield* ConsoleSessions.use((sessions) => sessions.end(digest))
  return withCookie(yield* response, request, { maxAge: 0, path, value: "" })
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
