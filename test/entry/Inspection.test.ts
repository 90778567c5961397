/** What operators read and mend through the facade: conversations, costs, dead letters. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Outbox } from "../../services/Outbox.ts"
import { AgentSpec, MessageId, Principal, Tenant } from "../../src/index.ts"
import * as Homes from "../process/Homes.ts"

const agent = (name: string) => AgentSpec.make({ name, instructions: "Help.", model: "m" })
const person = (id: string, role: Principal["roles"][number], tenant = "default") =>
  new Principal({ id, tenant, roles: [role] })
const olga = person("olga", "operator")
const carl = person("carl", "customer")
const stranger = person("olga", "operator", "other")

const usage = { input_tokens: 10, output_tokens: 5 }
const options = {
  agents: [agent("shop"), agent("desk")],
  model: scripted(() => text("It is paid.", { usage, model: "m" })),
  prices: { currency: "USD", version: "v1", prices: [{ model: "*", input: "1", output: "2" }] },
  customer_agents: ["shop"]
}

const withTroupe = async (use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await start(options as never)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ _tag: "done" }),
    (error: { readonly _tag: string; readonly field?: string }) => error
  )

describe("conversations and messages", () => {
  it("come in pages, to staff of the tenant all of them", () =>
    withTroupe(async (troupe) => {
      const sent: Array<string> = []
      for (const name of ["shop", "desk", "shop"]) {
        sent.push((await troupe.ask({ agent: name, text: `To ${name}` }, olga)).conversation)
      }
      const newest = sent.toReversed()
      const ids = async (page?: { limit?: number; after?: string }, by = olga) =>
        (await troupe.conversations(page, by)).map(({ id }) => id)
      assert.sameMembers(await ids(), newest)
      const first = await ids({ limit: 2 })
      assert.lengthOf(first, 2)
      const [, last] = await troupe.conversations({ limit: 2 }, olga)
      const rest = await ids({ limit: 2, after: last!.cursor })
      assert.sameMembers([...first, ...rest], newest)
      assert.deepStrictEqual(await ids({}, stranger), [])

      const of = sent[0]!
      const said = await troupe.messages(of, {}, olga)
      assert.deepStrictEqual(
        said.map(({ content, role }) => [role, content]),
        [
          ["user", "To shop"],
          ["assistant", "It is paid."]
        ]
      )
      const [one] = await troupe.messages(of, { limit: 1 }, olga)
      const [two] = await troupe.messages(of, { limit: 1, after: one!.seq }, olga)
      assert.deepStrictEqual([one, two], [...said])
      assert.deepInclude(await refusal(troupe.messages(of, {}, stranger)), {
        _tag: "ConversationNotFound"
      })
    }))

  it("are to a customer its own with agents for customers, as customers see them", () =>
    withTroupe(async (troupe) => {
      const own = await troupe.ask({ agent: "shop", text: "Mine" }, carl)
      const other = await troupe.ask({ agent: "shop", text: "Not carl's" }, olga)
      const found = await troupe.conversations({}, carl)
      assert.deepStrictEqual(
        found.map(({ id }) => id as string),
        [own.conversation]
      )
      const said = await troupe.messages(own.conversation, {}, carl)
      assert.deepStrictEqual(
        said.map(({ content }) => content),
        ["Mine", "It is paid."]
      )
      assert.deepInclude(await refusal(troupe.messages(other.conversation, {}, carl)), {
        _tag: "ConversationNotFound"
      })
    }))
})

describe("costs", () => {
  it("are summed by agent or as asked, of the tenant alone", () =>
    withTroupe(async (troupe) => {
      const { run } = await troupe.ask({ agent: "shop", text: "a" }, olga)
      await troupe.ask({ agent: "shop", text: "b" }, olga)
      await troupe.ask({ agent: "desk", text: "c" }, olga)
      const sums = async (query = {}, by = olga) =>
        (await troupe.costs(query, by)).map(({ key, turns }) => [key, turns])
      assert.deepStrictEqual(await sums(), [
        ["desk", 1],
        ["shop", 2]
      ])
      assert.deepStrictEqual(await sums({ limit: 1, after: "desk" }), [["shop", 2]])
      assert.deepStrictEqual(await sums({ by: "run", run }), [[run, 1]])
      assert.deepStrictEqual(await sums({ agent: "desk", by: "model" }), [["m", 1]])
      assert.deepStrictEqual(await sums({ to: 1 }), [])
      assert.deepStrictEqual(await sums({}, stranger), [])
      const [desk] = await troupe.costs({ agent: "desk" }, olga)
      assert.strictEqual(desk?.amounts[0]?.currency, "USD")
    }))
})

const letter = MessageId.make("22222222-2222-4222-8222-222222222222")
const other = MessageId.make("33333333-3333-4333-8333-333333333333")

/** Two messages that could not be delivered. */
const undelivered = Effect.gen(function* () {
  const outbox = yield* Outbox
  const tenant = Tenant.make("default")
  const topic = "webhook.deliver"
  for (const id of [letter, other]) {
    yield* outbox.enqueue([{ id, tenant, key: id, topic, payload: { order: 7 } }])
    yield* outbox.claim({ owner: "t", topics: [topic], limit: 1, lease_ms: 10_000 })
    yield* outbox.failed(id, "t", "refused by the receiver", undefined)
  }
})

describe("dead letters", () => {
  it.live("are listed, sent again once and given up, with the reason", () =>
    Effect.gen(function* () {
      const store = yield* Homes.durable
      yield* Effect.provide(undelivered, Homes.storesOf(store), { local: true })
      const troupe = yield* Effect.acquireRelease(
        Effect.promise(() => start({ ...options, store } as never)),
        (started) => Effect.promise(() => started.stop())
      )
      yield* Effect.promise(async () => {
        const listed = async (query: Parameters<NodeService["deadLetters"]>[0] = {}, by = olga) =>
          (await troupe.deadLetters(query, by)).map(({ event_id }) => event_id as string)
        assert.sameMembers(await listed(), [letter, other])
        assert.deepStrictEqual(await listed({ handler_name: "nothing" }), [])
        const [newest] = await listed({ limit: 1 })
        assert.deepStrictEqual(
          [newest, ...(await listed({ limit: 1, after: newest! }))],
          await listed()
        )
        assert.deepStrictEqual(await listed({}, stranger), [])
        const away = await refusal(troupe.replayDeadLetter(letter, "again", stranger))
        assert.deepInclude(away, { _tag: "DeadLetterNotFound" })
        await troupe.replayDeadLetter(letter, "the receiver is back", olga)
        const twice = await refusal(troupe.discardDeadLetter(letter, "old", olga))
        assert.deepInclude(twice, { _tag: "DeadLetterResolved" })
        await troupe.discardDeadLetter(other, "stale", olga)
        assert.deepStrictEqual(await listed(), [])
        const [replayed] = await troupe.deadLetters({ status: "replayed" }, olga)
        assert.deepInclude(replayed, {
          event_id: letter,
          resolved_by: "olga",
          resolved_reason: "the receiver is back"
        })
      })
    }).pipe(Effect.scoped)
  )
})

describe("what is asked in another shape", () => {
  const wrong: ReadonlyArray<
    readonly [field: string, ask: (troupe: NodeService) => Promise<unknown>]
  > = [
    ["query.limit", (troupe) => troupe.conversations({ limit: 0 }, olga)],
    ["query.limit", (troupe) => troupe.conversations({ limit: 501 }, olga)],
    ["query.after", (troupe) => troupe.conversations({ after: "a b" }, olga)],
    ["query.also", (troupe) => troupe.conversations({ also: 1 } as never, olga)],
    ["id", (troupe) => troupe.messages("a b", {}, olga)],
    ["query.after", (troupe) => troupe.messages("c", { after: -2 }, olga)],
    ["query.by", (troupe) => troupe.costs({ by: "person" } as never, olga)],
    ["query.from", (troupe) => troupe.costs({ from: 2, to: 1 }, olga)],
    ["query.agent", (troupe) => troupe.costs({ agent: "A B" }, olga)],
    ["query", (troupe) => troupe.costs("all" as never, olga)],
    ["query.status", (troupe) => troupe.deadLetters({ status: "gone" } as never, olga)],
    ["event_id", (troupe) => troupe.replayDeadLetter("7", "again", olga)],
    ["reason", (troupe) => troupe.replayDeadLetter(letter, "", olga)],
    ["reason", (troupe) => troupe.discardDeadLetter(letter, 7 as never, olga)],
    ["by", (troupe) => troupe.costs({}, { id: "x" } as never)]
  ]
  it("is refused with its field", () =>
    withTroupe(async (troupe) => {
      for (const [field, ask] of wrong) {
        const error = await refusal(ask(troupe))
        assert.strictEqual(error._tag, "InvalidInput", `${field}: ${JSON.stringify(error)}`)
        assert.isTrue(
          "field" in error && String(error.field).startsWith(field),
          `${field}: ${JSON.stringify(error)}`
        )
      }
    }))
})
