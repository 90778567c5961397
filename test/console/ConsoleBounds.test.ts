/** What the console does at the edges: with more than a page has room for, beyond a limit, and with questions that take no answer. */
import { Schema } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import type { Approval } from "../../src/approval/Approval.ts"
import { documentOf } from "../../layers/console/Html.ts"
import { questionPage } from "../../layers/console/QuestionPages.ts"
import { runPage } from "../../layers/console/RunPages.ts"
import { anna, PlainBrowser, tenant, tokenOf } from "./ConsoleScene.ts"

/** Twenty thousand values, as deep as a call's arguments may nest: their indents alone would take five megabytes. */
const deep = Array.from({ length: 100 }).reduce<unknown>(
  (inner) => [inner],
  Array.from({ length: 19_000 }, () => 1)
)
const events_of_a_page = 500

const write = tool(
  {
    namespace: "desk",
    name: "write",
    description: "Writes.",
    side_effects: "external",
    // Later than any date.
    approval_expires_ms: 8_700_000_000_000_000,
    arguments_bytes_max: 1_000_000,
    input: Schema.Struct({ given: Schema.Json })
  },
  () => "written"
)
const read = tool(
  {
    namespace: "desk",
    name: "read",
    description: "Reads.",
    side_effects: "read",
    input: Schema.Struct({ given: Schema.Json })
  },
  () => "read"
)

/** What is read, and then written. */
const desk = (name: string, reads: ReadonlyArray<unknown>, written: unknown) => ({
  name,
  answer: (step: number) => {
    if (step <= reads.length) return call("read", { given: reads[step - 1] as Schema.Json })
    return step === reads.length + 1
      ? call("write", { given: written as Schema.Json })
      : text("done")
  }
})
const desks = [
  desk("deep", [deep], deep),
  desk("long", ["y".repeat(30_000)], "x".repeat(600_000)),
  desk(
    "many",
    Array.from({ length: 300 }, (_, at) => at),
    "end"
  )
]

const principal = new Principal({ id: "olga", tenant, roles: ["operator"] })
const view = { path: "/console", principal, form_key: "k", nonce: "n", now: 0 }

describe("the console", () => {
  let troupe: Awaited<ReturnType<typeof opened>>
  const opened = () =>
    start({
      agents: desks.map(({ name }) =>
        agent({
          name,
          instructions: "Write.",
          tools: ["read", "write"],
          limits: { steps_max: 400 }
        })
      ),
      tools: [read, write],
      model: scripted(({ agent, step }) => {
        const of = desks.find(({ name }) => name === agent) ?? assert.fail(agent)
        return of.answer(step)
      }),
      http: {
        port: 0,
        console: true,
        tokens: ["olga", "hasty"].map((id) => ({
          token: tokenOf(id),
          principal: new Principal({ id, tenant, roles: ["operator"] })
        })),
        settings: { requests_principal_per_minute: 40 }
      }
    })
  beforeAll(async () => {
    troupe = await opened()
  })
  afterAll(() => troupe.stop())

  const asked = async (name: string) => {
    const { run } = await troupe.ask({ agent: name, text: "go" }, anna)
    const [approval] = await troupe.approvals({ run_id: run })
    return { run, id: approval?.id ?? assert.fail("nothing was asked") }
  }
  const olga = async () => {
    const browser = new PlainBrowser(troupe.url ?? "")
    await browser.signIn("olga")
    return browser
  }

  it("writes what nests deep on one line, and whatever expires after all dates", async () => {
    const { id, run } = await asked("deep")
    const browser = await olga()
    for (const path of ["", "/inbox", `/inbox/${id}`, `/runs/${run}`]) {
      const { status, text } = await browser.get(`/console${path}`)
      assert.strictEqual(status, 200, path)
      assert.isBelow(text.length, 250_000, path)
    }
    assert.include((await browser.get(`/console/inbox/${id}`)).text, "Change and run")
  })

  it("shows the beginning of what is too long, and says so where a person decides on it", async () => {
    const { id, run } = await asked("long")
    const browser = await olga()
    const question = await browser.get(`/console/inbox/${id}`)
    assert.include(question.text, "The last 100,012 characters are not shown here")
    assert.notInclude(question.text, "Change and run")
    assert.include(question.text, ">Approve<")
    const first = await browser.get(`/console/runs/${run}`)
    for (const { text } of [question, first]) assert.isBelow(text.length, 1_500_000)
    assert.include(first.text, "more characters are in the API")
  })

  it("leads through all events of a run", async () => {
    const { run } = await asked("many")
    const browser = await olga()
    const first = await browser.get(`/console/runs/${run}?after=-1`)
    const { length } = await troupe.run(run)
    assert.isAbove(length, events_of_a_page)
    assert.include(first.text, `Events 0 to ${events_of_a_page - 1} of ${length}.`)
    const [, next = ""] = /href="([^"]*\?after=\d+)"/.exec(first.text) ?? []
    const second = await browser.get(next)
    assert.include(second.text, `id="event-${events_of_a_page}"`)
    assert.include(second.text, `id="event-${length - 1}"`)
    assert.notInclude(second.text, "The next ones")
    for (const odd of ["x", "-2", "1.5", "1e99", "9".repeat(30)]) {
      assert.strictEqual((await browser.get(`/console/runs/${run}?after=${odd}`)).status, 404)
    }
  })

  it("ends a page of events where it is full, and leads on from there", async () => {
    const { run } = await asked("deep")
    const whole = await troupe.runEvents(run, {})
    const turn = whole.find(({ event }) => event._tag === "ModelTurned") ?? assert.fail("no turn")
    const entries = Array.from({ length: 500 }, (_, seq) => ({ ...turn, seq }))
    const [shown] = runPage(view, await troupe.run(run), entries, false)
    const page = documentOf(shown)
    assert.isBelow(page.length, 1_500_000)
    const [, last] = /\?after=(\d+)/.exec(page) ?? assert.fail("it does not lead on")
    assert.include(page, `id="event-${last}"`)
    assert.notInclude(page, `id="event-${Number(last) + 1}"`)
  })

  it("refuses a form that is too large as too large, and reads little of one that anybody may send", async () => {
    const browser = await olga()
    const fill = (size: number) => ({
      method: "POST",
      body: new URLSearchParams({ token: "x".repeat(size) })
    })
    assert.strictEqual((await browser.request("/console/sign-in", fill(16_000))).status, 401)
    for (const [path, size] of [
      ["/sign-in", 16_384],
      ["/sign-out", 2_000_000]
    ] as const) {
      const refused = await browser.request(`/console${path}`, fill(size))
      assert.strictEqual(refused.status, 413)
      assert.include(await refused.text(), "Nothing was changed")
    }
    assert.strictEqual((await browser.get("/console")).status, 200)
  })

  it("has a page for who is too fast", async () => {
    const hasty = new PlainBrowser(troupe.url ?? "")
    await hasty.signIn("hasty")
    const answers = await Promise.all(Array.from({ length: 50 }, () => hasty.request("/console")))
    const last = answers.find(({ status }) => status !== 200) ?? assert.fail("none was refused")
    assert.strictEqual(last.status, 429)
    assert.match(last.headers.get("retry-after") ?? "", /^\d+$/)
    assert.include(await last.text(), "At most 40 requests a minute")
  })

  it("is found with a slash behind its path", async () => {
    const answer = await new PlainBrowser(troupe.url ?? "").request("/console/")
    assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/console"])
  })

  it("offers no answer that a question does not take", async () => {
    const { id } = await asked("deep")
    const approval = await troupe.approval(id)
    const answers = (more: Partial<Approval>) =>
      [
        ...documentOf(
          questionPage(
            view,
            { items: [] },
            {
              approval: { ...approval, ...more },
              editor: { json: "{}" },
              events: { entries: [], isWhole: true }
            }
          )
        ).matchAll(/name="decision" value="(\w+)"/g)
      ].map(([, decision]) => decision)
    assert.deepStrictEqual(answers({}), ["approve", "deny", "request_revision", "preview"])
    assert.deepStrictEqual(answers({ altered: true }), ["deny"])
    assert.deepStrictEqual(answers({ quarantined: true }), [])
    assert.deepStrictEqual(answers({ client: {} }), [])
  })
})
