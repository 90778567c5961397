#!/usr/bin/env bash
# One answer to a graph that waits for two people, in @langchain/langgraph 1.7.3.
# Two nodes run side by side, and each calls interrupt with a question of its own. The graph is resumed with one plain value.
# One would guess an error that asks which question is meant, as Python's langgraph raises it, or that the first takes it and
# the second goes on waiting.
# Seen: the one value answers both questions, and the graph ends. Only a map by interrupt id answers one of them.
# Source: dist/pregel/loop.js of the package stores a plain value under NULL_TASK_ID, and dist/pregel/algo.js gives each task
# that has no answer of its own the one found there.
# Output, 2026-11-29:
#   asked:                            first? second?
#   resumed with "yes":               first: yes, second: yes
#   resumed with { [second]: "no" }:  first? still waits
#   guess: one value answers one question, or is refused
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@langchain/langgraph@1.7.3 @langchain/core@1.4.0)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'END'
import { Annotation, Command, END, INTERRUPT, MemorySaver, START, StateGraph, interrupt } from "@langchain/langgraph"

const answers = Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] })
const asks = (name) => () => ({ answers: [`${name}: ${interrupt(`${name}?`)}`] })
const graph = new StateGraph(Annotation.Root({ answers }))
  .addNode("first", asks("first"))
  .addNode("second", asks("second"))
  .addEdge(START, "first")
  .addEdge(START, "second")
  .addEdge("first", END)
  .addEdge("second", END)
  .compile({ checkpointer: new MemorySaver() })
const thread = (thread_id) => ({ configurable: { thread_id } })
const open = (end) => (end[INTERRUPT] ?? []).map(({ value }) => value)

const asked = await graph.invoke({}, thread("a"))
console.log("asked:                           ", open(asked).join(" "))
const one = await graph.invoke(new Command({ resume: "yes" }), thread("a"))
console.log('resumed with "yes":              ', one.answers.join(", "))
const { id } = (await graph.invoke({}, thread("b")))[INTERRUPT].find(({ value }) => value === "second?")
const named = await graph.invoke(new Command({ resume: { [id]: "no" } }), thread("b"))
console.log('resumed with { [second]: "no" }: ', `${open(named).join(" ")} still waits`)
console.log("guess: one value answers one question, or is refused")
if (one.answers.join() !== "first: yes,second: yes" || open(named).join() !== "first?") {
  console.error("No longer so: a plain value does not answer each open question.")
  process.exit(1)
}
END
node look.mjs
