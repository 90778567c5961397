/**
 * Lists the texts of a header with a credential that must not be shown.
 */
import { Result, Schema } from "effect"
import { secretForms } from "./KnownSecrets.ts"

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
 * The header's value and the credential after its scheme, for the scheme Basic also decoded, in each form in which an answer may
 * quote them.
 */
export const headerSecrets = (value: string): ReadonlyArray<string> => {
  const plain = [value, value.replace(/^\S+\s+/, ""), ...basicSecrets(value)]
  return secretForms(plain.filter(({ length }) => length >= units_min))
}
