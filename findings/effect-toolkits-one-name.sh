#!/usr/bin/env bash
# Two toolkits of effect 4.1.0 that have a tool of one name each.
# Both are given their handlers by a Layer of their own, and both Layers are provided to one program. The tools differ in what they do.
# One would guess that each toolkit runs the handler that was given to it, or that the second one is refused.
# Seen: both toolkits run the handler that was provided last, and nothing says so.
# Source: toHandlers and toLayer in src/ai/Toolkit.ts of the package put a handler into the context under "effect/ai/Tool/" and the name.
# Output, 2026-12-01:
#   orders.find:  found a customer
#   people.find:  found a customer
#   guess:        orders.find finds an order
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
import { Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"

const find = (what) =>
  Toolkit.make(Tool.make("find", { description: `Finds ${what}.`, success: Schema.String }))
const orders = find("an order")
const people = find("a customer")
const handlers = Layer.mergeAll(
  orders.toLayer({ find: () => Effect.succeed("found an order") }),
  people.toLayer({ find: () => Effect.succeed("found a customer") })
)
const go = (toolkit) =>
  Effect.gen(function* () {
    const kit = yield* toolkit
    const results = yield* kit.handle("find", {})
    const [first] = yield* Stream.runCollect(results)
    return first.result
  })
const seen = await Effect.runPromise(Effect.all([go(orders), go(people)]).pipe(Effect.provide(handlers)))
console.log(`orders.find:  ${seen[0]}`)
console.log(`people.find:  ${seen[1]}`)
console.log("guess:        orders.find finds an order")
if (seen.join() !== "found a customer,found a customer") {
  console.error("No longer so: each toolkit runs its own handler, or two of one name are refused.")
  process.exit(1)
}
END
node look.mjs
