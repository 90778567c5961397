#!/usr/bin/env bash
# A signed agent card with a security scheme, and the client of @a2a-js/sdk 1.3.0 that fetches it.
# The card is signed with the functions of the SDK, as JSON in the form that the specification gives it, and is served as it is.
# One would guess that the client, given the key, takes it.
# Seen: the SDK verifies the JSON that was served, and its own client refuses the same card: no valid signature. A card with no
# security scheme is taken both times.
# Source: canonicalizeAgentCard in dist/index.js of the package reads the card as JSON once more; the client has read it before, and
# a scheme in the form of its classes is none in JSON, so that other bytes are verified than were signed.
# Output, 2026-12-01 (without what the SDK logs of the refusal):
#   with a scheme:     as served verified, by the client REFUSED
#   without a scheme:  as served verified, by the client verified
#   guess:             verified each time
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@a2a-js/sdk@1.3.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { generateKeyPairSync } from "node:crypto"
import { generateAgentCardSignature, verifyAgentCardSignature } from "@a2a-js/sdk"
import { Client, DefaultAgentCardResolver } from "@a2a-js/sdk/client"

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const sign = generateAgentCardSignature(privateKey, { alg: "ES256", kid: "key", typ: "JOSE" })
const verify = verifyAgentCardSignature(async () => publicKey)
const card = {
  name: "shop",
  description: "Takes orders.",
  version: "1.0.0",
  supportedInterfaces: [
    { url: "http://shop.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }
  ],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "order", name: "Order", description: "Takes an order.", tags: ["orders"] }]
}
const bearer = { httpAuthSecurityScheme: { scheme: "Bearer" } }
const told = (promise) =>
  promise.then(
    () => "verified",
    () => "REFUSED"
  )
const go = async (what, given) => {
  const signed = await sign(given)
  const served = await told(verify(signed))
  const resolver = new DefaultAgentCardResolver({ fetchImpl: async () => Response.json(signed) })
  const fetched = await resolver.resolve("http://shop.example/")
  const taken = await told(new Client({}, fetched, {}).getAgentCard(undefined, verify))
  console.log(`${`${what}:`.padEnd(18)} as served ${served}, by the client ${taken}`)
  return `${served} ${taken}`
}
const seen = [
  await go("with a scheme", { ...card, securitySchemes: { bearer } }),
  await go("without a scheme", card)
]
console.log("guess:             verified each time")
if (seen.join() !== "verified REFUSED,verified verified") {
  console.error("No longer so: the client takes a signed card with a scheme, or refuses one without.")
  process.exit(1)
}
END
node look.mjs
