/** A server on loopback that speaks TLS under a certificate of its own, which nobody trusts who was not given it. */
import { generateKeyPairSync, sign } from "node:crypto"
import type { RequestListener } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { Scope } from "effect"

/** One value in DER (X.690): its tag, its length, its content. */
const der = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const long = length > 255 ? [0x82, length >> 8, length & 255] : [0x81, length]
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), content])
}
const hex = (text: string): Buffer => Buffer.from(text, "hex")
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value))
const sequence = (...parts: ReadonlyArray<Buffer>): Buffer => der(0x30, ...parts)

/** ecdsa-with-SHA256, commonName, basicConstraints and subjectAltName. */
const oids = { ecdsa: "06082a8648ce3d040302", name: "0603550403" }
const constraints = "0603551d13"
const alternatives = "0603551d11"

/** A certificate for one host name (RFC 5280), signed with its own key, and the key, both in PEM. */
const selfSigned = (host: string): { readonly cert: string; readonly key: string } => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const algorithm = sequence(hex(oids.ecdsa))
  const name = sequence(der(0x31, sequence(hex(oids.name), text(0x0c, host))))
  const extension = (oid: string, value: Buffer) => sequence(hex(oid), der(0x04, value))
  const signed = sequence(
    hex("a003020102"),
    hex("020101"),
    algorithm,
    name,
    sequence(text(0x17, "200101000000Z"), text(0x17, "491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(
        extension(constraints, sequence(hex("0101ff"))),
        extension(alternatives, sequence(text(0x82, host)))
      )
    )
  )
  const bits = der(0x03, Buffer.from([0]), sign("sha256", signed, privateKey))
  const body = sequence(signed, algorithm, bits).toString("base64")
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  }
}

export interface SecureWeb {
  readonly port: number
  /** The certificate, in PEM. */
  readonly cert: string
  /** Of what clients wrote, deciphered. */
  readonly received: { bytes: number }
}

/** Until the scope closes. */
export const secureWeb = (
  host: string,
  answer: RequestListener
): Effect.Effect<SecureWeb, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<SecureWeb & { readonly close: () => void }>((resume) => {
      const { cert, key } = selfSigned(host)
      const server = createServer({ cert, key }, answer)
      const received = { bytes: 0 }
      server.on("secureConnection", (socket) => {
        socket.on("data", (chunk: Buffer) => (received.bytes += chunk.length))
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ port, cert, received, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )
