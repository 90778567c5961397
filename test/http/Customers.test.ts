/** Two customers of one tenant, and what each can read of the other and of the staff. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentName, RunId } from "../../src/value/Ids.ts"
import * as H from "../runtime/Harness.ts"
import { asks, calls, ends, proposed, Script, turns } from "./Script.ts"
import type { Who } from "./Service.ts"
import { ask, layer, layerWith, listen } from "./Service.ts"

const begin = Effect.fnUntraced(function* (as: Who, headers: Record<string, string> = {}) {
  const json = { agent: "spectral", text: `help ${as}` }
  const answer = yield* ask("/v1/messages", { as, json, headers })
  assert.strictEqual(answer.status, 202, answer.text)
  const conversation: string = answer.json.conversation_id
  return { run: RunId.make(answer.json.run_id), conversation, headers: answer.headers }
})

const idsOf = (as: Who) =>
  Effect.map(ask("/v1/conversations", { as }), ({ json }) =>
    json.items.map((each: { id: string }) => each.id)
  )

/** Texts that stand in tools, arguments, results, reasons and thoughts, and the names of deciders. */
const secrets = [
  "private",
  "424242",
  "replay_dlq_event",
  "look",
  // As whole texts: three letters may be a part of an id.
  '"ada"',
  '"olga"',
  "a thought of the model",
  "a signature of the model"
]

/** A run with a call, a denied proposal, reasoning and an answer; the approval's id. */
const runWithSecrets = Effect.fnUntraced(function* (
  said: Effect.Success<ReturnType<typeof begin>>
) {
  const script = yield* Script
  yield* turns(said, calls("look", { n: 424_242 }), "CallSettled")
  const approval = yield* asks(said, {
    ...proposed,
    calls: calls("replay_dlq_event", { event_id: "private-event", reason: "private-why" }).calls
  })
  const denial = { decision: "deny", reason: "private-denial" }
  yield* ask(`/v1/approvals/${approval}/decision`, { as: "ada", json: denial })
  yield* script.piece(said.run, { kind: "reasoning", text: "private-thought", offset: 0 })
  yield* ends(said)
  return approval
})

describe("a customer", () => {
  it.live("cannot read, list, follow or write a conversation of another customer", () =>
    Effect.gen(function* () {
      const [carls, coras, olgas] = [
        yield* begin("carl"),
        yield* begin("cora"),
        yield* begin("olga")
      ]
      assert.deepStrictEqual(yield* idsOf("carl"), [carls.conversation])
      assert.deepStrictEqual(yield* idsOf("cora"), [coras.conversation])
      assert.lengthOf(yield* idsOf("olga"), 3)
      const json = { agent: "spectral", text: "let me in" }
      for (const { conversation } of [coras, olgas]) {
        const path = `/v1/conversations/${conversation}`
        for (const [at, options] of [
          [path, {}],
          [`${path}/events`, {}],
          [`${path}/messages`, { json }]
        ] as const) {
          const refused = yield* ask(at, { as: "carl", ...options })
          const unknown = yield* ask(at.replace(conversation, "nobody"), { as: "carl", ...options })
          assert.strictEqual(refused.status, 404, at)
          assert.strictEqual(refused.json.type, "urn:troupe:problem:conversation-not-found")
          const { correlation_id: _, ...told } = JSON.parse(
            refused.text.replaceAll(conversation, "nobody")
          )
          const { correlation_id: __, ...toldOfNobody } = unknown.json
          assert.deepStrictEqual(told, toldOfNobody)
        }
        const { messages } = (yield* ask(path, { as: "olga" })).json
        assert.lengthOf(messages, 1)
      }
      const own = yield* ask(`/v1/conversations/${carls.conversation}/messages`, {
        as: "carl",
        json
      })
      assert.strictEqual(own.status, 202)
      assert.strictEqual(own.json.ordinal, 2)
    }).pipe(Effect.provide(layer))
  )

  it.live("begins a conversation under an id of its own, and is told the same of all others", () =>
    Effect.gen(function* () {
      const json = { agent: "spectral", text: "help" }
      const post = (as: Who, id: string) => ask(`/v1/conversations/${id}/messages`, { as, json })
      const begun = yield* post("carl", "carl:7")
      assert.strictEqual(begun.status, 202, begun.text)
      assert.deepInclude(begun.json, { conversation_id: "carl:7", ordinal: 1 })
      assert.deepStrictEqual(yield* idsOf("carl"), ["carl:7"])
      const told = ({ json, text }: typeof begun, id: string) => {
        assert.strictEqual(json.status, 404)
        const { correlation_id: _, ...said } = JSON.parse(text.replaceAll(id, "ID"))
        return said
      }
      const taken = told(yield* post("cora", "carl:7"), "carl:7")
      const free = told(yield* post("cora", "carl:8"), "carl:8")
      assert.deepStrictEqual(taken, free)
      assert.strictEqual(
        taken.detail,
        'There is no conversation "ID". One that you begin is named cora:NAME.'
      )
      assert.lengthOf((yield* ask("/v1/conversations/carl:7", { as: "olga" })).json.messages, 1)
    }).pipe(Effect.provide(layer))
  )

  it.live("reads its own conversations in pages, without those of others between them", () =>
    Effect.gen(function* () {
      const made: Array<string> = []
      for (const who of ["carl", "cora", "carl", "olga", "cora", "carl"] as const) {
        const { conversation } = yield* begin(who)
        if (who === "carl") made.unshift(conversation)
      }
      const seen: Array<string> = []
      let path = "/v1/conversations?limit=1"
      for (;;) {
        const { json } = yield* ask(path, { as: "carl" })
        seen.push(...json.items.map((each: { id: string }) => each.id))
        if (json.next_after === undefined) break
        path = `/v1/conversations?limit=1&after=${json.next_after}`
      }
      assert.deepStrictEqual(seen, made)
    }).pipe(Effect.provide(layer))
  )

  it.live("may cancel a run of its own message, and finds no other run", () =>
    Effect.gen(function* () {
      const [carls, coras] = [yield* begin("carl"), yield* begin("cora")]
      const cancel = (run: string) =>
        ask(`/v1/runs/${run}/cancel`, { as: "carl", json: { reason: "no more" } })
      assert.strictEqual((yield* cancel(coras.run)).status, 404)
      assert.strictEqual((yield* cancel(carls.run)).status, 204)
      const run = yield* ask(`/v1/runs/${carls.run}`, { as: "olga" })
      assert.deepInclude(run.json, { status: "cancelled", reason: "no more" })
      assert.strictEqual((yield* ask(`/v1/runs/${carls.run}`, { as: "carl" })).status, 403)
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "has its own idempotency keys: the same key and message of another customer make another task",
    () =>
      Effect.gen(function* () {
        const key = { "idempotency-key": "order 7" }
        const json = { agent: "spectral", text: "the same text" }
        const post = (as: Who) => ask("/v1/messages", { as, json, headers: key })
        const [first, again, other] = [
          yield* post("carl"),
          yield* post("carl"),
          yield* post("cora")
        ]
        assert.strictEqual(again.json.task_id, first.json.task_id)
        assert.strictEqual(other.status, 202)
        assert.notStrictEqual(other.json.task_id, first.json.task_id)
        assert.notStrictEqual(other.json.conversation_id, first.json.conversation_id)
        assert.deepStrictEqual(yield* idsOf("cora"), [other.json.conversation_id])
      }).pipe(Effect.provide(layer))
  )

  it.live("is told which agents it may write to, or which setting names none", () =>
    Effect.gen(function* () {
      const refused = yield* ask("/v1/messages", {
        as: "carl",
        json: { agent: "operations", text: "x" }
      })
      assert.strictEqual(refused.status, 403)
      assert.include(refused.json.detail, "spectral only")
      assert.notInclude(refused.text, "operations")
    }).pipe(Effect.provide(layer))
  )

  it.live("may write to no agent where none is set, and is not told which agents exist", () =>
    Effect.gen(function* () {
      const refused = yield* ask("/v1/messages", {
        as: "carl",
        json: { agent: "spectral", text: "x" }
      })
      assert.strictEqual(refused.status, 403)
      assert.include(refused.json.detail, "customer_agents")
    }).pipe(Effect.provide(layerWith({ customer_agents: [] })))
  )

  it.live("is not told of other agents where the one that is set does not exist", () =>
    Effect.gen(function* () {
      const json = { agent: "gone", text: "x" }
      const refused = yield* ask("/v1/messages", { as: "carl", json })
      assert.strictEqual(refused.status, 404)
      assert.notInclude(refused.text, "operations")
    }).pipe(Effect.provide(layerWith({ customer_agents: [AgentName.make("gone")] })))
  )

  it.live(
    "ST-21 receives nothing of tools, their arguments and results, deciders and reasons from any route",
    () =>
      Effect.gen(function* () {
        const said = yield* begin("carl")
        const { conversation, run } = said
        const path = `/v1/conversations/${conversation}`
        const stream = yield* listen(`${path}/events`, { as: "carl" })
        const approval = yield* runWithSecrets(said)
        const seen = []
        while (seen.at(-1)?.event !== "run_ended") seen.push(yield* stream.next)
        const again = yield* listen(`${path}/events`, { as: "carl" })
        while (
          seen.at(-1) !== undefined &&
          seen.filter((e) => e.event === "run_ended").length < 2
        ) {
          seen.push(yield* again.next)
        }
        const second = yield* ask(`${path}/messages`, {
          as: "carl",
          json: { agent: "spectral", text: "stop" }
        })
        yield* ask(`/v1/runs/${second.json.run_id}/cancel`, {
          as: "olga",
          json: { reason: "private-reason" }
        })
        yield* H.happened(second.json.run_id, "RunEnded", 1, conversation)
        while (seen.filter((e) => e.event === "run_ended").length < 3) seen.push(yield* stream.next)
        const history = yield* ask(path, { as: "carl" })
        const all = [
          JSON.stringify(seen),
          history.text,
          (yield* ask("/v1/conversations", { as: "carl" })).text
        ]
        for (const each of [
          `/v1/runs/${run}`,
          `/v1/runs/${run}/events`,
          `/v1/approvals/${approval}`
        ]) {
          all.push((yield* ask(each, { as: "carl" })).text)
        }
        const got = all.join("\n")
        for (const secret of secrets) assert.notInclude(got, secret)
        assert.include(got, "Done.")
        const names = new Set(seen.map(({ event }) => event))
        assert.isTrue(names.has("approval_requested") && names.has("approval_decided"))
        assert.deepStrictEqual(
          history.json.messages.map((each: { role: string; content: string }) => [
            each.role,
            each.content
          ]),
          [
            ["user", "help carl"],
            ["assistant", "Done."],
            ["user", "stop"]
          ]
        )
        assert.strictEqual(said.headers.get("location"), path)
      }).pipe(Effect.provide(layer))
  )
})
