/** Bulks in the console, in a browser without a script: a count, the steps, and the result as a file. */
import { assert, describe, it, vi } from "vitest"
import {
  anna,
  bank,
  letterId,
  PlainBrowser,
  postOffice,
  shop,
  signedIn,
  tokens
} from "./ConsoleScene.ts"

/** The hidden fields of a page's form that sends to this path; of those with a button of an act, the one of that act. */
const fieldsOf = (text: string, act?: string): Record<string, string> => {
  const unescaped = (given: string) =>
    given
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&")
  for (const [, form = ""] of text.matchAll(/<form method="post"(.*?)<\/form>/gs)) {
    const fields = Object.fromEntries(
      [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
        ([, name = "", value = ""]) => [name, unescaped(value)]
      )
    )
    if (act === undefined ? "result" in fields : fields["act"] === act) return fields
  }
  return assert.fail(`no form ${act ?? "that goes on"}`)
}

/** The page of the count, once it has counted so many. */
const countedAt = (browser: PlainBrowser, path: string, said: string) =>
  vi.waitFor(
    async () => {
      const { status, text } = await browser.get(path)
      assert.strictEqual(status, 200)
      assert.include(text, `<h2>${said}</h2>`)
      return text
    },
    { timeout: 20_000 }
  )

const letters = (count: number) => Array.from({ length: count }, (_, order) => ({ order }))

const path = "/console/bulk/letters"

const within = async (
  count: number,
  use: (of: Awaited<ReturnType<typeof postOffice>>) => Promise<void>
) => {
  const of = await postOffice(letters(count))
  try {
    await use(of)
  } finally {
    await of.troupe.stop()
  }
}

describe("a bulk of dead letters", () => {
  it("is counted, sent again step by step, and its result is a file", () =>
    within(230, async ({ receiver, troupe }) => {
      const olga = await signedIn(troupe, "olga")
      assert.include((await olga.get("/console/dead-letters")).text, `href="${path}"`)
      const none = await olga.get(`${path}?key=nobody&error=%3Cb%3E`)
      assert.include(none.text, "No dead letter that waits fits this filter.")
      assert.include(none.text, 'value="&lt;b&gt;"')
      const page = await countedAt(olga, path, "230 dead letters match")
      const begin = fieldsOf(page, "replay")
      receiver.open = true
      const text = "=1+1 <b>it is back</b>"
      const first = await olga.post(path, { ...begin, text })
      assert.include(first.text, "100 of 230 dead letters")
      assert.include(first.text, '<progress value="100" max="230"')
      assert.notMatch(first.text, /<b>it is back/)
      const second = await olga.post(path, fieldsOf(first.text))
      assert.include(second.text, "200 of 230 dead letters")
      const last = await olga.post(path, fieldsOf(second.text))
      assert.include(last.text, "230 of 230 dead letters: over")
      assert.include(last.text, "230 sent again, 0 skipped")
      assert.notInclude(last.text, "Go on")
      await vi.waitFor(() => assert.lengthOf(receiver.took, 230), { timeout: 20_000 })
      assert.strictEqual(new Set(receiver.took).size, 230)
      const file = await olga.request(`${path}/result`, {
        method: "POST",
        body: new URLSearchParams(fieldsOf(last.text))
      })
      assert.strictEqual(
        file.headers.get("content-disposition"),
        'attachment; filename="bulk-letters.csv"'
      )
      const lines = (await file.text()).split("\r\n")
      assert.strictEqual(lines[0], '"event_id","outcome","why"')
      assert.sameMembers(
        lines.slice(1, -1),
        letters(230).map(({ order }) => `"${letterId(order)}","done",""`)
      )
      const { resolved_by, resolved_reason } = await troupe.deadLetter(letterId(7), anna)
      assert.deepStrictEqual([resolved_by, resolved_reason], ["olga", text])
    }))

  it("leaves alone what the filter does not name, and says what others did meanwhile", () =>
    within(3, async ({ troupe }) => {
      const olga = await signedIn(troupe, "olga")
      const of = `${path}?key=order-1`
      const one = fieldsOf(await countedAt(olga, of, "1 dead letter matches"), "discard")
      const all = fieldsOf(await countedAt(olga, path, "3 dead letters match"), "discard")
      const done = await olga.post(path, { ...one, text: "no order" })
      assert.include(done.text, "1 given up, 0 skipped because somebody was faster, 0 failed.")
      const rest = await olga.post(path, { ...all, text: "too old" })
      assert.include(rest.text, "2 of 3 dead letters: over")
      assert.include(rest.text, "The others matched no more when their turn came")
      // The same form once more, as a browser sends it after a lost connection.
      const twice = await olga.post(path, { ...all, text: "too old" })
      assert.include(twice.text, "0 of 3 dead letters: over")
      const { resolved_reason } = await troupe.deadLetter(letterId(1), anna)
      assert.strictEqual(resolved_reason, "no order")
    }))

  it("is refused without a reason, a right, a key or a page of this service, and for what is not there", () =>
    within(2, async ({ receiver, troupe }) => {
      const olga = await signedIn(troupe, "olga")
      const page = await countedAt(olga, path, "2 dead letters match")
      receiver.open = true
      const fields: Record<string, string> = { ...fieldsOf(page, "replay"), text: "it is back" }
      const wrong = [
        { ...fields, text: "" },
        { ...fields, text: "x".repeat(4_001) },
        { ...fields, act: "cancel" },
        { ...fields, act: "constructor" },
        { ...fields, until: "soon" },
        { ...fields, until: "-1" },
        { ...fields, count: "10001" },
        { ...fields, after: "x" },
        { ...fields, key: "x".repeat(201) },
        { ...fields, dead_to: "now" },
        { ...fields, result: "done" },
        { ...fields, result: `won ${letterId(1)} ` },
        { ...fields, result: "done a \n".repeat(10_001) }
      ]
      for (const given of wrong) {
        const { status } = await olga.post(path, given)
        assert.strictEqual(status, 422, JSON.stringify(given).slice(0, 200))
      }
      assert.strictEqual((await olga.post(path, { ...fields, form_key: "0" })).status, 403)
      const foreign = { origin: "https://elsewhere.example" }
      assert.strictEqual((await olga.post(path, fields, foreign)).status, 403)
      for (const odd of ["/console/bulk/tokens", "/console/bulk/constructor"]) {
        assert.strictEqual((await olga.get(odd)).status, 404)
        assert.strictEqual((await olga.post(odd, fields)).status, 404)
      }
      assert.strictEqual((await olga.get(`${path}?older=2y`)).status, 404)
      assert.strictEqual((await olga.get(`/console/bulk/runs?agent=A%20B`)).status, 422)
      for (const name of ["vera", "boss"] as const) {
        const browser = await signedIn(troupe, name)
        const { text } = await browser.get(path)
        assert.include(text, "You may not do this")
        assert.notInclude(text, 'name="act"')
        assert.notInclude((await browser.get("/console/dead-letters")).text, `href="${path}"`)
        const { form_key: _, ...rest } = fields
        assert.strictEqual((await browser.post(path, rest)).status, 403)
      }
      const other = await signedIn(troupe, "other")
      assert.include((await other.get(path)).text, "No dead letter that waits")
      const { form_key: _, ...rest } = fields
      assert.include((await other.post(path, rest)).text, "0 of 2 dead letters: over")
      assert.lengthOf(await troupe.deadLetters({}, anna), 2)
      assert.deepStrictEqual(receiver.took, [])
      assert.strictEqual(tokens.other.roles[0], "admin")
    }))
})

describe("a bulk of runs and of calls", () => {
  it("cancels those of an agent, and its file has no formula", async () => {
    const troupe = await shop()
    const olga = await signedIn(troupe, "olga")
    const runs: Array<string> = []
    for (let n = 0; n < 3; n++) {
      runs.push((await troupe.ask({ agent: "refunds", text: "Refund it." }, anna)).run)
    }
    assert.include((await olga.get("/console/runs")).text, 'href="/console/bulk/runs"')
    const of = "/console/bulk/runs?agent=refunds&status=awaiting_approval&older="
    const page = await countedAt(olga, of, "3 runs match")
    const hour = await olga.get(`${of}1h`)
    assert.include(hour.text, "No run that is not over fits this filter.")
    const done = await olga.post("/console/bulk/runs", {
      ...fieldsOf(page, "cancel"),
      text: "nobody answers"
    })
    assert.include(done.text, "3 cancelled, 0 skipped")
    for (const run of runs) {
      assert.strictEqual((await troupe.run(run, anna)).reason, "nobody answers")
    }
    const file = await olga.request("/console/bulk/runs/result", {
      method: "POST",
      body: new URLSearchParams({
        ...fieldsOf(done.text),
        result: `skipped ${runs[0]} =cmd|' /c calc'!A0`
      })
    })
    assert.include(await file.text(), `"${runs[0]}","skipped","'=cmd|' /c calc'!A0"`)
    await troupe.stop()
  })

  it("settles all calls of a tool as one thing, or runs them again", async () => {
    const { ask, attempts, troupe } = await bank()
    const olga = await signedIn(troupe, "olga")
    const settle = "/console/bulk/calls"
    const runs = [await ask("1"), await ask("2")]
    assert.include((await olga.get("/console/unknown")).text, `href="${settle}"`)
    const page = await countedAt(olga, `${settle}?tool=pay`, "2 calls match")
    const odd = await olga.post(settle, { ...fieldsOf(page, "succeeded"), text: "{" })
    assert.strictEqual(odd.status, 422)
    const done = await olga.post(settle, { ...fieldsOf(page, "succeeded"), text: '"paid"' })
    assert.include(done.text, "2 settled as succeeded")
    const file = await olga.request(`${settle}/result`, {
      method: "POST",
      body: new URLSearchParams(fieldsOf(done.text))
    })
    const said = await file.text()
    for (const run of runs) assert.include(said, `"${run}","0/1.0","done",""`)
    const third = await ask("3")
    const again = await countedAt(olga, `${settle}?tool=pay`, "1 call matches")
    const sent = await olga.post(settle, fieldsOf(again, "run_again"))
    assert.include(sent.text, "1 to run again")
    assert.strictEqual((await troupe.result(third, anna)).status, "complete")
    assert.deepStrictEqual(attempts, ["1", "2", "3", "3"])
    await troupe.stop()
  })
})
