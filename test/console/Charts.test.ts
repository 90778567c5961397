/** Pictures of numbers: drawn to scale, with the numbers behind them, and lists as files. */
import { Principal } from "troupe"
import { insightsPage } from "../../layers/console/RegisterPages.ts"
import { assert, describe, it } from "vitest"
import { barChart, columnChart, daysBetween } from "../../layers/console/Charts.ts"
import { documentOf } from "../../layers/console/Html.ts"
import { dayOf } from "../../src/value/Times.ts"
import { anna, shop, signedIn, tokenOf } from "./ConsoleScene.ts"

const prices = { version: "1", currency: "EUR", prices: [{ model: "*", input: "1", output: "3" }] }

const within = async (use: (troupe: Awaited<ReturnType<typeof shop>>) => Promise<void>) => {
  const troupe = await shop({ prices })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const refund = (troupe: Awaited<ReturnType<typeof shop>>, text = "refund it") =>
  troupe.ask({ agent: "billing", text }, anna)

const numbers = (text: string, attribute: string): ReadonlyArray<number> =>
  [...text.matchAll(new RegExp(`<rect[^>]* ${attribute}="([\\d.]+)"[^>]*class="model"`, "g"))].map(
    ([, number]) => Number(number)
  )

describe("a picture", () => {
  it("has columns as tall as their numbers, and says each", () => {
    const of = (value: number) => ({
      name: `n${value}`,
      says: `says ${value}`,
      parts: [{ kind: "model", value }]
    })
    const svg = documentOf(columnChart("Numbers", [of(0), of(1), of(2), of(4)]))
    const [one = 0, two = 0, four = 0, ...others] = numbers(svg, "height")
    assert.deepStrictEqual(others, [])
    assert.closeTo(two, one * 2, 0.02)
    assert.closeTo(four, one * 4, 0.03)
    for (const value of [0, 1, 2, 4]) assert.include(svg, `<title>says ${value}</title>`)
    for (const tick of [0, 1, 2, 3, 4]) assert.include(svg, `>${tick}</text>`)
  })

  it("can be of nothing, of very little and of very much", () => {
    for (const value of [0, 5e-324, 0.1, 9e15, Number.MAX_VALUE / 4]) {
      const svg = documentOf(
        columnChart("N", [{ name: "a", says: "a", parts: [{ kind: "model", value }] }])
      )
      assert.notMatch(svg, /NaN|Infinity/, String(value))
      const bars = documentOf(barChart("N", [{ name: "a", value, text: "a" }]))
      assert.notMatch(bars, /NaN|Infinity/, String(value))
    }
    assert.notMatch(documentOf(columnChart("N", [])), /NaN|Infinity/)
    assert.notMatch(documentOf(barChart("N", [])), /NaN|Infinity/)
  })

  it("has the longest bars first, 12 of them, and says that there are more", () => {
    const bars = Array.from({ length: 30 }, (_, at) => ({
      name: `bar-${at}`,
      value: at,
      text: `${at} EUR`,
      href: `/console/${at}`
    }))
    const svg = documentOf(barChart("Costs", bars))
    const widths = numbers(svg, "width")
    assert.deepStrictEqual(
      widths,
      widths.toSorted((a, b) => b - a)
    )
    assert.lengthOf(widths, 12)
    assert.include(svg, `aria-label="bar-29: 29 EUR"`)
    assert.notInclude(svg, "bar-17")
    assert.include(svg, "The 12 highest of 30 are drawn.")
  })

  it("has each day of a time in UTC, the last 400 of a long one", () => {
    const at = Date.parse("2028-02-28T23:59:59.999Z")
    assert.deepStrictEqual(daysBetween(at, at + 86_400_001), [
      "2028-02-28",
      "2028-02-29",
      "2028-03-01"
    ])
    const many = daysBetween(0, at)
    assert.strictEqual(many.length, 400)
    assert.strictEqual(many.at(-1), "2028-02-28")
    assert.deepStrictEqual(daysBetween(at, 0), [])
    assert.strictEqual(dayOf(8_640_000_000_000_000), "9999-12-31")
  })
})

describe("costs", () => {
  it("are drawn by day and by group, with their numbers behind, and of one of them alone", () =>
    within(async (troupe) => {
      await refund(troupe)
      const vera = await signedIn(troupe, "vera")
      const [day] = await troupe.costs({ by: "day" })
      const today = dayOf(Date.now())
      assert.strictEqual(day?.key, today)
      const cost = `${day?.amounts[0]?.amount} EUR`
      const { text } = await vera.get("/console/costs?days=7")
      assert.include(text, `<title>${today}: ${cost}</title>`)
      assert.strictEqual(text.split(": nothing</title>").length - 1, 7)
      assert.match(text, new RegExp(`<td>${today}</td><td class="num">${cost}</td>`))
      assert.include(text, 'aria-label="refunds: ')
      const tokens = await vera.get("/console/costs?show=tokens")
      assert.match(tokens.text, new RegExp(`<title>${today}: [\\d,]+ tokens</title>`))
      const one = await vera.get("/console/costs?by=model&agent=refunds")
      const [of] = await troupe.costs({ by: "day", agent: "refunds" })
      assert.include(one.text, `<title>${today}: ${of?.amounts[0]?.amount} EUR</title>`)
      assert.include(one.text, "Only of the agent <b>refunds</b>")
      for (const odd of ["show=odd", "agent=no%20name", "days=8"]) {
        assert.strictEqual((await vera.get(`/console/costs?${odd}`)).status, 404, odd)
      }
      const other = await signedIn(troupe, "other")
      assert.include((await other.get("/console/costs")).text, "Nothing was counted in this time.")
    }))
})

describe("decisions", () => {
  it("are drawn by day, and counted by day in the API", () =>
    within(async (troupe) => {
      const { run } = await refund(troupe)
      const [approval] = await troupe.approvals({ run_id: run })
      await troupe.decide(approval?.id ?? "", { decision: "deny", reason: "no" }, anna)
      await refund(troupe)
      const today = dayOf(Date.now())
      const { items } = await troupe.approvalInsights({ by: "day" })
      assert.deepStrictEqual(
        items.map(({ asked, deny, key, pending }) => [key, asked, deny, pending]),
        [[today, 2, 1, 1]]
      )
      const { text } = await (
        await signedIn(troupe, "vera")
      ).get("/console/decisions/insights?by=day")
      assert.include(text, `<title>${today}: 1 denied, 1 waits, expired or cancelled</title>`)
      assert.strictEqual(text.split(": none</title>").length - 1, 14)
    }))
})

describe("how long questions waited", () => {
  const day = 86_400_000
  const now = Date.parse("2026-11-30T12:00:00Z")
  const none = { asked: 1, approve: 1, modify: 0, request_revision: 0, deny: 0 }
  const insight = (key: string, wait_median_ms: number | undefined) => ({
    ...none,
    key,
    expired: 0,
    cancelled: 0,
    pending: 0,
    ...(wait_median_ms === undefined ? undefined : { wait_median_ms })
  })
  const drawn = (waits: ReadonlyArray<number | undefined>) => {
    const principal = new Principal({ id: "vera", tenant: "default", roles: ["viewer"] })
    const view = { path: "/console", principal, form_key: "k", nonce: "n", now }
    const items = waits.map((wait, at) =>
      insight(new Date(now - (waits.length - 1 - at) * day).toISOString().slice(0, 10), wait)
    )
    const text = documentOf(insightsPage(view, { items, by: "day", line: "" }))
    const [, unit] = /waited at most, in (\w+), each day/.exec(text) ?? []
    const heights = [
      ...text.matchAll(/<title>[^<]*half within [^<]*<\/title>(?:<rect[^>]*>(?:<\/rect>)?){2}/g)
    ].map(([column]) => Number(/height="([\d.]+)"[^>]*class="person"/.exec(column)?.[1]))
    return { unit, heights, text }
  }

  it("is drawn to scale by day, in the unit of the longest wait", () => {
    const { heights, text, unit } = drawn([3_600_000, undefined, 7_200_000])
    assert.strictEqual(unit, "hours")
    assert.lengthOf(heights, 2)
    assert.closeTo((heights[1] ?? 0) / (heights[0] ?? 1), 2, 0.01)
    assert.include(text, "2026-11-30: half within 2 h")
    assert.include(text, "2026-11-29: none was answered")
    assert.strictEqual(drawn([5_000]).unit, "seconds")
    assert.strictEqual(drawn([90_000]).unit, "minutes")
    assert.strictEqual(drawn([3 * day]).unit, "days")
  })
})

describe("lists as files", () => {
  it("have the rows of the page, and no formula", () =>
    within(async (troupe) => {
      const { run } = await refund(troupe, '=HYPERLINK("x"),\n"two"')
      const [approval] = await troupe.approvals({ run_id: run })
      const reason = "+1\u202e"
      await troupe.decide(approval?.id ?? "", { decision: "deny", reason }, anna)
      const vera = await signedIn(troupe, "vera")
      const csv = async (path: string) => {
        const answer = await vera.request(`/console/${path}`)
        assert.strictEqual(answer.status, 200, path)
        assert.strictEqual(answer.headers.get("content-type"), "text/csv; charset=utf-8")
        return { text: await answer.text(), name: answer.headers.get("content-disposition") }
      }
      const runs = await csv("runs.csv")
      assert.strictEqual(runs.name, 'attachment; filename="runs.csv"')
      assert.include(runs.text, `"${run}"`)
      assert.include(runs.text, `"'=HYPERLINK(""x""),\n""two"""`)
      assert.notInclude((await csv("runs.csv?status=failed")).text, run)
      const decisions = await csv("decisions.csv?tool=refund_order")
      assert.include(decisions.text, `"deny","anna",,`)
      assert.include(decisions.text, `"'+1‹U+202E›"`)
      assert.notInclude((await csv("decisions.csv?tool=other")).text, run)
      const costs = await csv("costs.csv?by=model&days=7")
      assert.strictEqual(costs.name, 'attachment; filename="costs-by-model.csv"')
      const [total] = await troupe.costs({ by: "model" })
      assert.include(
        costs.text,
        `"${total?.key}","EUR","${total?.amounts[0]?.amount}",${total?.turns},`
      )
    }))

  it("are as the API has them in JSON, and are kept from others", () =>
    within(async (troupe) => {
      await refund(troupe)
      const vera = await signedIn(troupe, "vera")
      const headers = { authorization: `Bearer ${tokenOf("vera")}` }
      for (const [path, api] of [
        ["runs.json", "runs"],
        ["decisions.json?status=expired", "approvals?status=expired&order=newest"],
        ["costs.json?by=model", "costs?by=model"]
      ]) {
        const answer = await vera.request(`/console/${path}`)
        assert.strictEqual(answer.headers.get("content-type"), "application/json")
        const same = await (await fetch(`${troupe.url}/v1/${api}`, { headers })).json()
        assert.deepStrictEqual(await answer.json(), same, path)
      }
      const other = await signedIn(troupe, "other")
      for (const path of ["runs", "decisions", "costs"]) {
        for (const kind of ["csv", "json"]) {
          const { status, text } = await other.get(`/console/${path}.${kind}`)
          assert.strictEqual(status, 200)
          assert.isBelow(text.length, 200, path)
          const nobody = await fetch(`${troupe.url}/console/${path}.${kind}`, {
            redirect: "manual"
          })
          assert.strictEqual(nobody.status, 303)
        }
      }
      assert.strictEqual((await vera.get("/console/runs.csv?status=odd")).status, 404)
      assert.strictEqual((await vera.get("/console/decisions.csv?from=odd")).status, 422)
    }))

  it("go on over several pages", () =>
    within(async (troupe) => {
      for (let at = 0; at < 52; at++) await refund(troupe, `message ${at}`)
      const vera = await signedIn(troupe, "vera")
      const { text } = await vera.get("/console/runs.csv")
      for (let at = 0; at < 52; at++) assert.include(text, `"message ${at}"`)
    }))
})
