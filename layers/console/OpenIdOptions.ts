/** Sign-in by an identity provider: what a team says of it, and who somebody is by what the provider says. */
import { Effect } from "effect"
import type { Redacted } from "effect"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import type { Principal, PrincipalInput, Role } from "../../src/principal/Principal.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"

/** What a provider says of a person: the claims of its ID token, and those of its userinfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>

/** Who somebody is, by claims. */
export interface PrincipalRule {
  /** The tenant of all who sign in, or the claim that names it: a text. */
  readonly tenant:
    | string
    | {
        /** The claim that names it. */
        readonly claim: string
      }
  /** The roles by group, as the provider names it: `{ "troupe-operators": "operator" }`. Other groups give none. */
  readonly roles: Readonly<Record<string, Role | ReadonlyArray<Role>>>
  /** The claim with the groups: a list of texts, or one. Absent = `groups`. */
  readonly groups?: string
  /** The claim that becomes the principal's id. Absent = `sub`, which no provider gives to a second person. */
  readonly id?: string
}

/** An identity provider that speaks OpenID Connect, and who signs in there. */
export interface OpenIdOptions {
  /**
   * Its issuer, as its discovery document has it: `https://login.example/realms/acme`. Plain http is for `localhost`, `127.0.0.1` and
   * `[::1]` alone.
   */
  readonly issuer: string
  /** The id under which it knows this console. */
  readonly client_id: string
  /** The secret of that id. Absent = a public client, which PKCE alone protects. */
  readonly client_secret?: string | Redacted.Redacted
  /** How the secret is sent: `client_secret_basic` or `client_secret_post`. Absent = `client_secret_basic`. */
  readonly token_endpoint_auth_method?: "client_secret_basic" | "client_secret_post"
  /**
   * Who somebody is: `{ tenant, roles }` by their groups, or a function of the claims that gives a principal. Nobody signs in for whom
   * it gives undefined, throws, or gives what is no principal.
   */
  readonly principal: PrincipalRule | ((claims: Claims) => PrincipalInput | undefined)
  /** What is asked for, with spaces in between. Absent = `openid profile email`. */
  readonly scope?: string
  /**
   * The address of the console, as browsers have it: `https://ops.example/console`. The provider has to know `/callback` below it as a
   * redirect URI, and `/sign-in` as one for after a sign-out. Absent = what `Host` and `X-Forwarded-Proto` of each request say.
   */
  readonly url?: string
  /** What people call it: "Sign in with Acme". Absent = the issuer's host. */
  readonly name?: string
  /**
   * How long a session lasts, a minute to 12 hours. Roles are read at the sign-in, so this is how long somebody keeps those that the
   * provider has taken away. Absent = 12 hours.
   */
  readonly session_ms?: number
}

/** Its groups: a list of texts, or one. */
const textsOf = (claim: unknown): ReadonlyArray<string> =>
  (Array.isArray(claim) ? claim : [claim]).filter((each) => typeof each === "string")

/** A claim. An address that its provider has not verified is none: whoever wrote it there may be somebody else. */
const claimOf = (claims: Claims, name: string): unknown => {
  const isUnverified = name === "email" && String(claims["email_verified"]) === "false"
  return Object.hasOwn(claims, name) && !isUnverified ? claims[name] : undefined
}

const byRule = (
  { groups = "groups", id = "sub", roles, tenant }: PrincipalRule,
  claims: Claims
): unknown => ({
  id: claimOf(claims, id),
  tenant: typeof tenant === "string" ? tenant : claimOf(claims, tenant.claim),
  roles: [
    ...new Set(
      textsOf(claimOf(claims, groups)).flatMap((group) =>
        Object.hasOwn(roles, group) ? (roles[group] ?? []) : []
      )
    )
  ]
})

/** The principal of a person. Undefined = the function says that there is none. Fails where it throws, or gives what is none. */
export const principalOf = Effect.fnUntraced(function* (
  given: OpenIdOptions["principal"],
  claims: Claims
): Effect.fn.Return<Principal | undefined, InvalidInput> {
  const found = yield* Effect.try({
    try: (): unknown => (typeof given === "function" ? given(claims) : byRule(given, claims)),
    catch: () => new InvalidInput({ field: "principal", reason: "it threw an error" })
  })
  if (found === undefined) return undefined
  const principal = yield* Entries.principal(found, "principal")
  if (principal.via === undefined) return principal
  const reason = "nobody acts for somebody who signs in"
  return yield* new InvalidInput({ field: "principal.via", reason })
})

/** Whether secrets may be sent there: over TLS, or on this machine. */
export const isSafeAddress = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" ||
  (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname))
