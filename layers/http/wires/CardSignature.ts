/** Signs the card of an agent: a JSON Web Signature (RFC 7515, ES256) of its canonical JSON (RFC 8785). */
import { sign } from "node:crypto"
import { canonical } from "../../../src/value/Canonical.ts"
import type { Members } from "../../../src/wire/A2aShapes.ts"
import type { CardKey } from "../boundary/HttpSettings.ts"
import { privateKeyOf } from "../boundary/HttpSettings.ts"

const base64url = (text: string): string => Buffer.from(text).toString("base64url")

/** The card with a signature. */
export const signedCard = (card: Members, key: CardKey): Members => {
  const { jku, kid } = key
  const header = base64url(JSON.stringify({ alg: "ES256", typ: "JOSE", kid, jku }))
  const signature = sign("sha256", Buffer.from(`${header}.${base64url(canonical(card))}`), {
    key: privateKeyOf(key),
    dsaEncoding: "ieee-p1363"
  })
  return {
    ...card,
    signatures: [{ protected: header, signature: signature.toString("base64url") }]
  }
}
