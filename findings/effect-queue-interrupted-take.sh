#!/usr/bin/env bash
# A PersistedQueue of effect 4.1.0 whose taker is interrupted, for instance by a timeout around take.
# One would guess that each claim counts against maxAttempts. The docs of take say that an attempt is counted when the
# element is claimed, and that not even a crash of the process gives it back.
# Seen: an interruption gives the attempt back, at once and without the retry delay. An element whose handler is always too
# slow is handed out for ever, and never reaches maxAttempts. A timeout inside the handler is a failure, and does count.
# Source: src/persistence/PersistedQueue.ts of the package, layerStoreMemory (hasInterruptsOnly: attempts -= 1).
# The docs of the port PersistedQueueStore say so; those of take and make do not.
# Output, 2026-11-28:
#   maxAttempts 2, five takes, each interrupted; attempts seen: 1 1 1 1 1
#   guess: 1 2, and then nothing is handed out
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
import { Effect, Schema } from "effect"
import { PersistedQueue } from "effect/persistence"

const program = Effect.gen(function* () {
  const factory = yield* PersistedQueue.PersistedQueueFactory
  const queue = yield* factory.make({ name: "jobs", schema: Schema.String, maxAttempts: 2 })
  yield* queue.offer("job")
  const seen = []
  const slow = queue.take((_, { attempts }) => {
    seen.push(attempts)
    return Effect.never
  })
  for (let n = 0; n < 5; n++) yield* slow.pipe(Effect.timeout("100 millis"), Effect.ignore)
  return seen.join(" ")
})
const seen = await Effect.runPromise(
  program.pipe(Effect.provide(PersistedQueue.layer), Effect.provide(PersistedQueue.layerStoreMemory))
)
console.log(`maxAttempts 2, five takes, each interrupted; attempts seen: ${seen}`)
console.log("guess: 1 2, and then nothing is handed out")
if (seen !== "1 1 1 1 1") {
  console.error("No longer so: an interrupted take counts as an attempt.")
  process.exit(1)
}
END
node look.mjs
