#!/usr/bin/env bash
# contains beside unevaluatedItems in ajv 8.20.0, for draft 2020-12 of JSON Schema.
# One would guess what the draft says: an item that contains matches is evaluated, and every other one meets unevaluatedItems.
# Seen: as soon as contains is there, all items count as evaluated, and unevaluatedItems refuses nothing. A schema that
# means "some numbers, else nothing" accepts anything beside one number. Strict mode is on, and says nothing.
# Source: dist/vocabularies/applicator/contains.js of the package (it.items = true), which
# dist/vocabularies/unevaluated/unevaluatedItems.js reads as "all of them".
# The draft: JSON Schema core 2020-12, sections 10.3.1.3 (contains) and 11.2 (unevaluatedItems).
# Output, 2026-11-29:
#   unevaluatedItems false:                              ["a", "b"] refused
#   contains a number, unevaluatedItems false:           [1, "a"] accepted
#   contains a number, unevaluatedItems null:            [1, null, "a"] accepted
#   guess: refused, each time
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(ajv@8.20.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Ajv2020 } from "ajv/dist/2020.js"

const number = { type: "number" }
const ask = (what, schema, value) => {
  const valid = new Ajv2020().validate({ type: "array", ...schema }, value)
  console.log(`${`${what}:`.padEnd(52)} ${JSON.stringify(value).replaceAll(",", ", ")} ${valid ? "accepted" : "refused"}`)
  return valid
}
const alone = ask("unevaluatedItems false", { unevaluatedItems: false }, ["a", "b"])
const closed = ask("contains a number, unevaluatedItems false", { contains: number, unevaluatedItems: false }, [1, "a"])
const nulls = ask(
  "contains a number, unevaluatedItems null",
  { contains: number, unevaluatedItems: { type: "null" } },
  [1, null, "a"]
)
console.log("guess: refused, each time")
if (alone || !closed || !nulls) {
  console.error("No longer so: unevaluatedItems sees the items that contains does not match.")
  process.exit(1)
}
END
node look.mjs
