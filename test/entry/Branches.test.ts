/** A message said anew in place of an earlier one, and an answer given anew: a branch beside the run that stays. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options, Store } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentBusy } from "../../src/delivery/AgentTask.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { AgentSpec, Principal, RunId, tool } from "../../src/index.ts"
import { inLongForm } from "../InLongForm.ts"
import * as Homes from "../process/Homes.ts"

const pay = tool(
  { namespace: "shop", name: "pay", description: "Pays.", side_effects: "external" },
  () => "paid"
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help.",
  tools: ["pay"],
  handoffs: ["desk"]
})
const desk = AgentSpec.make({ name: "desk", instructions: "Help on." })
const person = (id: string, role: "operator" | "customer", tenant = "default") =>
  new Principal({ id, tenant, roles: [role] })
const olga = person("olga", "operator")
const carl = person("carl", "customer")
const cora = person("cora", "customer")
const conversation = "carl:1"

const said = (entry: TranscriptEntry) =>
  entry.role === "user" || entry.role === "assistant" ? entry.text : entry.role

/** Answers with all that the model was told before the message, and the message. */
const echo: Scripted.Script = ({ agent, history, transcript }) => {
  const last = transcript.at(-1)
  if (last?.role === "user" && last.text === "pay") return call("pay")
  if (last?.role === "user" && last.text === "over") return call("transfer_to_desk", { note: "" })
  return text(`${agent}<${[...history, ...transcript].map(said).join("|")}>`)
}

const open = (more?: Partial<Options>) =>
  start({
    agents: [shop, desk],
    tools: [pay],
    customer_agents: ["shop", "desk"],
    model: Scripted.layer(echo),
    ...more
  })

const serve = async (use: (troupe: NodeService) => Promise<void>, more?: Partial<Options>) => {
  const troupe = await open(more)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const speaking =
  (troupe: NodeService, by = carl) =>
  async (said: string, replaces?: string, agent: string | undefined = "shop") => {
    const named = agent === "" ? {} : { agent }
    const answer = await troupe.ask(
      { ...named, conversation, text: said, ...(replaces !== undefined && { replaces }) },
      by
    )
    return { run: answer.run, said: answer.status === "complete" ? answer.text : answer.status }
  }

const tagOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag ?? String(error)
  )

const short = (all: Awaited<ReturnType<NodeService["messages"]>>) =>
  all.map(({ content, superseded }) => `${superseded === true ? "-" : "+"}${content}`)

/** Two messages, the second edited, its answer given anew, and a further message. */
const branched = async (troupe: NodeService) => {
  const say = speaking(troupe)
  await say("a")
  const b = await say("b")
  assert.strictEqual(b.said, "shop<a|shop<a>|b>")
  const edited = await say("c", b.run)
  assert.strictEqual(edited.said, "shop<a|shop<a>|c>")
  const again = await say("", edited.run)
  assert.strictEqual(again.said, "shop<a|shop<a>|c>")
  return { b, edited, again }
}

const followed = "shop<a|shop<a>|c|shop<a|shop<a>|c>|d>"
const current = ["+a", "+shop<a>", "+c", "+shop<a|shop<a>|c>", "+d", `+${followed}`]

describe("a message in place of an earlier one", () => {
  it("is told what was said before that, is followed by later ones, and leaves the old run", () =>
    serve(async (troupe) => {
      const { b, edited } = await branched(troupe)
      assert.strictEqual((await speaking(troupe)("d")).said, followed)
      assert.deepStrictEqual(short(await troupe.messages(conversation, {}, carl)), current)
      const whole = await troupe.messages(conversation, { superseded: true }, carl)
      assert.deepStrictEqual(short(whole), [
        "+a",
        "+shop<a>",
        "-b",
        "-shop<a|shop<a>|b>",
        "-c",
        "-shop<a|shop<a>|c>",
        ...current.slice(2)
      ])
      // The old run is read as before, and the new one says in whose place it stands.
      assert.deepInclude(await troupe.result(b.run, carl), { text: b.said })
      const events = await troupe.runEvents(edited.run, {}, olga)
      assert.deepInclude(events[0]?.event, {
        branch: { replaces: RunId.make(b.run), after: 1 }
      })
      // A page has as many of the current branch as it may have.
      const page = await troupe.messages(conversation, { after: 1, limit: 2 }, carl)
      assert.deepStrictEqual(short(page), current.slice(2, 4))
    }))

  it("may stand in place of the first, and of one in an older branch, which is current then", () =>
    serve(async (troupe) => {
      const { b } = await branched(troupe)
      const say = speaking(troupe)
      const follows = await say("d")
      const first = (await troupe.messages(conversation, {}, carl))[0]?.run_id
      assert.strictEqual((await say("z", first)).said, "shop<z>")
      assert.lengthOf(await troupe.messages(conversation, {}, carl), 2)
      assert.strictEqual((await say("e", b.run)).said, "shop<a|shop<a>|e>")
      const shown = await troupe.messages(conversation, {}, carl)
      assert.deepStrictEqual(short(shown).slice(0, 3), ["+a", "+shop<a>", "+e"])
      assert.strictEqual((await say("f", follows.run)).said, followed.replace("|d>", "|f>"))
    }))

  it("is read past a hundred branches that are not its own", () =>
    serve(async (troupe) => {
      const say = speaking(troupe)
      await say("a")
      let { run } = await say("b")
      for (let n = 0; n < 105; n++) ({ run } = await say("", run))
      const c = await say("c")
      assert.strictEqual(c.said, "shop<a|shop<a>|b|shop<a|shop<a>|b>|c>")
      // What the actor has in memory is of no use to this one.
      assert.strictEqual((await say("", c.run)).said, c.said)
    }))

  it("is refused while the run is at work or waits for people, and changes nothing", () =>
    serve(async (troupe) => {
      const say = speaking(troupe)
      const asked = await say("pay")
      assert.strictEqual(asked.said, "awaiting_approval")
      const again = { agent: "shop", conversation, text: "", replaces: asked.run }
      const refused: unknown = await troupe.send(again, carl).catch((error: unknown) => error)
      assert.instanceOf(refused, AgentBusy)
      assert.strictEqual(refused.replaces, asked.run)
      assert.include(refused.message, "cancel it, or wait for its end")
      await troupe.cancel(asked.run, carl, "no")
      await troupe.result(asked.run, carl)
      assert.strictEqual((await say("x", asked.run)).said, "shop<x>")
    }))

  it("is refused for runs of another conversation, customer or tenant, as for none", () =>
    serve(async (troupe) => {
      const { run } = await speaking(troupe)("a")
      const other = await troupe.ask({ agent: "shop", text: "b" }, carl)
      const coras = await troupe.ask({ agent: "shop", conversation: "cora:1", text: "c" }, cora)
      const staff = await speaking(troupe, olga)("by staff")
      const none = "00000000-0000-4000-8000-000000000000"
      for (const [replaces, by, id] of [
        [other.run, carl, conversation],
        [coras.run, carl, conversation],
        [staff.run, carl, conversation],
        [none, carl, conversation],
        [run, cora, "cora:1"],
        [run, person("sam", "operator", "other"), "their:1"]
      ] as const) {
        const sent = troupe.send({ agent: "shop", conversation: id, text: "x", replaces }, by)
        const refused = await sent.catch((error: { _tag: string; run_id: string }) => error)
        assert.deepInclude(refused, { _tag: "RunNotFound", run_id: replaces }, by.id)
      }
      const fresh = troupe.send({ agent: "shop", text: "x", replaces: run }, carl)
      assert.strictEqual(await tagOf(fresh), "RunNotFound")
      for (const [field, given] of [
        ["message.text", { text: "" }],
        ["message.replaces", { text: "x", replaces: "no id" }]
      ] as const) {
        const sent = troupe.send({ agent: "shop", conversation, ...given }, carl)
        assert.deepInclude(await sent.catch((error: object) => error), { field })
      }
      assert.lengthOf(await troupe.messages(conversation, { superseded: true }, carl), 4)
    }))

  it("is one message under one key, and another one under it is refused", () =>
    serve(async (troupe) => {
      const { run } = await speaking(troupe)("a")
      const keyed = { agent: "shop", conversation, idempotency_key: "k", text: "b" }
      const first = await troupe.send({ ...keyed, replaces: run }, carl)
      await troupe.result(first.run, carl)
      const again = await troupe.send({ ...keyed, replaces: run }, carl)
      assert.deepInclude(again, { run: first.run, created: false })
      assert.strictEqual(await tagOf(troupe.send(keyed, carl)), "IdempotencyConflict")
      const elsewhere = troupe.send({ ...keyed, replaces: first.run }, carl)
      assert.strictEqual(await tagOf(elsewhere), "IdempotencyConflict")
    }))

  it("that waits for people is answered beside within its own branch", () =>
    serve(
      async (troupe) => {
        const say = speaking(troupe)
        await say("a")
        const b = await say("b")
        assert.strictEqual((await say("pay", b.run)).said, "awaiting_approval")
        assert.strictEqual((await say("c")).said, "shop<a|shop<a>|c>")
      },
      { agents: [AgentSpec.make({ ...shop, mailbox: "answer" }), desk] }
    ))

  it("says in whose place it stands also when its conversation is erased", () =>
    serve(async (troupe) => {
      const { b, edited } = await branched(troupe)
      await troupe.deleteConversation(conversation, carl)
      const [first] = await troupe.runEvents(edited.run, {}, olga)
      assert.deepInclude(first?.event, { branch: { replaces: RunId.make(b.run), after: 1 } })
    }))

  it("goes to the agent that had the conversation where the run stands", () =>
    serve(async (troupe) => {
      const say = speaking(troupe)
      await say("a")
      const over = await say("over")
      assert.match(over.said, /^desk</)
      assert.match((await say("b", undefined, "")).said, /^desk</)
      assert.match((await say("c", over.run, "")).said, /^shop<a\|/)
      assert.match((await say("d", undefined, "")).said, /^shop</)
    }))
})

describe("over HTTP, a message", () => {
  it("stands in place of another, which is listed where it is asked for", () => {
    const token = "branches-of-carl-0123456789abcdef"
    const http = { tokens: [{ token, principal: carl }] }
    return serve(
      async (troupe) => {
        const path = `http://localhost/v1/conversations/${conversation}`
        const ask = async (at: string, json?: object) => {
          const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
          const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }
          const answer = await troupe.handler(new Request(`${path}${at}`, { headers, ...body }))
          const read = JSON.parse(await answer.text())
          return { status: answer.status, json: read }
        }
        const say = async (json: object) => {
          const sent = await ask("/messages", { agent: "shop", ...json })
          if (sent.status === 202) await troupe.result(sent.json.run_id, carl)
          return sent
        }
        const { run_id: replaces } = (await say({ text: "a" })).json
        assert.strictEqual((await say({ text: "b", replaces })).status, 202)
        const shown = async (query: string) => short((await ask(query)).json.messages)
        assert.deepStrictEqual(await shown(""), ["+b", "+shop<b>"])
        const whole = ["-a", "-shop<a>", "+b", "+shop<b>"]
        assert.deepStrictEqual(await shown("?superseded=true"), whole)
        const waiting = (await ask("/messages", { agent: "shop", text: "pay" })).json.run_id
        const busy = await say({ text: "", replaces: waiting })
        assert.strictEqual(busy.status, 409)
        assert.include(busy.json.detail, "is not over")
        const absent = await say({ text: "x", replaces: "00000000-0000-4000-8000-000000000000" })
        assert.strictEqual(absent.status, 404)
        assert.strictEqual((await say({ text: "" })).status, 400)
      },
      { http }
    )
  })
})

const survives = async (store: Store) => {
  const first = await open({ store })
  try {
    await branched(first)
    assert.lengthOf(await first.messages(conversation, { superseded: true }, carl), 8)
  } finally {
    await first.stop()
  }
  const second = await open({ store })
  try {
    assert.strictEqual((await speaking(second)("d")).said, followed)
    assert.deepStrictEqual(short(await second.messages(conversation, {}, carl)), current)
    const whole = await second.messages(conversation, { superseded: true }, carl)
    assert.lengthOf(
      whole.filter(({ superseded }) => superseded),
      4
    )
    const page = await second.messages(conversation, { after: 1, limit: 2 }, carl)
    assert.deepStrictEqual(short(page), current.slice(2, 4))
  } finally {
    await second.stop()
  }
}

for (const [engine, home] of Homes.some) {
  inLongForm(
    `a branch goes on after a restart, ${engine}`,
    () => Effect.flatMap(home, (store) => Effect.promise(() => survives(store))),
    120_000
  )
}
