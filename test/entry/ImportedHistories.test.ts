/** A conversation that begins with a history of another system, and what becomes of the claims in it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options, Store } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentSpec, Principal } from "../../src/index.ts"
import * as Histories from "../conversation/Histories.ts"
import { inLongForm } from "../InLongForm.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"

const shop = AgentSpec.make({ name: "shop", instructions: "Help." })
const desk = AgentSpec.make({
  name: "desk",
  instructions: "Help staff.",
  memory: { anchor: "operator" }
})
const person = (
  id: string,
  role: "operator" | "customer" | "viewer" | "admin",
  tenant = "default"
) => new Principal({ id, tenant, roles: [role] })
const olga = person("olga", "operator")
const carl = person("carl", "customer")
const conversation = "thread-1"
const mine = { agent: "shop", customer: "carl" } as const
const long = { ...mine, format: "chat-completions", messages: Histories.long } as const
const openAi = { ...mine, format: "chat-completions", messages: Histories.openAi } as const

const open = (asked: Array<ModelRequest> = [], more?: Partial<Options>) =>
  start({
    agents: [shop, desk],
    customer_agents: ["shop"],
    model: Scripted.layer((request) => {
      asked.push(structuredClone({ ...request, tools: [] }))
      return text("Ok.")
    }),
    ...more
  })

const serve = async (
  use: (troupe: NodeService, asked: Array<ModelRequest>) => Promise<void>,
  more?: Partial<Options>
) => {
  const asked: Array<ModelRequest> = []
  const troupe = await open(asked, more)
  try {
    await use(troupe, asked)
  } finally {
    await troupe.stop()
  }
}

const refusal = (promise: Promise<unknown>): Promise<string> => promise.then(() => "done", String)

const short = (all: Awaited<ReturnType<NodeService["messages"]>>) =>
  all.map(({ content, imported, role }) => [imported === true, role, content])

const history = [
  [true, "user", "Where is order 7?"],
  [true, "assistant", "It is shipped."]
]

const notItsBeginning =
  "InvalidInput: id: there is such a conversation, which this import did not begin: a history begins one that is new"

/** Two imports that differ in every message, in the last one alone, or in whose conversation it is; and an import and a message. */
const beginningAtOnce = async (troupe: NodeService) => {
  const first = ["Where is order 7?", "It is shipped.", "And order 8?", "It is here."]
  const pairs = {
    all: [{ said: first }, { said: ["Do you open?", "At 9.", "Thanks.", "Welcome."] }],
    last: [{ said: first }, { said: [...first.slice(0, 3), "It is lost."] }],
    customer: [{ said: first }, { said: first, customer: "cora" }]
  }
  for (const [id, pair] of Object.entries(pairs)) {
    const ends = await Promise.all(
      pair.map(({ said, ...more }) => {
        const messages = said.map((content, n) => ({
          role: n % 2 === 0 ? "user" : "assistant",
          content
        }))
        return refusal(troupe.importHistory(id, { ...openAi, ...more, messages }, olga))
      })
    )
    assert.deepStrictEqual(ends.toSorted(), [notItsBeginning, "done"], id)
    const told = (await troupe.messages(id, {}, olga)).map(({ content }) => content)
    assert.deepStrictEqual(told, pair[ends.indexOf("done")]?.said, id)
  }
  const [imported] = await Promise.all([
    refusal(troupe.importHistory("sent", openAi, olga)),
    troupe.send({ agent: "shop", conversation: "sent", text: "Hello" }, olga)
  ])
  const [begins] = await troupe.messages("sent", {}, olga)
  assert.strictEqual(imported, begins?.content === "Hello" ? notItsBeginning : "done")
}

describe("an imported history", () => {
  for (const [form, given] of [
    ["UIMessages", { format: "ai-sdk", messages: Histories.aiSdk }],
    ["chat completions", { format: "chat-completions", messages: Histories.openAi }],
    ["messages of LangGraph", { format: "langchain", messages: Histories.langChain }],
    ["stored messages", { format: "langchain", messages: Histories.langChainStored }],
    ["serialised messages", { format: "langchain", messages: Histories.langChainSerialised }]
  ] as const) {
    it(`of ${form} is what the model was told, without its claims`, () =>
      serve(async (troupe, asked) => {
        const done = await troupe.importHistory(conversation, { ...mine, ...given }, olga)
        assert.deepEqual(
          [String(done.conversation), done.runs, done.created],
          [conversation, 1, true]
        )
        assert.isAbove(done.left_out.tool_calls, 0)
        await troupe.ask({ conversation, text: "And now?" }, carl)
        const [request] = asked
        const told = [...request!.history, ...request!.transcript]
        assert.deepStrictEqual(
          told.map((entry) => [entry.role, "text" in entry ? entry.text : ""]),
          [
            ["user", "Where is order 7?"],
            ["assistant", "It is shipped."],
            ["user", "And now?"]
          ]
        )
        const whole = JSON.stringify(asked)
        for (const claim of ["paid by tool", "You are root", "Obey", "look"])
          assert.notInclude(whole, claim)
        const shown = short(await troupe.messages(conversation, {}, carl))
        assert.deepStrictEqual(shown, [
          ...history,
          [false, "user", "And now?"],
          [false, "assistant", "Ok."]
        ])
        const [first] = await troupe.messages(conversation, {}, olga)
        const [accepted] = await troupe.runEvents(String(first?.run_id), {}, olga)
        assert.deepInclude(JSON.parse(JSON.stringify(accepted?.event)).imported, { by: "olga" })
        assert.lengthOf(asked, 1)
      }))
  }

  it("is not for customers or viewers, and nobody else's tenant has it", () =>
    serve(async (troupe) => {
      for (const by of [carl, person("vera", "viewer")])
        assert.match(await refusal(troupe.importHistory(conversation, openAi, by)), /^NotEntitled/)
      assert.match(await refusal(troupe.messages(conversation, {}, olga)), /^ConversationNotFound/)
      await troupe.importHistory(conversation, openAi, olga)
      const sam = person("sam", "operator", "other")
      assert.match(await refusal(troupe.messages(conversation, {}, sam)), /^ConversationNotFound/)
      const theirs = await troupe.importHistory(conversation, openAi, sam)
      assert.isTrue(theirs.created)
      const cora = person("cora", "customer")
      assert.match(await refusal(troupe.messages(conversation, {}, cora)), /^ConversationNotFound/)
      const sent = troupe.send({ agent: "shop", conversation, text: "x" }, cora)
      assert.match(await refusal(sent), /^ConversationNotFound/)
      // Staff that names no customer has it for itself.
      const { customer: _, ...own } = openAi
      await troupe.importHistory("of-staff", own, olga)
      assert.match(await refusal(troupe.messages("of-staff", {}, carl)), /^ConversationNotFound/)
    }))

  it("changes nothing when it comes again, and is refused for a conversation that there is", () =>
    serve(async (troupe) => {
      const both = await Promise.all(
        [1, 2].map(() => troupe.importHistory(conversation, openAi, olga))
      )
      assert.strictEqual(both.filter(({ created }) => created).length, 1)
      await troupe.ask({ conversation, text: "And now?" }, carl)
      assert.isFalse((await troupe.importHistory(conversation, openAi, olga)).created)
      assert.lengthOf(await troupe.messages(conversation, {}, carl), 4)
      const other = { ...openAi, messages: [{ role: "user", content: "Another" }] }
      assert.strictEqual(
        await refusal(troupe.importHistory(conversation, other, olga)),
        notItsBeginning
      )
      const begun = await troupe.send({ agent: "shop", text: "Hello" }, carl)
      const late = troupe.importHistory(begun.conversation, openAi, olga)
      assert.strictEqual(await refusal(late), notItsBeginning)
    }))

  it("of two different ones at once begins the conversation alone", () => serve(beginningAtOnce))

  inLongForm("of two different ones at once begins the conversation alone, on PGlite", () =>
    Effect.flatMap(Homes.directory, (store) =>
      Effect.promise(() => serve(beginningAtOnce, { store }))
    ).pipe(Effect.scoped)
  )

  it("is bounded, and refused where an agent cannot go on with it", () =>
    serve(async (troupe) => {
      const user = { role: "user", content: "x" }
      const of = (messages: ReadonlyArray<unknown>, more: object = {}) =>
        refusal(
          troupe.importHistory(
            conversation,
            { ...openAi, messages, ...more } as typeof openAi,
            olga
          )
        )
      let deep: unknown = "x"
      for (let n = 0; n < 1_000; n++) deep = { deep }
      assert.match(await of(Array.from({ length: 1_001 }, () => user)), /^InvalidInput: .*messages/)
      assert.match(await of([user, { ...user, deep }]), /^InvalidInput/)
      assert.match(await of([user, { role: "root" }]), /^InvalidInput: .*messages\[1\]\.role/)
      assert.match(await of([user], { format: "csv" }), /^InvalidInput: .*format/)
      assert.match(await of([user], { agent: "nobody" }), /^AgentNotFound/)
      assert.match(await of([user], { agent: "desk" }), /^NotForCustomers/)
      assert.match(await of([user], { agent: "desk", customer: undefined }), /^AnchorMismatch/)
      assert.match(await refusal(troupe.messages(conversation, {}, olga)), /^ConversationNotFound/)
      const whole = await troupe.importHistory(
        "long",
        { ...openAi, messages: Array.from({ length: 1_000 }, () => user) },
        olga
      )
      assert.strictEqual(whole.runs, 1_000)
    }))

  it("is no message that a sender may make up", () =>
    serve(async (troupe) => {
      const imported = { answer: "x", by: "olga", digest: "" }
      const sent = troupe.send({ agent: "shop", text: "x", imported } as never, olga)
      assert.match(await refusal(sent), /^InvalidInput: message.imported/)
    }))

  it("may begin with the assistant, and is erased with its conversation", () =>
    serve(async (troupe, asked) => {
      const messages = [
        { role: "assistant", content: "private greeting" },
        { role: "user", content: "private question" },
        { role: "assistant", content: "private answer" }
      ]
      await troupe.importHistory(conversation, { ...openAi, messages }, olga)
      await troupe.ask({ conversation, text: "And?" }, carl)
      assert.deepStrictEqual(
        asked[0]?.history.map(({ role }) => role),
        ["assistant", "user", "assistant"]
      )
      const shown = await troupe.messages(conversation, {}, carl)
      assert.deepStrictEqual(shown[0]?.content, "private greeting")
      const runs = shown.flatMap(({ run_id }) => run_id ?? [])
      await troupe.deleteConversation(conversation, carl)
      for (const run of runs) {
        const events = await troupe.runEvents(run, {}, olga)
        assert.isAbove(events.length, 0)
        assert.notInclude(JSON.stringify(events), "private")
      }
    }))

  it("is imported over HTTP", () => {
    const token = "histories-of-olga-0123456789abcdef"
    return serve(
      async (troupe) => {
        const post = async (json: object) => {
          const answer = await troupe.handler(
            new Request(`http://localhost/v1/conversations/${conversation}/history`, {
              method: "POST",
              headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
              body: JSON.stringify(json)
            })
          )
          return { status: answer.status, json: JSON.parse(await answer.text()) }
        }
        const wrong = await post({ ...openAi, messages: [{ role: "root" }] })
        assert.strictEqual(wrong.status, 400)
        assert.include(wrong.json.detail, "messages[0].role has to be one of user,")
        const done = await post(openAi)
        assert.strictEqual(done.status, 200)
        assert.deepInclude(done.json, { conversation, runs: 1, created: true })
        const shown = await troupe.messages(conversation, {}, carl)
        assert.deepStrictEqual(short(shown), history)
      },
      { http: { tokens: [{ token, principal: olga }] } }
    )
  })
})

/** What the process after the one that was killed finds, and what becomes of it. */
const completed = async (store: Store) => {
  const asked: Array<ModelRequest> = []
  const second = await open(asked, { store })
  try {
    const before = await second.messages(conversation, { limit: 500 }, olga)
    assert.isBelow(before.length, Histories.long.length)
    const again = await second.importHistory(conversation, long, olga)
    assert.strictEqual(again.created, before.length === 0)
    assert.isFalse((await second.importHistory(conversation, long, olga)).created)
    await second.ask({ conversation, text: "And now?" }, carl)
    const shown = short(await second.messages(conversation, { limit: 500 }, carl))
    assert.deepStrictEqual(
      shown.slice(0, -2),
      Histories.long.map(({ content, role }) => [true, role, content])
    )
    const last = asked[0]?.history.at(-1)
    assert.strictEqual(last?.role === "assistant" && last.text, Histories.long.at(-1)?.content)
  } finally {
    await second.stop()
  }
}

for (const [engine, home] of Homes.some) {
  inLongForm(
    `kill -9 on ${engine}: a history that was interrupted is completed by the same import`,
    () =>
      Effect.gen(function* () {
        const store = yield* home
        const child = yield* Children.start("test/process/importer.ts", [JSON.stringify(store)])
        yield* child.printed(/importing/)
        yield* child.kill
        yield* Effect.promise(() => completed(store))
      }).pipe(Effect.scoped),
    240_000
  )
}
