#!/usr/bin/env bash
# A bigint in the state of a graph in @langchain/langgraph 1.7.3 with its checkpointer in memory.
# One would guess an error that says that a bigint is not JSON, as JSON.stringify raises it.
# Seen: the run ends well and gives the bigint back, with durability "sync" as well. The stored checkpoint is one JSON string
# that says it could not be serialized for a circular reference. There is no circle. getState then fails with a TypeError, so
# the thread's whole state is gone: its other values too. If the graph asks a person first, the run's answer fails with an
# error that blames a missing "checkpoint_id" in the caller's config.
# Source: dist/serde/utils/fast-safe-stringify/index.js of @langchain/langgraph-checkpoint 1.2.2 takes any error of
# JSON.stringify for a circle too complex to analyse and stores that sentence; dist/serde/jsonplus.js knows no bigint.
# Output, 2026-11-29:
#   run with durability sync: { order: 'A-7', cents: 10n }
#   stored checkpoint:        "[unable to serialize, circular reference is too complex to analyze]"
#   getState:                 TypeError
#   guess: the run fails, and says that a bigint cannot be stored
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@langchain/langgraph@1.7.3 @langchain/core@1.4.0 @langchain/langgraph-checkpoint@1.2.2)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Annotation, END, MemorySaver, START, StateGraph } from "@langchain/langgraph"

const saver = new MemorySaver()
const graph = new StateGraph(Annotation.Root({ order: Annotation(), cents: Annotation() }))
  .addNode("price", () => ({ cents: 10n }))
  .addEdge(START, "price")
  .addEdge("price", END)
  .compile({ checkpointer: saver })
const config = { configurable: { thread_id: "1" }, durability: "sync" }
const ended = await graph.invoke({ order: "A-7" }, config)
console.log("run with durability sync:", ended)
const checkpoints = Object.values(saver.storage["1"][""]).map(([checkpoint]) => new TextDecoder().decode(checkpoint))
const stored = checkpoints.find((text) => text.includes("unable to serialize"))
console.log("stored checkpoint:       ", stored)
const read = await graph.getState(config).then(
  ({ values }) => values,
  (error) => error.name
)
console.log("getState:                ", read)
console.log("guess: the run fails, and says that a bigint cannot be stored")
if (ended.cents !== 10n || stored === undefined || read !== "TypeError") {
  console.error("No longer so: a state with a bigint is stored or refused.")
  process.exit(1)
}
END
node look.mjs
