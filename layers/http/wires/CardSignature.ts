/** Signs the card of an agent: a JSON Web Signature (RFC 7515, ES256) of its canonical JSON (RFC 8785). */
import { createPrivateKey, sign } from "node:crypto"
import { Redacted, Result, Schema } from "effect"
import { textUpTo } from "../../../src/value/Bounds.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { Members } from "../../../src/wire/A2aShapes.ts"
import type { CardKey } from "../boundary/HttpSettings.ts"

const base64url = (text: string): string => Buffer.from(text).toString("base64url")

const privateKeyOf = (pem: CardKey["pem"]) =>
  createPrivateKey(Redacted.isRedacted(pem) ? Redacted.value(pem) : pem)

const isShaped = Schema.is(
  Schema.Struct({
    kid: textUpTo(200),
    pem: Schema.Union([Schema.String, Schema.Redacted(Schema.String)]),
    jku: Schema.optionalKey(Schema.String)
  })
)

export const isCardKey = (value: unknown): value is CardKey => {
  if (!isShaped(value)) return false
  const key = Result.getOrUndefined(Result.try(() => privateKeyOf(value.pem)))
  return key?.asymmetricKeyDetails?.namedCurve === "prime256v1"
}

/** The card with a signature. */
export const signedCard = (card: Members, key: CardKey): Members => {
  const { jku, kid } = key
  const header = base64url(JSON.stringify({ alg: "ES256", typ: "JOSE", kid, jku }))
  const signature = sign("sha256", Buffer.from(`${header}.${base64url(canonical(card))}`), {
    key: privateKeyOf(key.pem),
    dsaEncoding: "ieee-p1363"
  })
  return {
    ...card,
    signatures: [{ protected: header, signature: signature.toString("base64url") }]
  }
}
