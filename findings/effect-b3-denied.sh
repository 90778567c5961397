#!/usr/bin/env bash
# A caller that denies sampling without a trace, in effect 4.1.0.
# B3's single header may be `0` alone, and its several headers `x-b3-sampled: 0` alone: "do not sample", sent by proxies and clients
# that have decided against a trace and made no ids.
# One would guess that the decision is read, as it is where ids stand before it: what comes of the request is not sampled.
# Seen: without ids both forms are read as nothing, so the request begins a trace of its own, which is sampled. With ids the same
# decision is kept.
# Source: src/http/HttpTraceContext.ts; `b3` wants at least two parts, and `xb3` both ids, before either looks at the decision.
# Output, 2026-12-01:
#   b3 with ids and 0:              not sampled
#   b3: 0:                          nothing
#   x-b3-sampled: 0 with ids:       not sampled
#   x-b3-sampled: 0:                nothing
#   guess: not sampled, four times
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(effect@4.1.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Option } from "effect"
import { Headers, HttpTraceContext } from "effect/http"

const [trace, span] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"]
const read = (headers) =>
  Option.match(HttpTraceContext.fromHeaders(Headers.fromInput(headers)), {
    onNone: () => "nothing",
    onSome: ({ sampled }) => (sampled ? "sampled" : "not sampled")
  })
const seen = [
  ["b3 with ids and 0", read({ b3: `${trace}-${span}-0` })],
  ["b3: 0", read({ b3: "0" })],
  ["x-b3-sampled: 0 with ids", read({ "x-b3-traceid": trace, "x-b3-spanid": span, "x-b3-sampled": "0" })],
  ["x-b3-sampled: 0", read({ "x-b3-sampled": "0" })]
]
for (const [what, value] of seen) console.log(`${what}:`.padEnd(31), value)
console.log("guess: not sampled, four times")
if (seen.map(([, value]) => value).join() !== "not sampled,nothing,not sampled,nothing") {
  console.log("The behaviour has changed.")
  process.exitCode = 1
}
END
node look.mjs
