#!/usr/bin/env bash
# Arbitrary.schema of effect 4.1.0 for a struct with ten required members and one optional one, at the default options.
# One would guess that the optional member is there in about half of the values, whatever else the struct has.
# Seen: it is there in none of 20,000. With nine required ones it is there in half of them; of three beside eight there are at
# most two at once. A property over a wide record passes, and has never seen its optional members.
# The docs of SampleOptions call size "a local complexity scale, not a global bound on the complete value".
# Source: src/internal/arbitrary/schema.ts: the members of an object are at most the larger of the required ones and the size, which
# is 10 (runner.ts). checkEffect grows to that size from smaller ones, so that less is there in most of its runs.
# Output, 2026-11-30:
#   9 required, 1 optional: 9961 of 20000 values have it
#   10 required, 1 optional: 0 of 20000 values have it
#   8 required, 3 optional: at most 2 of them at once
#   10 required, 1 optional, size 11: 9961 of 20000 values have it
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
import { Arbitrary, Effect, Schema } from "effect"

const count = 20_000
const named = (letter, many, schema) =>
  Object.fromEntries(Array.from({ length: many }, (_, n) => [`${letter}${n}`, schema]))
/** How many optional members each of the values has. */
const drawn = (required, optional, options = {}) => {
  const struct = Schema.Struct({
    ...named("r", required, Schema.Boolean),
    ...named("o", optional, Schema.optionalKey(Schema.Boolean))
  })
  const sample = Arbitrary.sampleEffect(Arbitrary.schema(struct), { count, seed: 1, ...options })
  return Effect.runSync(sample).map((value) => Object.keys(value).length - required)
}
const have = (all) => all.filter((many) => many > 0).length
const narrow = have(drawn(9, 1))
const wide = have(drawn(10, 1))
const most = Math.max(...drawn(8, 3))
const larger = have(drawn(10, 1, { size: 11 }))
console.log(`9 required, 1 optional: ${narrow} of ${count} values have it`)
console.log(`10 required, 1 optional: ${wide} of ${count} values have it`)
console.log(`8 required, 3 optional: at most ${most} of them at once`)
console.log(`10 required, 1 optional, size 11: ${larger} of ${count} values have it`)
if (wide !== 0 || most !== 2 || narrow < count / 3 || larger < count / 3) {
  console.error("No longer so: optional members of wide structs are drawn at the default size.")
  process.exit(1)
}
END
node look.mjs
