/**
 * A token that an admin issued: whom its bearer acts as, what that principal may do, and until when. The token's text is shown
 * once; only its SHA-256 is stored.
 */
import { Effect, Schema } from "effect"
import { Tenant, TokenId } from "../value/Ids.ts"
import { Principal, Roles, rolesOf } from "../principal/Principal.ts"
import { between } from "../value/Bounds.ts"

/** The greatest number of tokens in force at the same time in one tenant. */
export const tokens_max = 1_000

/** How many expired or revoked tokens are kept for a tenant. Older ones are deleted. */
export const ended_max = 1_000

/** A token's use is stored at most once in this time, in ms. So the stored `last_used_at` may be this much too early. */
export const use_resolution_ms = 60_000

const day_ms = 86_400_000

/** How long a token is valid, in ms: from a minute to 366 days. */
const HoldsMs = between(60_000, 366 * day_ms)

/** The default of `holds_ms`: 90 days. */
const holds_ms_default = 90 * day_ms

/** The token's name in lists, which says what it is for. */
const TokenName = Schema.String.check(
  Schema.isPattern(/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u, {
    description: "1 to 100 characters without control characters"
  })
)

/** Times are in ms since 1970. */
export class AccessToken extends Schema.Opaque<AccessToken>()(
  Schema.Struct({
    /** Names the token in lists and in `revokeToken`. It is not secret. */
    id: TokenId,
    /** What people call it. */
    name: TokenName,
    /** Whose data its bearer may see and change. */
    tenant: Tenant,
    /** The principal that the token's bearer acts as. */
    principal: Principal.fields.id,
    /** What its bearer may do there. */
    roles: Roles,
    /** The principal who made it. */
    created_by: Schema.String,
    /** When it was made. */
    created_at: Schema.Int,
    /** The token is valid before this time. */
    expires_at: Schema.Int,
    /** The last use, accurate to the minute. Absent = the token has not been used yet. */
    last_used_at: Schema.optionalKey(Schema.Int),
    /** The principal who revoked it. Absent = nobody has. */
    revoked_by: Schema.optionalKey(Schema.String),
    /** When it was revoked. Absent = it was not. */
    revoked_at: Schema.optionalKey(Schema.Int)
  })
) {}

/** A token with its text, which is stored nowhere. */
export class IssuedToken extends Schema.Opaque<IssuedToken>()(
  Schema.Struct({
    /** The token's text. Only this answer ever contains it. */
    token: Schema.String,
    ...AccessToken.fields
  })
) {}
/** Members that may name a person other than the token's principal. An erasure overwrites them. */
export const token_texts: ReadonlySet<string> = new Set(["name", "created_by", "revoked_by"])

export const TokenRequest = Schema.Struct({
  name: TokenName,
  roles: Roles.check(Schema.isMinLength(1)),
  /** The principal that the token's bearer acts as. Absent = the requesting principal. */
  principal: Schema.optionalKey(Principal.fields.id),
  holds_ms: HoldsMs.pipe(Schema.withDecodingDefaultKey(Effect.succeed(holds_ms_default)))
})
export interface TokenRequest extends Schema.Schema.Type<typeof TokenRequest> {}

/**
 * Makes the token for a request, in the tenant of the requesting principal. `expires_max` is when the token of the requester
 * itself expires; the new token expires no later.
 */
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

/** Whether a use at this time has to be stored. */
export const isUseNews = ({ last_used_at }: AccessToken, now: number): boolean =>
  last_used_at === undefined || now - last_used_at >= use_resolution_ms

const prefix = "troupe_"
const secret_length = 64
const checksum_length = 8

/** A token's text without its checksum. `secret` is 64 random hex digits. */
export const unchecked = (secret: string): string => prefix + secret

/**
 * A token's whole text, from the text without its checksum and that text's SHA-256. By the checksum, scanners for leaked secrets
 * can recognise a token offline.
 */
export const withChecksum = (text: string, sha256: string): string =>
  text + sha256.slice(0, checksum_length)

const shape = new RegExp(`^${prefix}[0-9a-f]{${secret_length + checksum_length}}$`)

/** A token's text without its checksum; undefined = the text does not have the form of a token. */
export const withoutChecksum = (text: string): string | undefined =>
  shape.test(text) ? text.slice(0, -checksum_length) : undefined

/** The tenant has no token with this id. */
export class TokenNotFound extends Schema.TaggedError<TokenNotFound>()("TokenNotFound", {
  /** The id that was asked for. */
  id: Schema.String
}) {
  override get message(): string {
    return `there is no token ${JSON.stringify(this.id)}`
  }
}

/** The tenant already has `tokens_max` tokens in force. */
export class TooManyTokens extends Schema.TaggedError<TooManyTokens>()("TooManyTokens", {
  /** The most tokens of a tenant in force at the same time. */
  tokens_max: Schema.Int
}) {
  override get message(): string {
    return `${this.tokens_max} tokens are in force in this tenant, which is the most`
  }
}
