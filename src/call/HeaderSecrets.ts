/**
 * Lists the texts of a header with a credential that must not be shown.
 */
import { Result, Schema } from "effect"

/** The shortest text that is listed, in UTF-16 units. Replacing shorter ones would garble other texts. */
const units_min = 6

const decodeBase64 = Schema.decodeUnknownResult(Schema.StringFromBase64)

/** The user and password that a credential of the scheme Basic encodes, and the password alone; empty for another scheme. */
const basicSecrets = (value: string): ReadonlyArray<string> => {
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=]+)\s*$/i.exec(value) ?? []
  const pair = encoded === undefined ? undefined : decodeBase64(encoded)
  if (pair === undefined || Result.isFailure(pair)) return []
  return [pair.success, pair.success.slice(pair.success.indexOf(":") + 1)]
}

/**
 * The header's value and the credential after its scheme, in each form in which an answer may quote them: as sent, as part of a
 * URL, and for the scheme Basic also decoded.
 */
export const headerSecrets = (value: string): ReadonlyArray<string> => {
  const plain = [value, value.replace(/^\S+\s+/, ""), ...basicSecrets(value)]
  // The text of a header is ASCII, but what Basic encodes may be any text.
  const escaped = plain.map((text) => encodeURIComponent(text.toWellFormed()))
  return [...new Set([...plain, ...escaped])].filter(({ length }) => length >= units_min)
}
