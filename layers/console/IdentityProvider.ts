/**
 * An identity provider that speaks OpenID Connect, by `openid-client`: the authorization code flow with PKCE. Its configuration is
 * read when somebody signs in, so that a service starts without it.
 */
import { Cache, Clock, Effect, Exit, Option, Redacted, Semaphore } from "effect"
import type * as Client from "openid-client"
import { cutText } from "../../src/value/CutText.ts"
import type { Claims, OpenIdOptions } from "./OpenIdOptions.ts"
import { isSafeAddress } from "./OpenIdOptions.ts"
import type { Trouble } from "./SignInPages.ts"

/** How long each request to the provider may take, and its answer. */
const timeout_s = 10
const answer_bytes_max = 1_000_000
/** What a provider says of itself is asked again after an hour, and after a failure in five seconds. */
const configuration_ms = 3_600_000
const failure_ms = 5_000
/** Anybody may come with a code: so many are looked at at the same time. */
const exchanges_max = 16
const log_pause_ms = 10_000
const said_units_max = 300
/** Servers take addresses of some 8 kB. */
const hint_units_max = 6_000

/** What only the browser knows that began a sign-in: each is derived from what its cookie has. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Why a sign-in does not go on: for the person, and in `reason` for the log. Absent = it is no fault. */
interface Failed {
  readonly problem: Trouble
  readonly reason?: string
}

/** What a provider says of a person. */
export interface Identity {
  readonly claims: Claims
  /** The ID token. Undefined = it is too long for the address at which somebody signs out. */
  readonly id_token: string | undefined
}

/** An identity provider, and what is said of those who sign in there. */
export interface IdentityProvider extends Pick<
  OpenIdOptions,
  "issuer" | "principal" | "session_ms" | "url"
> {
  /** What people call it. */
  readonly name: string
  /** The address at which somebody signs in there. */
  readonly begin: (secrets: SignInSecrets, redirect_uri: string) => Effect.Effect<string, Failed>
  /** What it says of the person who came back with this query. A code is used thereby. */
  readonly finish: (
    secrets: SignInSecrets,
    redirect_uri: string,
    query: string
  ) => Effect.Effect<Identity, Failed>
  /**
   * The address at which somebody signs out there, and comes back. By the ID token the provider knows whom it is about. Undefined =
   * it has none, or does not answer.
   */
  readonly end: (back: string, id_token: string | undefined) => Effect.Effect<string | undefined>
}

/** The provider's answers, up to a bound, and from nowhere that others read along. */
const boundedFetch: Client.CustomFetch = async (url, options) => {
  if (!isSafeAddress(new URL(url))) throw new Error("it names an address without TLS")
  const answer = await fetch(url, options as RequestInit)
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > answer_bytes_max) throw new Error("its answer is too large")
    chunks.push(chunk)
  }
  const { headers, status } = answer
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { headers, status })
}

/** An error with its causes, as far as it says anything. Neither has a token or a code. */
const reasonOf = (error: unknown): string => {
  const said: Array<string> = []
  for (let each = error; each instanceof Error && said.length < 4; each = each.cause) {
    const code = "code" in each && typeof each.code === "string" ? ` (${each.code})` : ""
    said.push(each.message + code)
  }
  return cutText(said.join(": "), said_units_max)
}

/** Logs why nobody was signed in, once in a while for the same reason: anybody may come with a code that is none. */
const makeLog = (issuer: string) => {
  let last: { readonly reason: string; readonly at: number } | undefined
  return Effect.fnUntraced(function* ({ reason }: Failed) {
    const at = yield* Clock.currentTimeMillis
    if (reason === undefined) return
    if (reason === last?.reason && at < last.at + log_pause_ms) return
    last = { reason, at }
    yield* Effect.logWarning("an identity provider signed nobody in", { issuer, reason })
  })
}

const authenticationOf = (
  client: typeof Client,
  { client_secret, token_endpoint_auth_method = "client_secret_basic" }: OpenIdOptions
): Client.ClientAuth => {
  if (client_secret === undefined) return client.None()
  const secret = Redacted.isRedacted(client_secret) ? Redacted.value(client_secret) : client_secret
  return token_endpoint_auth_method === "client_secret_basic"
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret)
}

const discover = async (client: typeof Client, options: OpenIdOptions) => {
  const { client_id, issuer } = options
  const server = new URL(issuer)
  const execute = [client.enableNonRepudiationChecks]
  if (server.protocol === "http:") execute.push(client.allowInsecureRequests)
  const found = await client.discovery(server, client_id, {}, authenticationOf(client, options), {
    [client.customFetch]: boundedFetch,
    execute,
    timeout: timeout_s
  })
  // One of many tenants of a provider would let any of them in.
  if (new URL(found.serverMetadata().issuer).href !== server.href) {
    throw new Error("it says that it is another issuer")
  }
  // Both fail for addresses where nobody can sign in or out.
  client.buildAuthorizationUrl(found, {})
  if (found.serverMetadata().end_session_endpoint !== undefined) client.buildEndSessionUrl(found)
  return found
}

/** What the provider says, with the claims of its userinfo endpoint, where most have the groups. */
const exchanged = async (
  client: typeof Client,
  configuration: Client.Configuration,
  { nonce, state, verifier }: SignInSecrets,
  answer: URL
): Promise<Identity> => {
  const tokens = await client.authorizationCodeGrant(configuration, answer, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error("it gave no ID token")
  const id_token = (tokens.id_token ?? "").length > hint_units_max ? undefined : tokens.id_token
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return { claims, id_token }
  const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
  return { claims: { ...more, ...claims }, id_token }
}

/** What people are told at this provider's name. Everything that it says itself may be the words of somebody else. */
const failuresOf = (client: typeof Client, name: string) => {
  const away = (error: unknown): Failed => ({
    reason: reasonOf(error),
    problem: {
      status: 503,
      title: `${name} does not answer`,
      detail:
        "Its answer did not come, or is not what it should be. Try again, or sign in with a token."
    }
  })
  const refused = (error: unknown): Failed => {
    const title = `${name} signed nobody in`
    if (error instanceof client.AuthorizationResponseError) {
      const said = [error.error, error.error_description].filter((each) => each !== undefined)
      const detail = `It says: ${cutText(said.join(": "), said_units_max)}`
      return { problem: { status: 403, title, detail } }
    }
    if (!(error instanceof client.ResponseBodyError)) return away(error)
    const detail = "It did not take this sign-in. Begin again."
    return { reason: `${reasonOf(error)}: ${error.error}`, problem: { status: 401, title, detail } }
  }
  return { away, refused }
}

const busy: Failed = {
  problem: {
    status: 503,
    title: "Too many sign-ins",
    detail: "Too many people sign in at the same time. Try again in a moment."
  }
}

/** A provider, by its client. It is asked for nothing before somebody signs in. */
export const makeIdentityProvider = Effect.fnUntraced(function* (
  client: typeof Client,
  options: OpenIdOptions
) {
  const { issuer, name = new URL(issuer).host, scope = "openid profile email" } = options
  const { away, refused } = failuresOf(client, name)
  const log = makeLog(issuer)
  const asked = <A>(ask: () => Promise<A>, failedBy: (error: unknown) => Failed) =>
    Effect.tapError(Effect.tryPromise({ try: ask, catch: failedBy }), log)
  const known = yield* Cache.makeWith<"configuration", Client.Configuration, Failed>(
    () => asked(() => discover(client, options), away),
    {
      capacity: 1,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? configuration_ms : failure_ms)
    }
  )
  const configuration = Cache.get(known, "configuration")
  const exchanges = yield* Semaphore.make(exchanges_max)
  const provider: IdentityProvider = {
    ...options,
    name,
    begin: Effect.fnUntraced(function* ({ nonce, state, verifier }, redirect_uri) {
      const found = yield* configuration
      const challenge = yield* Effect.promise(() => client.calculatePKCECodeChallenge(verifier))
      const query = {
        redirect_uri,
        scope,
        state,
        nonce,
        code_challenge: challenge,
        code_challenge_method: "S256"
      }
      return client.buildAuthorizationUrl(found, query).href
    }),
    finish: Effect.fnUntraced(function* (secrets, redirect_uri, query) {
      const found = yield* configuration
      const answer = new URL(redirect_uri)
      answer.search = query
      const identity = yield* exchanges.withPermitsIfAvailable(1)(
        asked(() => exchanged(client, found, secrets, answer), refused)
      )
      return Option.isNone(identity) ? yield* Effect.fail(busy) : identity.value
    }),
    end: (back, id_token) =>
      Effect.match(configuration, {
        onFailure: () => undefined,
        onSuccess: (found) =>
          found.serverMetadata().end_session_endpoint === undefined
            ? undefined
            : client.buildEndSessionUrl(found, {
                post_logout_redirect_uri: back,
                ...(id_token === undefined ? undefined : { id_token_hint: id_token })
              }).href
      })
  }
  return provider
})
