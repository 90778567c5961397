/** Unknown outcomes in the console: what each call was, and what its operator says became of it. */
import { assert, describe, it } from "vitest"
import { bank, signedIn } from "./ConsoleScene.ts"

type Bank = Awaited<ReturnType<typeof bank>>

const within = async (use: (of: Bank) => Promise<void>, ...given: Parameters<typeof bank>) => {
  const of = await bank(...given)
  try {
    await use(of)
  } finally {
    await of.troupe.stop()
  }
}

const settledOf = async ({ troupe }: Bank, run: string) =>
  (await troupe.runEvents(run, {})).flatMap(({ event }) =>
    event._tag === "CallSettled" ? [event] : []
  )

describe("unknown outcomes", () => {
  it("are listed with run and age, and each says what was sent and why", () =>
    within(async ({ ask, troupe }) => {
      const olga = await signedIn(troupe, "olga")
      const empty = await olga.get("/console/unknown")
      assert.include(empty.text, "Every call has an outcome.")
      const run = await ask("invoice-7")
      assert.include((await olga.get("/console")).text, `/console/unknown/${run}`)
      const list = await olga.get("/console/unknown")
      for (const said of [`/console/unknown/${run}`, "call 0/1.0", "ago</time>", "1 call waits"]) {
        assert.include(list.text, said)
      }
      const { text } = await olga.get(`/console/unknown/${run}`)
      for (const said of [
        `/console/runs/${run}`,
        "“invoice-7”",
        "“for the delivery”",
        "<b>anna</b>",
        "became unknown",
        "This may do it twice"
      ]) {
        assert.include(text, said)
      }
    }))

  it("are settled as succeeded with the result that was typed, or as failed with a message", () =>
    within(async (of) => {
      const { ask, attempts, troupe } = of
      const olga = await signedIn(troupe, "olga")
      const call = "0/1.0"
      const paid = await ask("invoice-7")
      const done = await olga.post(`/console/unknown/${paid}`, {
        call,
        decision: "succeeded",
        result: '{"receipt": 1.10}'
      })
      assert.strictEqual(done.location, `/console/unknown/${paid}`)
      assert.include(done.text, "No call of this run is unknown any more.")
      const [settled] = await settledOf(of, paid)
      assert.deepInclude(settled, {
        by: "olga",
        outcome: { _tag: "Value", json: '{"receipt": 1.10}' }
      })
      const lost = await ask("invoice-8")
      await olga.post(`/console/unknown/${lost}`, {
        call,
        decision: "failed",
        message: "no <b>such</b> account"
      })
      const [failed] = await settledOf(of, lost)
      assert.deepInclude(failed, { by: "olga" })
      assert.include(JSON.stringify(failed), "no <b>such</b> account")
      assert.strictEqual((await troupe.result(lost)).status, "complete")
      assert.deepStrictEqual(attempts, ["invoice-7", "invoice-8"])
    }))

  it("run again only where somebody says so", () =>
    within(async (of) => {
      const run = await of.ask("invoice-7")
      const olga = await signedIn(of.troupe, "olga")
      await olga.post(`/console/unknown/${run}`, { call: "0/1.0", decision: "run_again" })
      assert.strictEqual((await of.troupe.result(run)).status, "complete")
      assert.deepStrictEqual(of.attempts, ["invoice-7", "invoice-7"])
      const [settled] = await settledOf(of, run)
      assert.include(JSON.stringify(settled), "invoice-7 is paid")
    }))

  it("keep what was typed where it is no result, no message or too late", () =>
    within(async (of) => {
      const run = await of.ask("invoice-7")
      const olga = await signedIn(of.troupe, "olga")
      const path = `/console/unknown/${run}`
      const call = "0/1.0"
      const broken = await olga.post(path, { call, decision: "succeeded", result: '{"paid": tr' })
      assert.strictEqual(broken.status, 422)
      assert.include(broken.text, "{&quot;paid&quot;: tr</textarea>")
      assert.include(broken.text, "<details open>")
      const inexact = "12345678901234567890"
      const long = await olga.post(path, { call, decision: "succeeded", result: inexact })
      assert.strictEqual(long.status, 422)
      const empty = await olga.post(path, { call, decision: "failed", message: "" })
      assert.strictEqual(empty.status, 422)
      assert.include(empty.text, "Say what went wrong")
      const none = await olga.post(path, { call, decision: "perhaps" })
      assert.strictEqual(none.status, 422)
      assert.strictEqual((await settledOf(of, run)).length, 0)
      await olga.post(path, { call, decision: "succeeded", result: "1" })
      const late = await olga.post(path, { call, decision: "succeeded", result: '"mine"' })
      assert.strictEqual(late.status, 409)
      assert.include(late.text, '<pre tabindex="0">&quot;mine&quot;</pre>')
      const stray = await olga.post(path, { call: "7/7.7", decision: "failed", message: "x" })
      assert.strictEqual(stray.status, 409)
    }))

  it("are not settled by who may not, and not found by another tenant", () =>
    within(async (of) => {
      const run = await of.ask("invoice-7")
      const path = `/console/unknown/${run}`
      const answer = { call: "0/1.0", decision: "run_again" }
      for (const name of ["vera", "boss"] as const) {
        const browser = await signedIn(of.troupe, name)
        const { status, text } = await browser.get(path)
        assert.strictEqual(status, 200)
        assert.include(text, "You may not settle this one")
        assert.notInclude(text, 'name="decision"')
        assert.strictEqual((await browser.post(path, answer)).status, 403)
      }
      const other = await signedIn(of.troupe, "other")
      assert.notInclude((await other.get("/console/unknown")).text, run)
      for (const address of [path, "/console/unknown/x", `/console/unknown/${"0".repeat(8)}`]) {
        assert.strictEqual((await other.get(address)).status, 404, address)
        assert.strictEqual((await other.post(address, answer)).status, 404, address)
      }
      assert.deepStrictEqual(of.attempts, ["invoice-7"])
    }))

  it("show texts only as texts", () =>
    within(
      async (of) => {
        const run = await of.ask("<img src=x>")
        const olga = await signedIn(of.troupe, "olga")
        const typed = {
          call: "0/1.0",
          decision: "failed",
          message: `</textarea><img>${"x".repeat(4_000)}`
        }
        for (const { text } of [
          await olga.get("/console/unknown"),
          await olga.get(`/console/unknown/${run}`),
          await olga.post(`/console/unknown/${run}`, typed)
        ]) {
          const own = /<script src="\/console\/(?:keys.js" defer|htmx.js" nonce="[0-9a-f]{32}")>/g
          assert.notMatch(text.replaceAll(own, ""), /<script|<img|\u202e/)
        }
        const { text } = await olga.get(`/console/unknown/${run}`)
        assert.include(text, "‹U+202E›")
      },
      {},
      "<script>alert(1)</script>\u202e"
    ))
})
