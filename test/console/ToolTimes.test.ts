/** How calls of tools went, in the console and the API: of those that were recorded, of one tenant. */
import { Schema } from "effect"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { assert, describe, it, vi } from "vitest"
import { anna, http, signedIn, tokenOf } from "./ConsoleScene.ts"

const elsewhere = { id: "other", tenant: "elsewhere", roles: ["admin"] }

const reading = tool(
  {
    namespace: "desk",
    name: "read",
    description: "Reads a page.",
    side_effects: "read",
    input: Schema.Struct({ page: Schema.Int })
  },
  ({ page }) => {
    if (page === 2) throw new Error("page 2 is <b>torn</b>")
    return "read"
  }
)

const desk = (record: boolean) =>
  start({
    agents: [agent({ name: "desk", instructions: "Read.", tools: ["read"] })],
    tools: [reading],
    model: scripted(({ step }) => (step <= 4 ? call("read", { page: step }) : text("done"))),
    observe: { record },
    http
  })

describe("how calls went", () => {
  it("is said by tool and day, with a picture, of one tenant", async () => {
    const troupe = await desk(true)
    try {
      await troupe.ask({ agent: "desk", text: "read" }, anna)
      const [times] = await vi.waitFor(async () => {
        const items = await troupe.toolTimes({}, anna)
        assert.strictEqual(items.items[0]?.calls, 4)
        return items.items
      })
      assert.deepInclude(times, { key: "read", calls: 4, failed: 1, refused: 0 })
      assert.isAtLeast(times?.slow_ms ?? -1, times?.median_ms ?? 0)
      const { items: days, is_cut } = await troupe.toolTimes({ by: "day" }, anna)
      assert.isUndefined(is_cut)
      assert.strictEqual(
        days.reduce((sum, { calls }) => sum + calls, 0),
        4
      )
      const later = await troupe.toolTimes({ from: Date.now() + 60_000 }, anna)
      assert.deepStrictEqual(later.items, [])
      const { text: page } = await (await signedIn(troupe, "vera")).get("/console/tools")
      assert.include(page, '<td>read</td><td class="num">4</td><td class="num">1 (25 %)</td>')
      assert.match(page, /<title>\d{4}-\d\d-\d\d: 95 % within \d+ m?s<\/title>/)
      assert.notInclude(page, "torn")
      assert.deepStrictEqual((await troupe.toolTimes({}, elsewhere)).items, [])
      const other = await (await signedIn(troupe, "other")).get("/console/tools")
      assert.include(other.text, "No call was recorded")
      for (const name of ["ada", "feed"]) {
        const headers = { authorization: `Bearer ${tokenOf(name)}` }
        const answer = await fetch(`${troupe.url}/v1/tool-times`, { headers })
        assert.strictEqual(answer.status, 403, name)
      }
    } finally {
      await troupe.stop()
    }
  })

  it("is not known where no call is recorded, and the page says so", async () => {
    const troupe = await desk(false)
    try {
      await troupe.ask({ agent: "desk", text: "read" }, anna)
      const { text: page } = await (await signedIn(troupe, "olga")).get("/console/tools")
      assert.include(page, "No call was recorded in the last two weeks.")
    } finally {
      await troupe.stop()
    }
  })
})
