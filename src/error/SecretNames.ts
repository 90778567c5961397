/**
 * Decides by a member's name whether its value is a secret. Names are split into words, so `author` and `compass` are not
 * secrets; neither is a count of tokens.
 */

import { isForeignSecret } from "./SecretWords.ts"

/** Parts that mark a name as secret anywhere in it. */
const anywhere =
  /passw|passphrase|passcode|secret|credential|authorization|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|secret[-_ ]?key|signing[-_ ]?key|encryption[-_ ]?key|account[-_ ]?key|shared[-_ ]?key|storage[-_ ]?key|license[-_ ]?key|master[-_ ]?key|ssh[-_ ]?key|deploy[-_ ]?key|cookie|connection[-_ ]?string|token(?!s?[-_ ]?(?:max|min|count|limit|used|total|ize))/i
const counted =
  /(?:max|min|input|output|total|used|cached|reasoning|num|count|prompt|completion)[-_ ]?tokens?$|^tokens?$/i
/** Words that mark a name as secret only as whole words. */
const words: ReadonlySet<string> = new Set(
  "pass pwd pw passwd psw auth oauth bearer jwt pin otp totp cvv cvc cvv2 ssn sig signature hmac nonce sid sessionid apikey dsn".split(
    " "
  )
)

const name_units_max = 200

/** Whether a member of this name is a secret. `value`, where known: null, booleans and counts of tokens are not. */
export const isSecretName = (name: string, value?: unknown): boolean => {
  if (value === null || typeof value === "boolean") return false
  const short = name.slice(0, name_units_max)
  if (typeof value === "number" && counted.test(short)) return false
  if (anywhere.test(short)) return true
  const parts = short
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
  return parts.some((word) => words.has(word)) || isForeignSecret(short, parts)
}

const amount =
  /(?:^|[^\p{L}])(?:amount|amt|price|total|sum|subtotal|cost|value|balance|quantity|qty|count|limit|fee|tax|charge|credit|debit|refund|payment|budget|rate|percent|used|bound)s?(?:[^\p{L}]|$)/iu

/** Whether a member of this name is an amount, which is not redacted: an approver has to see it. */
export const isAmountName = (name: string): boolean =>
  amount.test(name.slice(0, name_units_max).replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2"))
