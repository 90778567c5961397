/** What agents remember in the console: read by who may look, taken back by who may curate. */
import { assert, describe, it } from "vitest"
import { AgentSpec, MemorySpec } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { anna, http, signedIn, tokenOf } from "./ConsoleScene.ts"

/** An agent that notes each message, or corrects its last note by one that begins with "No:". */
const shop = () =>
  start({
    agents: [
      AgentSpec.make({
        name: "keeper",
        instructions: "Note what is said.",
        tools: ["recall", "remember", "correct"],
        memory: MemorySpec.make({ anchor: "workspace", recall_tokens_max: 500 })
      })
    ],
    toolConfigs: {
      tools: [
        { type: "builtin", name: "recall" },
        { type: "builtin", name: "remember", permission: "allow" },
        { type: "builtin", name: "correct", permission: "allow" }
      ]
    },
    model: scripted(({ transcript }) => {
      const [first] = transcript
      const said = first?.role === "user" ? first.text : ""
      const last = transcript.at(-1)
      const result: unknown =
        last?.role === "tool" && last.outcome._tag === "Value"
          ? JSON.parse(last.outcome.json)
          : null
      if (result === null) {
        return said.startsWith("No: ")
          ? call("recall", { query: said.slice(4) })
          : call("remember", { text: said })
      }
      if (!Array.isArray(result)) return text("ok")
      const [{ id, text: was }] = result
      return call("correct", { id, was, text: said.slice(4), reason: "They said so." })
    }),
    http
  })

const within = async (use: (troupe: Awaited<ReturnType<typeof shop>>) => Promise<void>) => {
  const troupe = await shop()
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const canary = `<script>alert(1)</script> Olga "likes" \u202etea`

describe("what an agent remembers", () => {
  it("is found by a conversation, with where it came from, and what it replaced", () =>
    within(async (troupe) => {
      const conversation = "c-1"
      const { run } = await troupe.ask(
        { agent: "keeper", conversation, text: "Olga prefers tea" },
        anna
      )
      await troupe.ask({ agent: "keeper", conversation, text: "No: Olga prefers coffee" }, anna)
      const vera = await signedIn(troupe, "vera")
      const owners = await vera.get("/console/memory")
      const href = "/console/memory?agent=keeper&amp;conversation=c-1&amp;tier=persistent"
      assert.include(owners.text, `href="${href}"`)
      const path = href.replaceAll("&amp;", "&")
      const holds = await vera.get(path)
      assert.include(holds.text, "Olga prefers coffee")
      assert.notInclude(holds.text, "Olga prefers tea")
      const all = await vera.get(`${path}&all=true`)
      assert.include(all.text, "<del>Olga prefers tea</del>")
      assert.include(all.text, "<ins>Olga prefers coffee</ins>")
      assert.include(all.text, "by a model in <a")
      assert.include(all.text, `/console/runs/${run}`)
      assert.notInclude(all.text, "Take back")
      const [row] = await troupe.memories({ agent: "keeper", conversation }, anna)
      const answer = await fetch(
        `${troupe.url}/v1/memories?agent=keeper&conversation=${conversation}`,
        { headers: { authorization: `Bearer ${tokenOf("vera")}` } }
      )
      assert.include(await answer.text(), row?.id ?? "nothing")
      assert.include((await vera.get(path.replace("persistent", "session"))).text, "Nothing is")
    }))

  it("is taken back by operators alone, whereupon what it replaced holds again", () =>
    within(async (troupe) => {
      const conversation = "c-1"
      await troupe.ask({ agent: "keeper", conversation, text: "Olga prefers tea" }, anna)
      await troupe.ask({ agent: "keeper", conversation, text: "No: Olga prefers coffee" }, anna)
      const [row] = await troupe.memories({ agent: "keeper", conversation }, anna)
      const id = row?.id ?? assert.fail("nothing is remembered")
      const path = "/console/memory?agent=keeper&conversation=c-1"
      const vera = await signedIn(troupe, "vera")
      assert.strictEqual((await vera.post(path, { id })).status, 403)
      const other = await signedIn(troupe, "other")
      assert.notInclude((await other.get(path)).text, "Olga")
      assert.notStrictEqual((await other.post(path, { id })).status, 200)
      const olga = await signedIn(troupe, "olga")
      assert.include((await olga.get(path)).text, "what it replaced holds again")
      const done = await olga.post(path, { id })
      assert.strictEqual(done.location, `${path}&tier=persistent`)
      assert.include(done.text, "Olga prefers tea")
      assert.include((await olga.get(`${path}&all=true`)).text, "taken back by olga")
      const [before] = await troupe.memories({ agent: "keeper", conversation }, anna)
      assert.strictEqual(before?.text, "Olga prefers tea")
    }))

  it("is only ever a text, and an odd address names nothing", () =>
    within(async (troupe) => {
      await troupe.ask({ agent: "keeper", conversation: "c-1", text: canary }, anna)
      const olga = await signedIn(troupe, "olga")
      const path = "/console/memory?agent=keeper&conversation=c-1"
      const { text } = await olga.get(path)
      assert.include(text, "&lt;script&gt;alert(1)")
      assert.notInclude(text, "<script>alert")
      assert.notInclude(text, "\u202e")
      for (const odd of [
        "agent=keeper",
        "agent=nobody&conversation=c-1",
        "agent=keeper&conversation=c-1&tier=odd",
        "agent=keeper&conversation=c-1&all=perhaps",
        "agent=keeper&conversation=c-1&after=odd",
        "agent=keeper&conversation=c-1&run=odd",
        "after=odd"
      ]) {
        assert.strictEqual((await olga.get(`/console/memory?${odd}`)).status, 404, odd)
      }
      assert.strictEqual((await olga.post(path, { id: "odd" })).status, 404)
      const gone = await olga.post(path, { id: "00000000-0000-4000-8000-000000000000" })
      assert.include([404, 409], gone.status)
    }))
})
