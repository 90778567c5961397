/** Dead letters in the console: why each was not delivered, and that it is sent again or given up, with a reason. */
import { assert, describe, it, vi } from "vitest"
import { anna, letterId, postOffice, signedIn } from "./ConsoleScene.ts"

type Office = Awaited<ReturnType<typeof postOffice>>

const order = { order: 1003, note: "</pre><script>alert(1)</script>\u202e" }

/** A post office with dead letters. */
const within = async (
  use: (of: Office) => Promise<void>,
  payloads: ReadonlyArray<object> = [order]
) => {
  const of = await postOffice(payloads as never)
  try {
    await waiting(of, payloads.length)
    await use(of)
  } finally {
    await of.troupe.stop()
  }
}

const waiting = ({ troupe }: Office, count: number) =>
  vi.waitFor(async () => assert.lengthOf(await troupe.deadLetters({ limit: 500 }, anna), count), {
    timeout: 10_000
  })

const path = `/console/dead-letters/${letterId(0)}`

describe("dead letters", () => {
  it("are listed, and each says its cause, every attempt and what it tells", () =>
    within(async ({ troupe }) => {
      const olga = await signedIn(troupe, "olga")
      assert.include((await olga.get("/console")).text, path)
      const list = await olga.get("/console/dead-letters")
      for (const said of [path, "post.deliver", "order-0", "refused: &lt;1&gt;"]) {
        assert.include(list.text, said)
      }
      const { text } = await olga.get(path)
      for (const said of [
        "<h2>refused: &lt;1&gt;</h2>",
        "order-0",
        "&quot;order&quot;: 1003",
        "\\u202e",
        "Send again …",
        "Give up …"
      ]) {
        assert.include(text, said)
      }
      assert.notMatch(text, /<script>|\u202e/)
    }))

  it("are sent again, and come back with both attempts where it is refused again", () =>
    within(async (of) => {
      const { receiver, troupe } = of
      const olga = await signedIn(troupe, "olga")
      const again = { decision: "replay", why: "the <b>receiver</b> is back" }
      const early = await olga.post(path, again)
      assert.strictEqual(early.location, path)
      await waiting(of, 1)
      const { text } = await olga.get(path)
      assert.include(text, "refused: &lt;1&gt;")
      assert.include(text, "<h2>refused: &lt;2&gt;</h2>")
      receiver.open = true
      await olga.post(path, again)
      await vi.waitFor(() => assert.deepStrictEqual(receiver.took, [letterId(0)]))
      const done = await olga.get(path)
      assert.include(done.text, "sent again by <b>olga</b>")
      assert.include(done.text, "the &lt;b&gt;receiver&lt;/b&gt; is back")
      assert.notInclude(done.text, 'name="decision"')
      assert.include((await olga.get("/console/dead-letters")).text, "No letter waits.")
      assert.include((await olga.get("/console/dead-letters?status=replayed")).text, path)
      assert.notInclude((await olga.get("/console/dead-letters?status=discarded")).text, path)
    }))

  it("are given up with a reason, and what was typed stays where that is refused", () =>
    within(async ({ receiver, troupe }) => {
      const olga = await signedIn(troupe, "olga")
      const empty = await olga.post(path, { decision: "discard", why: "" })
      assert.strictEqual(empty.status, 422)
      assert.include(empty.text, "<details open>")
      const none = await olga.post(path, { decision: "perhaps", why: "x" })
      assert.strictEqual(none.status, 422)
      const reason = "x".repeat(4_001)
      const long = await olga.post(path, { decision: "replay", why: reason })
      assert.strictEqual(long.status, 422)
      assert.include(long.text, `${reason}</textarea>`)
      receiver.open = true
      const done = await olga.post(path, { decision: "discard", why: "too old" })
      assert.include(done.text, "given up by <b>olga</b>")
      assert.include((await olga.get("/console/dead-letters?status=discarded")).text, path)
      const late = await olga.post(path, { decision: "replay", why: "no, send it" })
      assert.strictEqual(late.status, 409)
      assert.include(late.text, '<pre tabindex="0">no, send it</pre>')
      assert.strictEqual((await troupe.deadLetter(letterId(0), anna)).resolved_reason, "too old")
      assert.deepStrictEqual(receiver.took, [])
    }))

  it("are not sent by who may not, and not found by another tenant or by no id", () =>
    within(async ({ receiver, troupe }) => {
      receiver.open = true
      for (const name of ["vera", "boss"] as const) {
        const browser = await signedIn(troupe, name)
        const { status, text } = await browser.get(path)
        assert.strictEqual(status, 200)
        assert.include(text, "You may not send it again")
        assert.notInclude(text, 'name="decision"')
        for (const decision of ["replay", "discard"]) {
          const { status } = await browser.post(path, { decision, why: "mine" })
          assert.strictEqual(status, 403)
        }
      }
      const other = await signedIn(troupe, "other")
      assert.include((await other.get("/console/dead-letters")).text, "No letter waits.")
      for (const address of [
        path,
        `/console/dead-letters/${letterId(9)}`,
        "/console/dead-letters/x"
      ]) {
        assert.strictEqual((await other.get(address)).status, 404, address)
        const { status } = await other.post(address, { decision: "replay", why: "mine" })
        assert.strictEqual(status, 404, address)
      }
      assert.strictEqual((await other.get("/console/dead-letters?status=odd")).status, 404)
      assert.deepStrictEqual(receiver.took, [])
    }))

  it("lead to the older ones, each on one page", () =>
    within(
      async ({ troupe }) => {
        const olga = await signedIn(troupe, "olga")
        const ids = (text: string) =>
          [...text.matchAll(/dead-letters\/([0-9a-f-]{36})"/g)].map(([, id]) => id)
        const first = await olga.get("/console/dead-letters")
        const next = /href="([^"]*)" rel="next"/.exec(first.text)?.[1] ?? assert.fail("no next")
        const second = await olga.get(next.replaceAll("&amp;", "&"))
        assert.deepStrictEqual([ids(first.text).length, ids(second.text).length], [50, 1])
        assert.notInclude(second.text, 'rel="next"')
        assert.strictEqual(new Set([...ids(first.text), ...ids(second.text)]).size, 51)
      },
      Array.from({ length: 51 }, () => order)
    ))
})
