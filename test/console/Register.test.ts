/** The register of decisions in the console, and the list of the API from which it is made. */
import { assert, describe, it } from "vitest"
import type { Approval } from "../../src/approval/Approval.ts"
import { insightsOf } from "../../src/approval/ApprovalInsights.ts"
import type { ArgumentsOf } from "../../src/operation/Operation.ts"
import type * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import { anna, shop, signedIn, tokenOf } from "./ConsoleScene.ts"

type Shop = Awaited<ReturnType<typeof shop>>

/** A shop with a question that was approved, one that was denied with a text, one of a cancelled run, and one that waits. */
const within = async (
  use: (of: {
    readonly troupe: Shop
    readonly ids: Readonly<Record<"approved" | "denied" | "cancelled" | "waiting", string>>
  }) => Promise<void>,
  reason = "it came"
) => {
  const troupe = await shop()
  const ask = async () => {
    const { run } = await troupe.ask({ agent: "billing", text: "refund order-1003" }, anna)
    const [approval] = await troupe.approvals({ run_id: run }, anna)
    return { run, id: approval?.id ?? assert.fail("nothing was asked") }
  }
  try {
    const [approved, denied, cancelled] = [await ask(), await ask(), await ask()]
    const olga = await signedIn(troupe, "olga")
    await olga.post(`/console/inbox/${denied.id}`, { decision: "deny", reason })
    const boss = await signedIn(troupe, "boss")
    await boss.post(`/console/inbox/${approved.id}`, { decision: "approve" })
    await troupe.cancel(cancelled.run, anna, "enough")
    const waiting = await ask()
    const ids = {
      approved: approved.id,
      denied: denied.id,
      cancelled: cancelled.id,
      waiting: waiting.id
    }
    await use({ troupe, ids })
  } finally {
    await troupe.stop()
  }
}

/** The questions that a page links to, in its order. */
const linked = (text: string) =>
  Array.from(text.matchAll(/<a href="\/console\/inbox\/([0-9a-f-]{36})"/g), ([, id]) => id)

describe("the list of approvals", () => {
  it("is chosen by who, what, when and how, newest or oldest first", () =>
    within(async ({ ids, troupe }) => {
      const { approved, cancelled, denied, waiting } = ids
      const listed = async (query: ArgumentsOf<typeof ApprovalOperations.list>[0]) =>
        (await troupe.approvals(query, anna)).map(({ id }) => id)
      const decided = { status: "decided", order: "newest" } as const
      assert.deepStrictEqual(await listed(decided), [denied, approved])
      assert.deepStrictEqual(await listed({ status: "decided" }), [approved, denied])
      assert.deepStrictEqual(await listed({ ...decided, decided_by: "boss" }), [approved])
      assert.deepStrictEqual(await listed({ ...decided, decision: "deny" }), [denied])
      assert.deepStrictEqual(await listed({ ...decided, decision: "modify" }), [])
      const { agent_name, tool_name } = (await troupe.approval(waiting, anna)).payload
      const { requested_at, tool_key } = await troupe.approval(approved, anna)
      for (const tool of [tool_name, tool_key]) {
        assert.deepStrictEqual(await listed({ ...decided, tool }), [denied, approved], tool)
      }
      assert.deepStrictEqual(await listed({ ...decided, tool: "refund" }), [])
      assert.deepStrictEqual(await listed({ ...decided, agent: agent_name as never }), [
        denied,
        approved
      ])
      assert.deepStrictEqual(await listed({ ...decided, agent: "billing" as never }), [])
      assert.deepStrictEqual(await listed({ ...decided, requested_to: requested_at }), [])
      assert.include(
        await listed({ ...decided, requested_from: requested_at, requested_to: requested_at + 1 }),
        approved
      )
      assert.deepStrictEqual(await listed({ status: "cancelled", tool: tool_name }), [cancelled])
      assert.deepStrictEqual(await listed({ ...decided, tool: tool_name, limit: 1 }), [denied])
      const after = denied as never
      assert.deepStrictEqual(await listed({ ...decided, tool: tool_name, after }), [approved])
    }))

  it("says over HTTP where its next page begins, with filters and without", () =>
    within(async ({ ids, troupe }) => {
      const { approved, denied } = ids
      const get = async (query: string) => {
        const answer = await fetch(`${troupe.url}/v1/approvals?${query}`, {
          headers: { authorization: `Bearer ${tokenOf("vera")}` }
        })
        return (await answer.json()) as { items: Array<{ id: string }>; next_after?: string }
      }
      for (const filter of ["", "&tool=refund_order"]) {
        const first = await get(`status=decided&order=newest&limit=1${filter}`)
        assert.deepStrictEqual(
          [first.items.map(({ id }) => id), first.next_after],
          [[denied], denied]
        )
        const next = await get(`status=decided&order=newest&after=${first.next_after}${filter}`)
        assert.deepStrictEqual(
          [next.items.map(({ id }) => id), next.next_after],
          [[approved], undefined]
        )
      }
    }))
})

describe("the register of decisions", () => {
  it("has who decided what and why, newest first, with a link to question and run", () =>
    within(async ({ ids, troupe }) => {
      const vera = await signedIn(troupe, "vera")
      const { text } = await vera.get("/console/decisions")
      assert.deepStrictEqual(linked(text), [ids.denied, ids.approved])
      for (const said of ["denied</span> by olga", "“it came”", "approved</span> by boss"]) {
        assert.include(text, said)
      }
      assert.include(text, `/console/runs/${(await troupe.approval(ids.denied, anna)).run_id}`)
      assert.include((await vera.get("/console")).text, 'href="/console/decisions"')
      const cancelled = await vera.get("/console/decisions?status=cancelled")
      assert.deepStrictEqual(linked(cancelled.text), [ids.cancelled])
      assert.include(cancelled.text, "cancelled</span> by anna")
      assert.notInclude(cancelled.text, 'name="decided_by"')
      const expired = await vera.get("/console/decisions?status=expired")
      assert.include(expired.text, "Nothing was settled like this.")
    }))

  it("is filtered by the form of its page, whose address keeps what was chosen", () =>
    within(async ({ ids, troupe }) => {
      const vera = await signedIn(troupe, "vera")
      const found = async (query: string) => {
        const { status, text } = await vera.get(`/console/decisions?${query}`)
        assert.strictEqual(status, 200, query)
        return linked(text)
      }
      const both = [ids.denied, ids.approved]
      assert.deepStrictEqual(await found("tool=&agent=&decided_by=&decision=&from=&until="), both)
      assert.deepStrictEqual(await found("decided_by=boss&tool=refund_order"), [ids.approved])
      assert.deepStrictEqual(await found("decision=deny&agent=refunds"), [ids.denied])
      const { requested_at } = await troupe.approval(ids.approved, anna)
      const day = (more: number) =>
        new Date(requested_at + more * 86_400_000).toISOString().slice(0, 10)
      assert.deepStrictEqual(await found(`from=${day(0)}&until=${day(1)}`), both)
      assert.deepStrictEqual(await found(`until=${day(-1)}`), [])
      assert.deepStrictEqual(await found(`from=${day(2)}`), [])
      const { text } = await vera.get(`/console/decisions?decision=deny&tool=refund_order`)
      assert.include(text, '<option value="deny" selected>')
      assert.include(text, 'name="tool" value="refund_order"')
      assert.include(text, "/console/decisions?status=cancelled&amp;tool=refund_order")
    }))

  it("refuses filters that do not fit, and shows nothing of another tenant", () =>
    within(async ({ ids, troupe }) => {
      const vera = await signedIn(troupe, "vera")
      for (const odd of [
        "status=pending",
        "from=2026-13-01",
        "from=yesterday",
        "from=2026-02-03&until=2026-02-01",
        "decision=perhaps",
        "agent=No%20Agent",
        `tool=${"x".repeat(201)}`,
        "after=1"
      ]) {
        const { status, text } = await vera.get(`/console/decisions?${odd}`)
        assert.strictEqual(status, 422, odd)
        assert.include(text, "No such filter", odd)
      }
      const other = await signedIn(troupe, "other")
      for (const query of ["", `?after=${ids.denied}`]) {
        assert.deepStrictEqual(linked((await other.get(`/console/decisions${query}`)).text), [])
      }
      const { status, headers } = await fetch(`${troupe.url}/console/decisions`, {
        redirect: "manual"
      })
      assert.deepStrictEqual(
        [status, headers.get("location")],
        [303, "/console/sign-in?to=%2Fdecisions"]
      )
    }))

  it("shows texts of people as texts, and cuts long ones", () =>
    within(
      async ({ troupe }) => {
        const vera = await signedIn(troupe, "vera")
        const { text } = await vera.get("/console/decisions")
        assert.include(text, "&lt;script&gt;alert(1)&lt;/script&gt;‹U+202E›")
        assert.notInclude(text, "<script>alert")
        assert.notInclude(text, "y".repeat(300))
        const asked = "/console/decisions?tool=%22%3E%3Cscript%3Ealert(2)%3C/script%3E"
        assert.notInclude((await vera.get(asked)).text, "<script>alert")
      },
      `<script>alert(1)</script>\u202e${"y".repeat(1_000)}`
    ))
})

describe("how questions went", () => {
  it("is counted by tool, agent or person, each question once", () =>
    within(async ({ troupe }) => {
      const { is_cut, items } = await troupe.approvalInsights({}, anna)
      assert.isUndefined(is_cut)
      const [tool] = items
      const none = { modify: 0, request_revision: 0, expired: 0 }
      const counts = { asked: 4, approve: 1, deny: 1, cancelled: 1, pending: 1 }
      assert.deepInclude(tool, { key: "refund_order", ...none, ...counts })
      assert.isAtLeast(tool?.wait_median_ms ?? -1, 0)
      const people = (await troupe.approvalInsights({ by: "person" }, anna)).items
      assert.deepStrictEqual(
        people.map(({ approve, asked, deny, key }) => [key, asked, approve, deny]),
        [
          ["boss", 1, 1, 0],
          ["olga", 1, 0, 1]
        ]
      )
      const past = await troupe.approvalInsights({ requested_to: 1 }, anna)
      assert.deepStrictEqual(past, { items: [] })
    }))

  it("is a page for those who may look, with nothing of another tenant", () =>
    within(async ({ troupe }) => {
      const vera = await signedIn(troupe, "vera")
      const { text } = await vera.get("/console/decisions/insights?by=agent")
      const cells = Array.from(text.matchAll(/<td[^>]*>([^<]*)<\/td>/g), ([, cell]) => cell)
      assert.deepStrictEqual(cells.slice(0, 10), [..."refunds 4 1 0 0 1 0 1 1".split(" "), "50 %"])
      assert.include(text, "All questions are counted.")
      assert.include(text, "/v1/approval-insights?by=agent")
      assert.include((await vera.get("/console/decisions")).text, "/console/decisions/insights")
      const other = await signedIn(troupe, "other")
      const others = await other.get("/console/decisions/insights")
      assert.include(others.text, "No question was asked yet.")
      assert.strictEqual((await vera.get("/console/decisions/insights?by=colour")).status, 404)
    }))

  it("has the median wait of those that were answered, and says which are the most", () => {
    const asked = (tool: string, wait: number | undefined, at = 1_000) =>
      ({
        payload: { tool_name: tool, agent_name: "clerk" },
        status: wait === undefined ? "expired" : "decided",
        requested_at: at,
        ...(wait !== undefined && { decided_at: at + wait, decision: { _tag: "Modify" } })
      }) as unknown as Approval
    const all = [
      asked("b", 10),
      asked("z", 40),
      asked("z", 10),
      asked("z", 30),
      asked("z", undefined)
    ]
    assert.deepStrictEqual(
      insightsOf("tool", [...all, asked("c", undefined)]).map((each) => [
        each.key,
        each.asked,
        each.modify,
        each.expired,
        each.wait_median_ms
      ]),
      [
        ["z", 4, 3, 1, 30],
        ["b", 1, 1, 0, 10],
        ["c", 1, 0, 1, undefined]
      ]
    )
    assert.deepStrictEqual(insightsOf("person", all), [])
  })
})
