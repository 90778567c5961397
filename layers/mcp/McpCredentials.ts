/**
 * Where a server is, and its credentials over HTTP: declared values, functions that are asked for each request, and OAuth without a person.
 * Every value that was sent is known here, so that no output shows it.
 */
import { Redacted } from "effect"
import type { AuthProvider, OAuthClientProvider, OAuthTokens } from "@modelcontextprotocol/client"
import type {
  McpAllow,
  McpHttpServer,
  McpOAuth,
  McpSecret,
  McpServer
} from "../../src/mcp/McpServer.ts"
import { secretsOf } from "../../src/mcp/McpServer.ts"
import { secretForms } from "../../src/error/KnownSecrets.ts"
import type { Sdk } from "./Sdk.ts"

/** The code of the error of a request whose credentials could not be had: it was not sent. */
export const no_credentials = "ENOCREDENTIALS"

const ask_ms = 30_000
/** How many values that functions gave are known: more than a server can still quote. */
const given_max = 64
/** Shorter values would garble texts in which they are replaced. */
const secret_chars_min = 6

interface Credentials {
  /** Values that no output may show: the declared ones, and the newest of those that were asked for. */
  readonly secrets: () => ReadonlyArray<string>
  /** Can a request that was refused (401) have other headers the next time? */
  readonly canChange: boolean
  /** The headers of a request. `refused`: the last ones were refused. Fails with `no_credentials`. */
  readonly headers: (refused: boolean) => Promise<ReadonlyArray<readonly [string, string]>>
  /** Where tokens come from an authorization server. */
  readonly authProvider: (sdk: Sdk) => AuthProvider | undefined
}

const plain = (value: McpSecret): string =>
  Redacted.isRedacted(value) ? Redacted.value(value) : value

const within = async <A>(asked: A | PromiseLike<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no credentials in ${ask_ms} ms`)), ask_ms)
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The grant that needs no person: of the client itself, or of a person who agreed before. */
const grant = async ({ refresh }: McpOAuth, scope: string | undefined) => {
  const parameters = new URLSearchParams(
    refresh === undefined
      ? { grant_type: "client_credentials" }
      : { grant_type: "refresh_token", refresh_token: plain(await within(refresh.load())) }
  )
  if (scope !== undefined && refresh === undefined) parameters.set("scope", scope)
  return parameters
}

const interactive = () => {
  throw new Error("no person is asked here")
}

const providerOf = (oauth: McpOAuth, remember: (secret: string) => void): OAuthClientProvider => {
  const { client_id, client_secret, issuer, refresh, scope } = oauth
  const secret =
    client_secret === undefined ? undefined : { client_secret: Redacted.value(client_secret) }
  let tokens: OAuthTokens | undefined
  return {
    redirectUrl: undefined,
    clientMetadata: {
      redirect_uris: [],
      token_endpoint_auth_method: secret === undefined ? "none" : "client_secret_basic",
      ...(scope === undefined ? undefined : { scope })
    },
    // The issuer binds them: they go to no other authorization server, whatever the MCP server says.
    clientInformation: () => ({ client_id, issuer, ...secret }),
    tokens: () => tokens,
    saveTokens: async (given) => {
      remember(given.access_token)
      tokens = given
      if (given.refresh_token === undefined || refresh === undefined) return
      remember(given.refresh_token)
      await within(refresh.save(Redacted.make(given.refresh_token)))
    },
    prepareTokenRequest: (asked) => grant(oauth, scope ?? asked),
    redirectToAuthorization: interactive,
    saveCodeVerifier: interactive,
    codeVerifier: interactive
  }
}

/** Asks for one token at a time: two refreshes at once would spend one refresh token twice. */
const authOf = (sdk: Sdk, provider: OAuthClientProvider): AuthProvider => {
  let asking: Promise<unknown> | undefined
  return {
    token: async () => (await provider.tokens())?.access_token,
    onUnauthorized: async ({ fetchFn, response, serverUrl }) => {
      const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(response)
      asking ??= sdk
        .auth(provider, {
          serverUrl,
          fetchFn,
          ...(resourceMetadataUrl === undefined ? undefined : { resourceMetadataUrl }),
          ...(scope === undefined ? undefined : { scope })
        })
        .finally(() => {
          asking = undefined
        })
      await asking
    }
  }
}

/** The headers of a request; what is secret of those that functions gave is remembered. */
const headersOf = async (
  { headers = {}, token }: McpHttpServer,
  refused: boolean,
  remember: (secret: string) => void
): Promise<ReadonlyArray<readonly [string, string]>> => {
  const others = typeof headers === "function" ? await within(headers({ refused })) : headers
  const bearer = typeof token === "function" ? await within(token({ refused })) : token
  for (const value of Object.values(others)) {
    if (Redacted.isRedacted(value)) remember(Redacted.value(value))
  }
  const given = Object.entries(others).map(([name, value]) => [name, plain(value)] as const)
  if (bearer === undefined) return given
  remember(plain(bearer))
  return [...given, ["authorization", `Bearer ${plain(bearer)}`]]
}

const none: Credentials = {
  secrets: () => [],
  canChange: false,
  headers: () => Promise.resolve([]),
  authProvider: () => undefined
}

export const credentialsOf = (server: McpServer): Credentials => {
  const declared = secretsOf(server)
  if (server.transport === "stdio") return { ...none, secrets: () => declared }
  const given: Array<string> = []
  let secrets = declared
  const remember = (secret: string): void => {
    if (secret.length < secret_chars_min || given.includes(secret)) return
    given.push(secret)
    if (given.length > given_max) given.shift()
    secrets = [...declared, ...secretForms(given)].sort((a, b) => b.length - a.length)
  }
  const { headers, oauth, token } = server
  const provider = oauth === undefined ? undefined : providerOf(oauth, remember)
  let auth: AuthProvider | undefined
  return {
    secrets: () => secrets,
    canChange: typeof token === "function" || typeof headers === "function",
    headers: (refused) =>
      headersOf(server, refused, remember).catch((cause: unknown) => {
        throw new Error("the credentials could not be had", {
          cause: { code: no_credentials, cause }
        })
      }),
    authProvider: (sdk) => (provider === undefined ? undefined : (auth ??= authOf(sdk, provider)))
  }
}

/** A server, where it may be reached, and what it is shown. */
export interface Place {
  readonly server: McpServer
  readonly allow: McpAllow
  readonly credentials: Credentials
}
