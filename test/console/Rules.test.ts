/** The policy and the tools in the console and in the API. */
import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { agent, policyOf, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"
import type { McpToolStatus } from "../../src/mcp/McpPin.ts"
import { documentOf } from "../../layers/console/Html.ts"
import { toolsPage } from "../../layers/console/RulePages.ts"
import { anna, http, shop, signedIn, tenant, tokenOf } from "./ConsoleScene.ts"

const within = async (
  given: Promise<Awaited<ReturnType<typeof shop>>>,
  use: (troupe: Awaited<ReturnType<typeof shop>>) => Promise<void>
) => {
  const troupe = await given
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

/** What a text says: no tags, one space between words. */
const words = (text: string) => text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ")

/** The row of a table that has this text. */
const rowWith = (text: string, part: string) =>
  words(text.split("<tr>").find((each) => each.includes(part)) ?? assert.fail(part))

const policy = policyOf({
  version: "7",
  mode: "allow_reads",
  rules: [
    { pattern: "refund_order(order-1:*)", permission: "deny", unless_roles: ["operator"] },
    { pattern: "refund_orders", permission: "ask", roles: ["viewer", "approver"] }
  ],
  approval_required: ["get_order"]
})

describe("the policy", () => {
  it("is shown with its version, its rules and what of it has no effect", () =>
    within(shop({ policy }), async (troupe) => {
      const vera = await signedIn(troupe, "vera")
      const { status, text } = await vera.get("/console/policy")
      assert.strictEqual(status, 200)
      assert.match(rowWith(text, "refund_order("), /denied everybody, but not operator/)
      assert.match(rowWith(text, "<code>refund_orders"), /asks viewer, approver/)
      const said = words(text)
      for (const each of [
        "Version 1:7 ",
        "tools that only read are allowed, all others ask",
        "Always asked about get_order",
        "no tool here is &quot;refund_orders&quot;"
      ]) {
        assert.include(said, each)
      }
      assert.notInclude(text, "are stopped")
      assert.notInclude(text, '<form method="post" action="/console/policy')
      assert.include(text, 'href="/console/policy" aria-current="page"')
      await troupe.stopTools(true, anna)
      assert.include(
        words((await vera.get("/console/policy")).text),
        "tools of this tenant are stopped"
      )
    }))

  it("has the version that questions name, also where it declares none", () =>
    within(shop({ policy: policyOf({ mode: "ask" }) }), async (troupe) => {
      const { run } = await troupe.ask({ agent: "billing", text: "refund order-1003" }, anna)
      const [approval] = await troupe.approvals({ run_id: run }, anna)
      const { version, warnings } = await troupe.policy(anna)
      assert.match(version, /^1:[0-9a-f]{16}$/)
      assert.strictEqual(version, approval?.policy_version)
      assert.deepStrictEqual(warnings, [])
    }))

  it("is said to be empty where there is none", () =>
    within(shop(), async (troupe) => {
      const { text } = await (await signedIn(troupe, "vera")).get("/console/policy")
      assert.include(words(text), "Version 1 ")
      assert.include(words(text), "changes ask, all else is allowed")
      assert.include(words(text), "Rules There are none.")
    }))

  it("is read over HTTP by those who may look, and by nobody else", () =>
    within(shop({ policy }), async (troupe) => {
      const get = (path: string, name: string) =>
        fetch(troupe.url + path, { headers: { authorization: `Bearer ${tokenOf(name)}` } })
      const answer = await get("/v1/policy", "vera")
      assert.deepInclude((await answer.json()) as object, { version: "1:7" })
      for (const name of ["ada", "feed"]) {
        for (const path of ["/v1/policy", "/v1/tools"]) {
          assert.strictEqual((await get(path, name)).status, 403, name)
        }
      }
    }))
})

const hostile = `</td><script>alert(1)</script>\u202e${"x".repeat(2_000)}`

const desk = () => {
  const input = Schema.Struct({ order: Schema.String })
  const pay = tool(
    {
      namespace: "bank",
      name: "pay",
      description: hostile,
      side_effects: "external",
      approvers: ["approver"],
      approval_expires_ms: "2 hours",
      capabilities: "bank.pay",
      idempotency: { key: "pay-{order}", scope: "tenant", holds_ms: "3 days" },
      input
    },
    () => "paid"
  )
  const look = tool(
    { namespace: "bank", name: "look", description: "Looks.", side_effects: "read", input },
    () => "seen"
  )
  const note = tool(
    {
      namespace: "desk",
      name: "note",
      description: "Notes.",
      side_effects: "write",
      permission: "allow",
      input
    },
    () => "noted"
  )
  const send = tool(
    {
      namespace: "mail",
      name: "send",
      description: "Sends a letter.",
      side_effects: "external",
      permission: ({ order }) => (order === "1" ? "allow" : "ask"),
      input
    },
    () => "sent"
  )
  return start({
    agents: [
      agent({
        name: "clerk",
        instructions: "Work.",
        tools: ["pay", "look"],
        capabilities: ["bank.pay"]
      }),
      agent({ name: "aide", instructions: "Help.", tools: ["look"] })
    ],
    tools: [pay, look, note, send],
    model: scripted(() => text("Done.")),
    http
  })
}

describe("tools", () => {
  it("are shown with what they do, who decides, their key and their agents", () =>
    within(desk(), async (troupe) => {
      const vera = await signedIn(troupe, "vera")
      const { text } = await vera.get("/console/tools")
      const pay = rowWith(text, "bank.pay@1")
      for (const each of [
        "acts outside asks approver, within 2 h or authorised in advance",
        "needs bank.pay",
        "pay-{order} once in the tenant, for 3 d",
        "it runs again clerk"
      ]) {
        assert.include(pay, each)
      }
      assert.match(rowWith(text, "bank.look@1"), /reads allowed it runs again aide, clerk/)
      assert.match(
        rowWith(text, "mail.send@1"),
        /depends any approver or operator .*each call by itself an operator settles it none/
      )
      assert.notInclude(text, "<script>alert")
      assert.include(text, "‹U+202E›")
      assert.notInclude(text, "x".repeat(301))
    }))

  it("are listed by the API with the same facts, in their order", () =>
    within(desk(), async (troupe) => {
      const tools = await troupe.tools(anna)
      assert.deepStrictEqual(
        tools.map(({ can_be_authorized, key, on_loss, permission }) => [
          key,
          permission,
          can_be_authorized,
          on_loss
        ]),
        [
          ["bank.look@1", "allow", false, "again"],
          ["bank.pay@1", "ask", true, "again"],
          ["desk.note@1", "allow", false, "unknown"],
          ["mail.send@1", "by_call", true, "unknown"]
        ]
      )
      assert.deepInclude<object>(tools[1] ?? {}, {
        approvers: ["approver"],
        approval_expires_ms: 7_200_000,
        idempotency: { key: "pay-{order}", scope: "tenant", holds_ms: 259_200_000 },
        on_loss: "again",
        agents: ["clerk"]
      })
    }))

  it("stand beside MCP servers for those alone who may look at them", () =>
    within(desk(), async (troupe) => {
      const seen = async (name: "olga" | "vera") =>
        words((await (await signedIn(troupe, name)).get("/console/tools")).text)
      assert.include(await seen("olga"), "MCP servers There are none.")
      assert.notInclude(await seen("vera"), "MCP servers")
    }))

  it("are said to be amiss where an MCP server offers what nobody accepted, and inert", () => {
    const view = {
      path: "/console",
      principal: new Principal({ id: "olga", tenant, roles: ["operator"] }),
      form_key: "",
      nonce: "",
      now: 0
    }
    const many = Array.from({ length: 600 }, (_, n) => ({
      tool: `tool-${n}`,
      state: n === 0 ? ("changed" as const) : ("not_accepted" as const),
      message: hostile
    }))
    const of = (tools: ReadonlyArray<McpToolStatus>) =>
      documentOf(
        toolsPage(view, {
          line: "",
          times: {
            byTool: { items: [{ key: hostile, calls: 2, failed: 1, refused: 0, median_ms: 5 }] },
            byDay: { items: [{ key: "2026-11-30", calls: 2, failed: 1, refused: 0 }] },
            from: 0
          },
          tools: [],
          offers: [
            { name: hostile, description: hostile, provider: "worker", available: false },
            { name: "works.cut", description: "Cuts.", provider: "worker", available: true }
          ],
          servers: [
            {
              server: "files",
              target: hostile,
              state: "reconnecting",
              message: "it hung up",
              restarts: 3,
              tools
            }
          ]
        })
      )
    const text = of(many)
    const said = words(text)
    for (const each of [
      "no worker is there",
      "works.cut Cuts. a worker is there",
      "files reconnecting",
      "it hung up",
      "Connected again 3",
      "tool-0 changed"
    ]) {
      assert.include(said, each)
    }
    assert.include(said, "tool-499 not accepted")
    assert.notInclude(said, "tool-500")
    assert.include(said, "and 100 more, which the API has")
    assert.notInclude(text, "<script>alert")
    assert.notInclude(
      of([{ tool: "fine", key: "files.fine@1", state: "available", message: "" }]),
      "fine"
    )
  })
})
