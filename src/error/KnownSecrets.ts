/**
 * Secrets that are known by their text, such as a credential that was sent with a request: what comes back is shown without
 * them. Those that only their form gives away are found by `SecretShapes`.
 */
import type { Json } from "../Canonical.ts"
import { isRawNumber } from "../entry/JsonNumber.ts"

/** The JSON with each of the secrets replaced, in names of members too. */
export const withoutSecrets = (value: Json, secrets: ReadonlyArray<string>): Json => {
  if (secrets.length === 0) return value
  if (typeof value === "string") return redacted(value, secrets)
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value
  if (Array.isArray(value)) return value.map((item: Json) => withoutSecrets(item, secrets))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      redacted(name, secrets),
      withoutSecrets(member as Json, secrets)
    ])
  )
}

/** The text with each of the secrets replaced. */
export const redacted = (text: string, secrets: ReadonlyArray<string>): string => {
  let clean = text
  for (const secret of secrets) if (secret !== "") clean = clean.replaceAll(secret, "[secret]")
  return clean
}
