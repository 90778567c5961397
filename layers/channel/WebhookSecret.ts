/** The secrets of Standard Webhooks, as bytes that sign. Private to this room. */
import { Result } from "effect"
import { Base64 } from "effect/encoding"
import { secret_prefix } from "../../src/delivery/Webhook.ts"

const key_bytes = { min: 24, max: 64 } as const

/** The form of a secret, in words. */
export const secret_form = `${secret_prefix} with ${key_bytes.min} to ${key_bytes.max} bytes in base64`

/** The key in a secret; undefined = the text is none. */
export const signingKey = (secret: unknown): Uint8Array | undefined => {
  if (typeof secret !== "string" || !secret.startsWith(secret_prefix)) return undefined
  const key = Result.getOrUndefined(Base64.decode(secret.slice(secret_prefix.length)))
  return key === undefined || key.length < key_bytes.min || key.length > key_bytes.max
    ? undefined
    : key
}
