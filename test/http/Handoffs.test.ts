/** Messages over HTTP to several agents of one conversation. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { RunId } from "../../src/value/Ids.ts"
import { ends } from "./Script.ts"
import type { Who } from "./Service.ts"
import { ask, layer } from "./Service.ts"

const say = Effect.fnUntraced(function* (text: string, as: Who, agent: string) {
  const answer = yield* ask("/v1/messages", { as, json: { agent, text } })
  assert.strictEqual(answer.status, 202, answer.text)
  return {
    run: RunId.make(answer.json.run_id),
    conversation: answer.json.conversation_id as string
  }
})

it.live("takes a message for another agent, which then holds the conversation", () =>
  Effect.gen(function* () {
    const first = yield* say("hello", "olga", "operations")
    yield* ends(first)
    const to = (conversation: string, json: object) =>
      ask(`/v1/conversations/${conversation}/messages`, { as: "olga", json })
    const runs: Array<string> = []
    for (const json of [{ agent: "spectral", text: "hello" }, { text: "more" }]) {
      const { json: sent, status, text } = yield* to(first.conversation, json)
      assert.strictEqual(status, 202, text)
      runs.push(sent.run_id)
      yield* ends({ run: RunId.make(sent.run_id), conversation: first.conversation })
    }
    const { json: shown } = yield* ask(`/v1/conversations/${first.conversation}`, { as: "olga" })
    const answers = shown.messages.filter(({ role }: { role: string }) => role === "assistant")
    assert.deepStrictEqual(
      answers.map(({ agent }: { agent?: string }) => agent),
      [undefined, "spectral", "spectral"]
    )
    // A customer's conversation takes no agent that is not for customers.
    const carls = yield* say("hello", "carl", "spectral")
    const refused = yield* to(carls.conversation, { agent: "operations", text: "hello" })
    assert.strictEqual(refused.status, 409)
    assert.strictEqual(refused.json.type, "urn:troupe:problem:address-conflict")
    assert.strictEqual((yield* to("nobody", { text: "hello" })).status, 404)
  }).pipe(Effect.provide(layer))
)
