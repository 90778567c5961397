#!/usr/bin/env bash
# The flags of a pattern in a JSON Schema that arktype 2.2.9 gives.
# One would guess an error: for a Date, a narrowing, two patterns at once and all else that JSON Schema cannot say, toJsonSchema
# raises ToJsonSchemaError and offers a fallback.
# Seen: the flags are dropped without a word. A model that reads the schema is told that "eur" is no currency, the type takes it;
# with the flag u the schema's pattern may not even mean the same.
# Source: reduceJsonSchema in out/refinements/pattern.js of @ark/schema takes the rule and not its flags.
# Output, 2026-11-29:
#   type("eur"):          accepted
#   schema:               {"type":"string","pattern":"^(EUR|USD)$"}
#   two patterns at once: ToJsonSchemaError
#   guess: ToJsonSchemaError for the flag as well
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(arktype@2.2.9)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { type } from "arktype"

const currency = type(/^(EUR|USD)$/i)
const { $schema: _, ...schema } = currency.toJsonSchema()
let two = "accepted"
try {
  type("/^E/ & /R$/").toJsonSchema()
} catch (error) {
  two = error.name
}
const taken = currency.allows("eur")
console.log('type("eur"):         ', taken ? "accepted" : "refused")
console.log("schema:              ", JSON.stringify(schema))
console.log("two patterns at once:", two)
console.log("guess: ToJsonSchemaError for the flag as well")
if (!taken || schema.pattern !== "^(EUR|USD)$" || two !== "ToJsonSchemaError") {
  console.error("No longer so: a pattern's flags are refused or kept.")
  process.exit(1)
}
END
node look.mjs
