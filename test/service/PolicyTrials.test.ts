/** Policies that are tried on past runs, by method and in the console. */
import { assert, describe, it } from "vitest"
import { anna, echo, shop, signedIn } from "../console/ConsoleScene.ts"

const within = async (use: (troupe: Awaited<ReturnType<typeof shop>>) => Promise<void>) => {
  const troupe = await shop()
  try {
    for (const text of ["one", "two"]) {
      const { run } = await troupe.ask({ agent: "billing", text }, anna)
      const [approval] = await troupe.approvals({ status: "pending" }, anna)
      await troupe.decide(approval?.id ?? "", { decision: "approve" }, anna)
      await troupe.result(run)
    }
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const strict = { rules: [{ pattern: "get_order", permission: "deny" }] }

describe("a policy that is tried", () => {
  it("is the one in force by default, which says what became of each call", () =>
    within(async (troupe) => {
      const { items, ...all } = await troupe.tryPolicy({}, anna)
      const both = { allow: 2, ask: 2, deny: 0 }
      assert.deepInclude(all, { runs: 2, calls: 4, changed: 0, unknown: 0, was: both, now: both })
      assert.deepStrictEqual(
        items.map(({ agent, now, tool }) => [agent, tool, now]),
        [
          ["refunds", "get_order", { allow: 2, ask: 0, deny: 0 }],
          ["refunds", "refund_order", { allow: 0, ask: 2, deny: 0 }]
        ]
      )
      assert.deepStrictEqual([all.changes, all.left_out], [[], []])
      assert.isUndefined(all.next_after)
    }))

  it("changes nothing, and names the calls that it would have changed", () =>
    within(async (troupe) => {
      const before = await troupe.runs({})
      const found = await troupe.tryPolicy({ policy: strict }, anna)
      assert.deepInclude(found, { changed: 2, now: { allow: 0, ask: 2, deny: 2 } })
      assert.deepStrictEqual(
        found.changes.map(({ agent, now, tool, was }) => [agent, tool, was, now]),
        [1, 2].map(() => ["refunds", "get_order", "allow", "deny"])
      )
      assert.sameMembers(
        found.changes.map(({ run_id }) => run_id),
        before.map(({ id }) => id)
      )
      assert.deepStrictEqual(await troupe.runs({}), before)
    }))

  it("is tried on as many runs as are asked for, in a time, and goes on behind them", () =>
    within(async (troupe) => {
      const [newest, oldest] = await troupe.runs({})
      const first = await troupe.tryPolicy({ limit: 1 }, anna)
      assert.deepInclude(first, { runs: 1, calls: 2 })
      assert.strictEqual(first.next_after, newest?.id)
      const rest = await troupe.tryPolicy({ limit: 1, after: first.next_after ?? "" }, anna)
      assert.deepInclude(rest, { runs: 1, calls: 2 })
      const none = await troupe.tryPolicy({ created_to: oldest?.created_at ?? 0 }, anna)
      assert.deepInclude(none, { runs: 0, calls: 0 })
      const others = await troupe.tryPolicy({ agent: "refunds" }, anna)
      assert.strictEqual(others.runs, 0)
    }))

  it("leaves forks out, and runs that were erased", () =>
    within(async (troupe) => {
      const [newest, oldest] = await troupe.runs({})
      const { id } = await troupe.fork(newest?.id ?? "", {}, anna)
      await troupe.result(id)
      assert.deepInclude(await troupe.tryPolicy({}, anna), { runs: 2, calls: 4, left_out: [] })
      await troupe.deleteConversation(oldest?.conversation ?? "", {
        id: "root",
        tenant: "default",
        roles: ["admin"]
      })
      const left = await troupe.tryPolicy({}, anna)
      assert.deepInclude(left, { runs: 1, calls: 2 })
    }))

  it("is one that a start would take, and for those who may look into runs", () =>
    within(async (troupe) => {
      for (const policy of [
        { mode: "sometimes" },
        { rules: [{ pattern: "get_*", permission: "deny" }] },
        { rules: [{ pattern: "get_order", permission: "deny", roles: ["nobody"] }] },
        { version: "x".repeat(70_000) }
      ]) {
        const refused = await troupe.tryPolicy({ policy }, anna).catch((error) => String(error))
        assert.match(String(refused), /policy/)
      }
      const ada = { id: "ada", tenant: "default", roles: ["customer"] } as const
      const refused = await troupe.tryPolicy({}, ada).catch((error) => error._tag)
      assert.strictEqual(refused, "NotEntitled")
      const other = { id: "boss", tenant: "elsewhere", roles: ["admin"] } as const
      assert.deepInclude(await troupe.tryPolicy({}, other), { runs: 0, calls: 0 })
    }))
})

describe("coverage in the console", () => {
  it("shows each tool by agent, and what another policy would change", () =>
    within(async (troupe) => {
      const vera = await signedIn(troupe, "vera")
      const { text } = await vera.get("/console/coverage?days=1")
      assert.include(text, "4 calls in 2 runs: of these, 2 ask and 0 are denied.")
      assert.include(text, "<td>refunds › get_order</td>")
      assert.include(text, "Try another policy")
      const policy = JSON.stringify(strict)
      const tried = await vera.post("/console/coverage", { days: "30", policy })
      assert.strictEqual(tried.status, 200)
      assert.include(tried.text, "2 would ask and 2 would be denied.")
      assert.include(tried.text, "<b>2 → 0</b>")
      assert.include(tried.text, "What it changes")
      const [run] = await troupe.runs({})
      assert.include(tried.text, `/console/runs/${run?.id}`)
      for (const broken of ['{"mode": ', '{"mode":"sometimes"}', "[]", ""]) {
        const refused = await vera.post("/console/coverage", { days: "7", policy: broken })
        assert.strictEqual(refused.status, 400, broken)
        assert.include(refused.text, "policy: ")
        assert.include(refused.text, `${broken.replaceAll('"', "&quot;")}</textarea>`)
      }
      assert.strictEqual((await vera.get("/console/coverage?days=3")).status, 404)
      const key = await vera.post("/console/coverage", { form_key: "none", policy })
      assert.strictEqual(key.status, 403)
    }))

  it("says what would stand there where nothing was called", async () => {
    const troupe = await echo()
    try {
      const olga = await signedIn(troupe, "olga")
      assert.include((await olga.get("/console/coverage")).text, "No tool was called in this time.")
    } finally {
      await troupe.stop()
    }
  })
})
