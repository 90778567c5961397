/** Agents, costs and the kill switch in the console. */
import { assert, describe, it } from "vitest"
import { anna, PlainBrowser, shop, tenant } from "./ConsoleScene.ts"

const within = async (
  given: Parameters<typeof shop>[0],
  use: (
    troupe: Awaited<ReturnType<typeof shop>>,
    signedIn: (name: "olga" | "vera" | "other") => Promise<PlainBrowser>
  ) => Promise<void>
) => {
  const troupe = await shop(given)
  const signedIn = async (name: string) => {
    const browser = new PlainBrowser(troupe.url ?? "")
    await browser.signIn(name)
    return browser
  }
  try {
    await use(troupe, signedIn)
  } finally {
    await troupe.stop()
  }
}

const ask = (troupe: Awaited<ReturnType<typeof shop>>) =>
  troupe.ask({ agent: "billing", text: "refund order-1003" }, anna)

describe("agents", () => {
  it("are shown with their tools, specialists and what they hold", () =>
    within({}, async (troupe, signedIn) => {
      const vera = await signedIn("vera")
      const before = await vera.get("/console/agents")
      for (const said of [
        "billing",
        "refunds",
        "get_order, refund_order",
        "No conversation of it"
      ]) {
        assert.include(before.text, said)
      }
      const { run } = await ask(troupe)
      assert.include((await vera.get("/console/agents")).text, `/console/runs/${run}`)
      assert.notInclude((await (await signedIn("other")).get("/console/agents")).text, run)
    }))
})

describe("costs", () => {
  it("are exact, by group and time, beside what budgets have left", () =>
    within(
      {
        prices: {
          version: "1",
          currency: "EUR",
          prices: [{ model: "*", input: "1", output: "3" }]
        },
        budgets: [{ name: "daily", scope: "tenant", period: "day", calls: 5 }]
      },
      async (troupe, signedIn) => {
        const vera = await signedIn("vera")
        assert.include((await vera.get("/console/costs")).text, "Nothing was counted in this time.")
        const { run } = await ask(troupe)
        const costs = await troupe.costs({ by: "agent" })
        assert.isAtLeast(costs.length, 1)
        const { text } = await vera.get("/console/costs")
        for (const { key, turns } of costs) {
          assert.include(text, `agent=${key}">${key}</a></td>`)
          assert.include(text, `<td class="num">${turns}</td>`)
        }
        assert.match(text, /<td class="num">[\d.]+ EUR<\/td>/)
        assert.include(text, "3 of 5 calls")
        assert.include(
          (await vera.get("/console/costs?by=run&days=1")).text,
          `/console/runs/${run}`
        )
        for (const odd of ["by=odd", "days=2", "days=NaN", "after=x&by=__proto__"]) {
          assert.strictEqual((await vera.get(`/console/costs?${odd}`)).status, 404, odd)
        }
        const other = await signedIn("other")
        assert.notInclude((await other.get("/console/costs")).text, "3 of 5 calls")
      }
    ))
})

describe("the kill switch", () => {
  it("stops the tenant's tools and lets them run again, by operators alone", () =>
    within({}, async (troupe, signedIn) => {
      const [olga, vera, other] = [
        await signedIn("olga"),
        await signedIn("vera"),
        await signedIn("other")
      ]
      const seen = await vera.get("/console/kill-switch")
      assert.include(seen.text, "running")
      assert.notInclude(seen.text, "Stop all tools")
      assert.strictEqual((await vera.post("/console/kill-switch", { on: "true" })).status, 403)
      assert.strictEqual((await olga.post("/console/kill-switch", { on: "perhaps" })).status, 404)
      assert.isFalse(await troupe.toolsStopped(anna).then(({ on }) => on))
      const { location, text } = await olga.post("/console/kill-switch", { on: "true" })
      assert.strictEqual(location, "/console/kill-switch")
      assert.include(text, "No tool of this tenant runs.")
      assert.isTrue(await troupe.toolsStopped(anna).then(({ on }) => on))
      assert.include((await other.get("/console/kill-switch")).text, "running")
      const { run } = await ask(troupe)
      const events = await troupe.runEvents(run, {}, { id: "root", tenant, roles: ["admin"] })
      assert.include(JSON.stringify(events), "KILL_SWITCH")
      await olga.post("/console/kill-switch", { on: "false" })
      assert.strictEqual((await ask(troupe)).status, "awaiting_approval")
    }))
})
