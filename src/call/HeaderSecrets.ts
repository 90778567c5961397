/**
 * What must not be shown of a header that says who asks.
 */
import { Result, Schema } from "effect"

/** A shorter text is left out: replacing it would garble others. */
const units_min = 6

const decodeBase64 = Schema.decodeUnknownResult(Schema.StringFromBase64)

/** What the credential of the scheme Basic encodes, and the password in it; none where it is another scheme. */
const basicSecrets = (value: string): ReadonlyArray<string> => {
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=]+)\s*$/i.exec(value) ?? []
  const pair = encoded === undefined ? undefined : decodeBase64(encoded)
  if (pair === undefined || Result.isFailure(pair)) return []
  return [pair.success, pair.success.slice(pair.success.indexOf(":") + 1)]
}

/**
 * The value and the credential after its scheme, as an answer may quote either: as they were sent, in a URL, and of Basic what
 * they encode too.
 */
export const headerSecrets = (value: string): ReadonlyArray<string> => {
  const plain = [value, value.replace(/^\S+\s+/, ""), ...basicSecrets(value)]
  // A text of a header is ASCII, but what Basic encodes may be anything.
  const escaped = plain.map((text) => encodeURIComponent(text.toWellFormed()))
  return [...new Set([...plain, ...escaped])].filter(({ length }) => length >= units_min)
}
