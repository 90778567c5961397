import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { canonical } from "../../src/value/Canonical.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { ask, credentials, listen } from "./Service.ts"
import type { Who } from "./Service.ts"

const agents = ["operations", "spectral"].map((name) =>
  AgentSpec.make({ name: AgentName.make(name), instructions: "Help." })
)

/** The real runtime, stores and socket, with a model that repeats its prompt. */
const service = Server.layer({ listen: { port: 0 }, credentials }).pipe(
  Layer.provide(Runtime.layer({ agents, tools: [] })),
  Layer.provide(
    ScriptedModelGateway.layer(({ transcript }) => {
      const last = transcript.at(-1)!
      return ScriptedModelGateway.text(`heard ${last.role === "user" ? last.text : ""}`)
    })
  ),
  Layer.provide(Stores.ephemeral),
  Layer.orDie
)

/** A principal of the tenant `acme` and one of the tenant `other`, with the message of each and its agent. */
const both = [
  { as: "olga", agent: "operations", text: "from acme" },
  { as: "stranger", agent: "spectral", text: "from other" }
] as const satisfies ReadonlyArray<{
  readonly as: Who
  readonly agent: string
  readonly text: string
}>

/** Everything up to the end of the first run. */
const feedOf = Effect.fnUntraced(function* (as: Who, conversation: string) {
  const { next } = yield* listen(`/v1/conversations/${conversation}/events`, { as })
  for (let all = ""; ;) {
    const event = yield* next
    all += JSON.stringify(event)
    if (event.event === "run_ended") return all
  }
})

describe("two tenants over HTTP", () => {
  it.live("can use the same conversation id and the same idempotency key", () =>
    Effect.gen(function* () {
      const headers = { "idempotency-key": "order-7" }
      const path = "/v1/conversations/walk/messages"
      const answers = yield* Effect.forEach(
        both,
        ({ agent, as, text }) => ask(path, { as, headers, json: { agent, text } }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [202, 202]
      )
      for (const [i, { agent, as, text }] of both.entries()) {
        const foreign = both[1 - i]!.text
        const feed = yield* feedOf(as, "walk")
        assert.include(feed, `heard ${text}`)
        assert.notInclude(feed, foreign)
        const { json, status } = yield* ask("/v1/conversations/walk", { as })
        assert.strictEqual(status, 200)
        assert.strictEqual(json.conversation.address.agent, agent)
        assert.deepStrictEqual(
          json.messages.map(({ content }: { readonly content: string }) => content),
          [text, `heard ${text}`]
        )
        const listed = yield* ask("/v1/agents", { as })
        const actors = listed.json.items.flatMap(
          (item: { readonly name: string; readonly actors: ReadonlyArray<unknown> }) =>
            item.actors.map(() => item.name)
        )
        assert.deepStrictEqual(actors, [agent])
        const again = yield* ask(path, { as, headers, json: { agent, text } })
        assert.strictEqual(again.json.run_id, answers[i]!.json.run_id)
        const run = yield* ask(`/v1/runs/${answers[1 - i]!.json.run_id}`, { as })
        assert.strictEqual(run.status, 404)
      }
    }).pipe(Effect.provide(service))
  )

  it.live("cannot take the conversation that the other tenant's key will name", () =>
    Effect.gen(function* () {
      // The id follows from the key, so that anybody can compute it before the tenant has used the key.
      const named = canonical({ tenant: "acme", idempotency_key: "order-8" })
      const digest = createHash("sha256").update(named).digest("hex")
      const taken = yield* ask(`/v1/conversations/${digest.slice(0, 32)}/messages`, {
        as: "stranger",
        json: { agent: "spectral", text: "taken" }
      })
      assert.strictEqual(taken.status, 202)
      const headers = { "idempotency-key": "order-8" }
      const json = { agent: "operations", text: "from acme" }
      const mine = yield* ask("/v1/messages", { as: "olga", headers, json })
      assert.deepInclude(mine, { status: 202 })
      assert.deepInclude(mine.json, { conversation_id: taken.json.conversation_id, ordinal: 1 })
      const again = yield* ask("/v1/messages", { as: "olga", headers, json })
      assert.strictEqual(again.json.run_id, mine.json.run_id)
    }).pipe(Effect.provide(service))
  )

  it.live(
    "see only their own events under one conversation id, whoever watches or writes first",
    () =>
      Effect.gen(function* () {
        const [mine, theirs] = both
        const say = ({ agent, as, text }: (typeof both)[number]) =>
          ask("/v1/conversations/walk/messages", { as, json: { agent, text } })
        // A conversation that the tenant does not have cannot be watched.
        const unknown = yield* ask("/v1/conversations/walk/events", { as: mine.as })
        assert.strictEqual(unknown.status, 404)
        yield* say(mine)
        yield* feedOf(mine.as, "walk")
        const { next } = yield* listen("/v1/conversations/walk/events?after=1.1000", {
          as: mine.as
        })
        const first = yield* Effect.forkChild(next, { startImmediately: true })
        yield* say(theirs)
        yield* feedOf(theirs.as, "walk")
        yield* say(mine)
        const { data, id } = yield* Fiber.join(first)
        assert.strictEqual(id, "2.0")
        assert.strictEqual(data.event.tenant, "acme")
      }).pipe(Effect.provide(service))
  )
})
