#!/usr/bin/env bash
# Data that is a plain JSON value in cloudevents 10.0.0, the SDK of the CloudEvents project.
# An event's data may be any JSON value: a flag, a count, a null. The SDK writes such an event, its body goes over the wire as text,
# and the SDK reads it.
# One would guess that it reads the same value in each of the three forms of HTTP.
# Seen: the structured form gives `undefined` for 0, false, "" and null, without an error, though they stand in the body. The
# binary form gives numbers, flags and null as texts: a body that begins with none of [, { and " is put between quotes before it
# is parsed. A batch is right.
# Source: parseStructured in dist/message/http/index.js takes over an attribute where it is truthy; JSONParser in dist/parsers.js.
# Output, 2026-11-29:
#   data     structured   binary    batch
#   0        undefined    "0"       0
#   false    undefined    "false"   false
#   ""       undefined    ""        ""
#   null     undefined    "null"    null
#   7        7            "7"       7
#   true     true         "true"    true
#   guess: every column is the first one
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(cloudevents@10.0.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'EOF'
import { CloudEvent, HTTP } from "cloudevents"

const read = (message) => {
  try {
    const event = HTTP.toEvent(message)
    return String(JSON.stringify((Array.isArray(event) ? event[0] : event).data))
  } catch {
    return "refused"
  }
}
const type = "application/json"
const overTheWire = ({ headers, body }) => ({ headers, body: `${body}` })
const seen = [0, false, "", null, 7, true].map((data) => {
  const event = new CloudEvent({ source: "/orders", type: "order.counted", datacontenttype: type, data })
  const structured = HTTP.structured(event)
  const batch = { headers: { "content-type": "application/cloudevents-batch+json" }, body: `[${structured.body}]` }
  return [JSON.stringify(data), read(structured), read(overTheWire(HTTP.binary(event))), read(batch)]
})
for (const row of [["data", "structured", "binary", "batch"], ...seen]) {
  const [data, structured, binary, batch] = row
  console.log(`${data.padEnd(8)} ${structured.padEnd(12)} ${binary.padEnd(9)} ${batch}`)
}
console.log("guess: every column is the first one")
const expected = [
  '0 undefined "0" 0',
  'false undefined "false" false',
  '"" undefined "" ""',
  'null undefined "null" null',
  '7 7 "7" 7',
  'true true "true" true'
]
if (seen.map((row) => row.join(" ")).join("; ") !== expected.join("; ")) {
  console.error("No longer so: how plain values are read has changed.")
  process.exit(1)
}
EOF
node look.mjs
