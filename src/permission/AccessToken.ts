/**
 * A token that an admin gave somebody: who its bearer is, what it may do, and until when. The token's text is shown once; what is
 * kept is its SHA-256.
 */
import { Effect, Schema } from "effect"
import { Tenant, TokenId } from "../Ids.ts"
import { Principal, Role, Roles, rolesOf } from "../Principal.ts"

/** In force at once in one tenant. */
export const tokens_max = 1_000

/** Tokens of a tenant that have expired or were revoked; older ones are forgotten. */
export const ended_max = 1_000

/** How often a use is written, in ms: `last_used_at` is that much too early at most. */
export const use_resolution_ms = 60_000

const day_ms = 86_400_000

/** How long a token holds, in ms: a minute to a year. */
const HoldsMs = Schema.Int.check(Schema.isBetween({ minimum: 60_000, maximum: 366 * day_ms }))

/** Absent = 90 days. */
const holds_ms_default = 90 * day_ms

/** What the token is for, as a list shows it. */
const TokenName = Schema.String.check(
  Schema.isPattern(/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u, {
    description: "1 to 100 characters without control characters"
  })
)

/** Times are in ms since 1970. */
export const AccessToken = Schema.Struct({
  id: TokenId,
  name: TokenName,
  tenant: Tenant,
  /** Whom it stands for. */
  principal: Principal.fields.id,
  roles: Roles,
  created_by: Schema.String,
  created_at: Schema.Int,
  /** It holds before this. */
  expires_at: Schema.Int,
  /** To the minute. Absent = it was not used yet. */
  last_used_at: Schema.optionalKey(Schema.Int),
  revoked_by: Schema.optionalKey(Schema.String),
  revoked_at: Schema.optionalKey(Schema.Int)
})
export interface AccessToken extends Schema.Schema.Type<typeof AccessToken> {}

/** Members in which a person may be named other than whom it stands for: an erasure writes over them. */
export const token_texts: ReadonlySet<string> = new Set(["name", "created_by", "revoked_by"])

export const TokenRequest = Schema.Struct({
  name: TokenName,
  roles: Schema.Array(Role).check(Schema.isMinLength(1), Schema.isMaxLength(Role.literals.length)),
  /** Absent = who asks. */
  principal: Schema.optionalKey(Principal.fields.id),
  holds_ms: HoldsMs.pipe(Schema.withDecodingDefaultKey(Effect.succeed(holds_ms_default)))
})
export interface TokenRequest extends Schema.Schema.Type<typeof TokenRequest> {}

/** The token of a request, in the tenant of who asks. `expires_max`: when the token that was asked with expires itself. */
export const tokenOf = (
  { holds_ms, name, principal, roles }: TokenRequest,
  by: Principal,
  {
    expires_max = Infinity,
    id,
    now
  }: { id: TokenId; now: number; expires_max?: number | undefined }
): AccessToken => ({
  id,
  name,
  tenant: by.tenant,
  principal: principal ?? by.id,
  roles: rolesOf({ roles }),
  created_by: by.id,
  created_at: now,
  expires_at: Math.min(now + holds_ms, expires_max)
})

export const isInForce = (
  { expires_at, revoked_at }: Pick<AccessToken, "expires_at" | "revoked_at">,
  now: number
): boolean => revoked_at === undefined && now < expires_at

/** Whether this use is written. */
export const isUseNews = ({ last_used_at }: AccessToken, now: number): boolean =>
  last_used_at === undefined || now - last_used_at >= use_resolution_ms

const prefix = "troupe_"
const secret_length = 64
const checksum_length = 8

/** The text without its checksum, for 64 hex digits of randomness. */
export const unchecked = (secret: string): string => prefix + secret

/** The text, for the SHA-256 of the text without its checksum: what scanners of leaked secrets check offline. */
export const withChecksum = (text: string, sha256: string): string =>
  text + sha256.slice(0, checksum_length)

const shape = new RegExp(`^${prefix}[0-9a-f]{${secret_length + checksum_length}}$`)

/** The text without its checksum; undefined = no stored token has such a text. */
export const withoutChecksum = (text: string): string | undefined =>
  shape.test(text) ? text.slice(0, -checksum_length) : undefined

/** There is no such token in the tenant. */
export class TokenNotFound extends Schema.TaggedError<TokenNotFound>()("TokenNotFound", {
  id: Schema.String
}) {
  override get message(): string {
    return `there is no token ${JSON.stringify(this.id)}`
  }
}

/** So many tokens of the tenant are in force already. */
export class TooManyTokens extends Schema.TaggedError<TooManyTokens>()("TooManyTokens", {
  tokens_max: Schema.Int
}) {
  override get message(): string {
    return `${this.tokens_max} tokens are in force in this tenant, which is the most`
  }
}
