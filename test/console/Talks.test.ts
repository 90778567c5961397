/** Conversations in the console: found, read as people read them, and gone on with. */
import { assert, describe, it } from "vitest"
import { anna, echo, http, shop, signedIn } from "./ConsoleScene.ts"

type Troupe = Awaited<ReturnType<typeof echo>>

const within = async <T extends { readonly stop: () => Promise<unknown> }>(
  started: Promise<T>,
  use: (troupe: T) => Promise<void>
) => {
  const troupe = await started
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const said = async (troupe: Troupe, text: string, conversation: string) =>
  (await troupe.ask({ agent: "echo", text, conversation }, anna)).run

const texts = async (troupe: Pick<Troupe, "messages">, id: string) =>
  (await troupe.messages(id, { limit: 500 }, anna)).map(({ content }) => content)

const keyIn = (page: string): string =>
  /name="message_key" value="([0-9a-f]{32})"/.exec(page)?.[1] ?? assert.fail("no key")

describe("conversations", () => {
  it("are listed with what was said last, and found by words", () =>
    within(echo(), async (troupe) => {
      const olga = await signedIn(troupe, "olga")
      assert.include((await olga.get("/console/conversations")).text, "Nobody has said anything")
      await said(troupe, "Where is order 1003?", "c-1")
      await said(troupe, "Tell me a story", "c-2")
      const { text } = await olga.get("/console/conversations")
      for (const part of [
        '<a href="/console/conversations/c-1">Where is order 1003?</a>',
        "You said: Tell me a story",
        ">idle</span>",
        "<td>echo</td>",
        "<td>anna</td>"
      ]) {
        assert.include(text, part)
      }
      assert.isBelow(text.indexOf("conversations/c-2"), text.indexOf("conversations/c-1"))
      const found = await olga.get("/console/conversations?search=order+where")
      assert.include(found.text, "conversations/c-1")
      assert.notInclude(found.text, "conversations/c-2")
      assert.include(found.text, 'value="order where"')
      const none = await olga.get("/console/conversations?search=nowhere")
      assert.include(none.text, "None of those that were looked at has these words.")
      const long = await olga.get("/console/conversations?search=a+b+c+d+e+f+g+h+i")
      assert.strictEqual(long.status, 422)
    }))

  it("are gone on with by a message, which is sent once however often its form is", () =>
    within(echo(), async (troupe) => {
      await said(troupe, "hello", "c-1")
      const olga = await signedIn(troupe, "olga")
      const path = "/console/conversations/c-1"
      const message_key = keyIn((await olga.get(path)).text)
      const fields = { message_key, text: "and <b>again</b>" }
      const [first, second] = [await olga.post(path, fields), await olga.post(path, fields)]
      assert.deepStrictEqual([first.location, second.location], [path, path])
      assert.include(first.text, "and &lt;b&gt;again&lt;/b&gt;")
      assert.notStrictEqual(keyIn(first.text), message_key)
      const runs = await troupe.runs({}, anna)
      for (const { id } of runs) await troupe.result(id)
      assert.deepStrictEqual(await texts(troupe, "c-1"), [
        "hello",
        "You said: hello",
        "and <b>again</b>",
        "You said: and <b>again</b>"
      ])
      const { text } = await olga.get(path)
      for (const { id } of runs) assert.include(text, `/console/runs/${id}`)
      assert.include(text, "<b>person</b>")
      assert.include(text, "<b>echo</b>")
      const [, , message] = await troupe.messages("c-1", {}, anna)
      assert.strictEqual(message?.channel_origin, "console")
    }))

  it("begin with a chosen agent", () =>
    within(echo(), async (troupe) => {
      const olga = await signedIn(troupe, "olga")
      const { text } = await olga.get("/console/conversations")
      assert.include(text, "<option>echo</option>")
      const done = await olga.post("/console/conversations", { agent: "echo", text: "hi" })
      const id = /^\/console\/conversations\/(.+)$/.exec(done.location ?? "")?.[1] ?? ""
      assert.strictEqual((await texts(troupe, id))[0], "hi")
      const none = await olga.post("/console/conversations", { agent: "", text: "no <agent>" })
      assert.strictEqual(none.status, 422)
      assert.include(none.text, "no &lt;agent&gt;</textarea>")
      const stray = await olga.post("/console/conversations", { agent: "nobody", text: "hi" })
      assert.strictEqual(stray.status, 404)
      assert.lengthOf(await troupe.conversations({}, anna), 1)
    }))

  it("say what they wait for, and a message that is sent meanwhile waits behind it", () =>
    within(shop(), async (troupe) => {
      const refund = async () => {
        const of = { agent: "billing", text: "refund", conversation: "c-1" }
        const { run } = await troupe.ask(of, anna)
        const [approval] = await troupe.approvals({ run_id: run })
        return { run, id: approval?.id ?? assert.fail("nothing was asked") }
      }
      const before = await refund()
      await troupe.decide(before.id, { decision: "approve" }, anna)
      await troupe.result(before.run)
      const { id, run } = await refund()
      const olga = await signedIn(troupe, "olga")
      const path = "/console/conversations/c-1"
      assert.include((await olga.get("/console/conversations")).text, "awaiting approval")
      const { text } = await olga.post(path, { text: "are you there?" })
      assert.include(text, "waits behind these questions")
      assert.include(text, `/console/inbox/${id}`)
      assert.include(text, "are you there?")
      for (const page of [`/console/runs/${run}`, `/console/inbox/${id}`]) {
        assert.include((await olga.get(page)).text, `href="${path}"`)
      }
      await olga.post(`/console/inbox/${id}`, { decision: "deny", reason: "no" })
      await troupe.result(run)
      assert.notInclude((await olga.get(path)).text, `/console/inbox/${id}`)
    }))

  it("go on from a history of another system, also where that ends with a question", () =>
    within(shop(), async (troupe) => {
      const messages = [
        { role: "user", content: "an old question" },
        { role: "assistant", content: "an old answer" },
        { role: "user", content: "one that nobody answered" }
      ]
      const history = { agent: "billing", format: "chat-completions", messages } as const
      await troupe.importHistory("c-1", history, anna)
      await troupe.ask({ agent: "billing", text: "refund", conversation: "c-1" }, anna)
      const olga = await signedIn(troupe, "olga")
      const { status, text } = await olga.get("/console/conversations/c-1")
      assert.strictEqual(status, 200)
      for (const part of ["an old answer", "imported, ", "waits behind these questions"]) {
        assert.include(text, part)
      }
    }))

  it("keep what was typed where a message is not taken", () =>
    within(
      echo({ http: { ...http, settings: { messages_principal_per_minute: 1 } } }),
      async (troupe) => {
        await said(troupe, "hello", "c-1")
        const olga = await signedIn(troupe, "olga")
        const path = "/console/conversations/c-1"
        assert.strictEqual((await olga.post(path, { text: "" })).status, 422)
        const long = "x".repeat(1_000_001)
        assert.strictEqual((await olga.post(path, { text: long })).status, 413)
        const late = await olga.post(path, { text: "one <more>" })
        assert.strictEqual(late.status, 429)
        assert.include(late.text, "one &lt;more&gt;</textarea>")
        assert.lengthOf(await texts(troupe, "c-1"), 2)
      }
    ))

  it("are not written in by who may not, and not found by another tenant or by no id", () =>
    within(echo(), async (troupe) => {
      await said(troupe, "hello", "c-1")
      const path = "/console/conversations/c-1"
      for (const name of ["vera", "boss"] as const) {
        const browser = await signedIn(troupe, name)
        const { status, text } = await browser.get(path)
        assert.strictEqual(status, 200)
        assert.include(text, "You may read it, and not write.")
        const list = await browser.get("/console/conversations")
        for (const page of [text, list.text]) assert.notInclude(page, 'name="text"')
        assert.strictEqual((await browser.post(path, { text: "mine" })).status, 403)
        const begun = await browser.post("/console/conversations", { agent: "echo", text: "mine" })
        assert.strictEqual(begun.status, 403)
      }
      const other = await signedIn(troupe, "other")
      assert.notInclude((await other.get("/console/conversations")).text, "hello")
      const olga = await signedIn(troupe, "olga")
      for (const [browser, address] of [
        [other, path],
        [olga, "/console/conversations/c-2"],
        [olga, "/console/conversations/%20"]
      ] as const) {
        assert.strictEqual((await browser.get(address)).status, 404, address)
        assert.strictEqual((await browser.post(address, { text: "x" })).status, 404, address)
      }
      assert.strictEqual((await olga.get(`${path}?after=x`)).status, 404)
      assert.lengthOf(await troupe.conversations({}, anna), 1)
      assert.lengthOf(await texts(troupe, "c-1"), 2)
    }))

  it("show the names of files, and texts only as texts", () =>
    within(echo(), async (troupe) => {
      const canary = "<script>alert(1)</script><img src=x>\u202e"
      const parts = [
        { type: "image", media_type: "image/png", data: "AAAA", name: "<img>.png" }
      ] as const
      await troupe.ask({ agent: "echo", text: canary, parts, conversation: "c-1" }, anna)
      const olga = await signedIn(troupe, "olga")
      const pages = [
        await olga.get("/console/conversations"),
        await olga.get("/console/conversations/c-1"),
        await olga.get("/console/conversations?search=%3Cimg+src")
      ]
      for (const { text } of pages) assert.notMatch(text, /<script>|<img|\u202e/)
      assert.include(pages[1]?.text, "[image &quot;&lt;img&gt;.png&quot;, image/png, 3 bytes]")
    }))

  it("lead from the last messages to earlier ones, and from the list to older conversations", () =>
    within(echo(), async (troupe) => {
      for (let n = 0; n < 27; n++) await said(troupe, `m${n}.`, "c-1")
      const olga = await signedIn(troupe, "olga")
      const path = "/console/conversations/c-1"
      assert.include((await olga.get("/console/conversations")).text, `href="${path}?after=28"`)
      const last = await olga.get(`${path}?after=3`)
      assert.notInclude(last.text, ">m1.<")
      for (const part of [">m2.<", ">m26.<", 'name="text"', `href="${path}" rel="prev"`]) {
        assert.include(last.text, part)
      }
      assert.notInclude(last.text, 'rel="next"')
      const first = await olga.get(path)
      assert.include(first.text, ">m0.<")
      assert.include(first.text, `href="${path}?after=49" rel="next"`)
      assert.notInclude(first.text, 'name="text"')
      const sent = await olga.post(`${path}?after=3`, { text: "more" })
      assert.match(sent.location ?? "", /c-1\?after=(29|30)$/)
      assert.include(sent.text, ">more<")
      for (let n = 0; n < 51; n++) await said(troupe, "hello", `d-${n}`)
      const all = await olga.get("/console/conversations?search=hello")
      assert.notInclude(all.text, "/d-0")
      const next = /href="([^"]*)" rel="next"/.exec(all.text)?.[1] ?? assert.fail("no next")
      const older = await olga.get(next.replaceAll("&amp;", "&"))
      assert.include(older.text, "/d-0")
      assert.notInclude(older.text, `${path}?`)
    }))
})
