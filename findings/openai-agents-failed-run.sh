#!/usr/bin/env bash
# The session of a run that did not end well in @openai/agents 0.20.0.
# A run with a session calls a tool that books something, then one that mails it, and reaches its limit of turns; or one of two
# tools of a turn throws (`errorFunction: null`) while the other takes effect.
# One would guess that the session holds the calls and results up to the failure, so that the next message continues from them.
# Seen: without streaming the session is empty, the user's own message included. With streaming it holds the user's message alone.
# The next run on that session gives the model no word of what was booked. The thrown error carries the state; the session does not.
# Source: dist/run.mjs of @openai/agents-core saves a result to the session when the run is complete or interrupted;
# a stream saves its input at the start and its items at the end of it (saveStreamInputToSession, saveStreamResultToSession).
# Output, 2026-11-29:
#   whole run, limit of turns:      ran book,mail   session: nothing
#   streamed run, limit of turns:   ran book,mail   session: user
#   one tool of two throws:         ran book        session: nothing
#   the same run within its limit:  ran book,mail   session: user,call,result,call,result,assistant
#   guess: each session holds the calls and results of what ran
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
packages=(@openai/agents@0.20.0 zod@4.6.7)
node --eval 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || packages+=(node@24.21.0)
npm install --silent --no-audit --no-fund "${packages[@]}"
PATH=$folder/node_modules/.bin:$PATH
cat >look.mjs <<'EOF'
import { Agent, MemorySession, Runner, Usage, setTracingDisabled, tool } from "@openai/agents"
import { z } from "zod"

setTracingDisabled(true)
const call = (name, callId) => ({ type: "function_call", callId, name, arguments: "{}", status: "completed" })
const text = { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
const modelOf = (turns) => ({
  getResponse: async () => ({ usage: new Usage(), output: turns.shift(), responseId: "r" }),
  async *getStreamedResponse() {
    yield { type: "response_done", response: { id: "r", usage, output: turns.shift() } }
  }
})
const words = { function_call: "call", function_call_result: "result" }

const go = async (what, turns, { stream = false, maxTurns = 10 }) => {
  const ran = []
  const does = (name) =>
    tool({ name, description: name, parameters: z.object({}), execute: async () => (ran.push(name), "ok") })
  const fails = tool({
    name: "fails",
    description: "throws",
    parameters: z.object({}),
    errorFunction: null,
    execute: async () => {
      throw new Error("out of order")
    }
  })
  const agent = new Agent({ name: "desk", model: modelOf(turns), tools: [does("book"), does("mail"), fails] })
  const session = new MemorySession()
  const running = new Runner().run(agent, "Book it and mail it.", { session, maxTurns, stream })
  await running.then((result) => result.completed).catch(() => {})
  const kept = (await session.getItems()).map((item) => words[item.type] ?? item.role)
  console.log(`${`${what}:`.padEnd(31)} ran ${ran.join().padEnd(10)}  session: ${kept.join() || "nothing"}`)
  return kept.join()
}
const both = () => [[call("book", "1")], [call("mail", "2")], [text]]
const seen = [
  await go("whole run, limit of turns", both(), { maxTurns: 2 }),
  await go("streamed run, limit of turns", both(), { maxTurns: 2, stream: true }),
  await go("one tool of two throws", [[call("book", "1"), call("fails", "2")], [text]], {}),
  await go("the same run within its limit", both(), {})
]
console.log("guess: each session holds the calls and results of what ran")
if (seen.join("; ") !== "; user; ; user,call,result,call,result,assistant") {
  console.error("No longer so: what a failed run leaves in its session has changed.")
  process.exit(1)
}
EOF
node look.mjs
