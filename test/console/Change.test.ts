/** Other arguments in the form that a tool's JSON Schema gives: what is typed is what runs, and it is shown before it does. */
import { assert, afterAll, beforeAll, describe, it } from "vitest"
import type { Approval } from "troupe"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { Schema } from "effect"
import { anna, http, PlainBrowser, signedIn } from "./ConsoleScene.ts"

const Size = Schema.Struct({
  width: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 900 })),
  unit: Schema.Literals(["mm", "cm"])
})

const cut = tool(
  {
    namespace: "works",
    name: "cut",
    description: "Cuts a plate.",
    side_effects: "external",
    input: Schema.Struct({
      plate: Schema.String.check(Schema.isMaxLength(20)).annotate({
        description: "The plate on the shelf."
      }),
      size: Size,
      marks: Schema.Array(Schema.String),
      polish: Schema.Boolean,
      note: Schema.optionalKey(Schema.String),
      limit: Schema.NullOr(Schema.Finite),
      more: Schema.Record(Schema.String, Schema.Json)
    })
  },
  ({ plate, size }) => `${plate}: ${size.width} ${size.unit}`
)

const proposed = {
  plate: "steel\n4 mm",
  size: { width: 120, unit: "mm" },
  marks: ["A1", "B2"],
  polish: true,
  limit: 1e21,
  more: { "a/b": [1, "1", null] }
}

type Troupe = Awaited<ReturnType<typeof start>>

const named = /name="((?:state-of-)?argument\/[^"]*)"/g

describe("the form for other arguments", () => {
  let troupe: Troupe
  let olga: PlainBrowser
  beforeAll(async () => {
    troupe = await start({
      agents: [agent({ name: "worker", instructions: "Cut.", tools: ["cut"] })],
      tools: [cut],
      model: scripted(({ step }) => (step === 1 ? call("cut", proposed) : text("It is cut."))),
      http
    })
    olga = await signedIn(troupe, "olga")
  })
  afterAll(() => troupe.stop())

  const asked = async () => {
    const { run } = await troupe.ask({ agent: "worker", text: "cut it" }, anna)
    const [approval] = await troupe.approvals({ run_id: run })
    const { id } = approval ?? assert.fail("nothing was asked")
    return { id, run, path: `/console/inbox/${id}` }
  }

  /** What the form would send as it stands. */
  const untouched = {
    "argument/plate": "steel\r\n4 mm",
    "argument/size/width": "120",
    "argument/size/unit": '"mm"',
    "argument/marks": "A1\r\nB2",
    "argument/polish": "true",
    "argument/note": "",
    "state-of-argument/note": "absent",
    "argument/limit": "1e+21",
    "state-of-argument/limit": "value",
    "argument/more": JSON.stringify(proposed.more, undefined, 2)
  }

  it("has a field for each value, with what the schema says of it", async () => {
    const { path } = await asked()
    const { text } = await olga.get(path)
    assert.sameMembers(
      [...text.matchAll(named)].map(([, name]) => name),
      Object.keys(untouched)
    )
    for (const said of [
      "The plate on the shelf.",
      "text, at most 20 characters",
      "number, at least 1, at most 900",
      "one a line",
      `<option value="true" selected>`,
      `<option value="absent" selected>`,
      `value="1e+21"`
    ]) {
      assert.include(text, said)
    }
  })

  it("shows what changes, and runs it once that is confirmed", async () => {
    const { id, path, run } = await asked()
    const fields = { ...untouched, "argument/size/width": "60", "argument/note": "mind the edge" }
    const shown = await olga.post(path, { ...fields, decision: "preview" })
    assert.strictEqual(shown.status, 200)
    assert.include(shown.text, "<del>120</del> <ins>60</ins>")
    assert.include(shown.text, "<ins>“mind the edge”</ins>")
    assert.notInclude(shown.text, "steel\n4 mm”</")
    assert.strictEqual((await troupe.approval(id)).status, "pending")
    // What is confirmed is what the page of the changes sends.
    const hidden = Object.fromEntries(
      [...shown.text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]
      )
    )
    const back = await olga.post(path, { ...hidden, decision: "edit" })
    assert.include(back.text, `value="60"`)
    assert.include(back.text, "mind the edge</textarea>")
    const done = await olga.post(path, { ...hidden, decision: "modify" })
    assert.include(done.text, "changed and approved by olga")
    assert.include(done.text, "<del>120</del> <ins>60</ins>")
    const { decision } = (await troupe.approval(id)) as Approval
    assert.deepStrictEqual(decision, {
      _tag: "Modify",
      arguments: { ...proposed, size: { width: 60, unit: "mm" }, note: "mind the edge" }
    })
    assert.strictEqual((await troupe.result(run)).text, "It is cut.")
  })

  it("changes nothing where it was not touched, and says so", async () => {
    const { id, path } = await asked()
    const { status, text } = await olga.post(path, { ...untouched, decision: "preview" })
    assert.strictEqual(status, 422)
    assert.include(text, "Nothing was changed.")
    assert.strictEqual((await troupe.approval(id)).status, "pending")
  })

  it("keeps what was typed where the tool refuses it, and says so beside the field", async () => {
    const { id, path } = await asked()
    for (const [name, typed, said] of [
      ["argument/size/width", "9000", /between|at most|900/],
      ["argument/size/width", "many", /It is no number/],
      ["argument/size/width", "9007199254740993", /give it as a text/],
      ["argument/size/unit", '"km"', /It is none of the choices/],
      ["argument/more", "{", /It is not JSON/]
    ] as const) {
      const fields = { ...untouched, [name]: typed, decision: "modify" }
      const { status, text } = await olga.post(path, fields)
      assert.strictEqual(status, typed === "9000" ? 400 : 422, typed)
      if (typed !== '"km"') assert.include(text, typed)
      const [row = ""] = text.split(`name="${name}"`).slice(1)
      assert.include(text.split(`name="${name}"`)[0]?.slice(-200) ?? "", `id="${name}"`)
      assert.include(row.slice(0, 100), 'aria-invalid="true"', typed)
      assert.match(row.split('class="problem">')[1] ?? "", said)
    }
    assert.strictEqual((await troupe.approval(id)).status, "pending")
  })

  it("refuses a form that is not whole, and whoever may not decide", async () => {
    const { id, path } = await asked()
    const { "argument/plate": _, ...rest } = untouched
    const part = await olga.post(path, { ...rest, "argument/polish": "false", decision: "modify" })
    assert.strictEqual(part.status, 422)
    assert.include(part.text, "It was not sent.")
    const vera = await signedIn(troupe, "vera")
    assert.notInclude((await vera.get(path)).text, "Change and run")
    for (const decision of ["preview", "modify"]) {
      const sent = { ...untouched, "argument/polish": "false", decision }
      assert.strictEqual((await vera.post(path, sent)).status, 403)
      const other = await signedIn(troupe, "other")
      assert.strictEqual((await other.post(path, sent)).status, 404)
    }
    assert.strictEqual((await troupe.approval(id)).status, "pending")
  })

  it("is JSON where that is asked for, which is shown and confirmed too", async () => {
    const { path } = await asked()
    const { text } = await olga.get(`${path}?as=json`)
    assert.include(text, "All arguments, as JSON.")
    // It stays so while the page follows what it shows.
    assert.include(text, `hx-get="${path}?as=json"`)
    assert.notInclude((await olga.get(path)).text, `hx-get="${path}?as=json"`)
    assert.notMatch(text, named)
    const json = JSON.stringify({ ...proposed, polish: false })
    const shown = await olga.post(path, { arguments: json, decision: "preview" })
    assert.include(shown.text, "<del>true</del> <ins>false</ins>")
    const done = await olga.post(path, { arguments: json, decision: "modify" })
    assert.include(done.text, "changed and approved by olga")
    const late = await olga.post(path, { ...untouched, decision: "preview" })
    assert.strictEqual(late.location, path)
  })
})

describe("a proposal after a revision", () => {
  it("says what it changed, who had sent it back, and why", async () => {
    const second = { ...proposed, polish: false, marks: ["A1"] }
    const troupe = await start({
      agents: [agent({ name: "worker", instructions: "Cut.", tools: ["cut"] })],
      tools: [cut],
      model: scripted(({ step }) =>
        step > 2 ? text("It is cut.") : call("cut", step === 1 ? proposed : second)
      ),
      http
    })
    try {
      const olga = await signedIn(troupe, "olga")
      const { run } = await troupe.ask({ agent: "worker", text: "cut it" }, anna)
      const [first] = await troupe.approvals({ run_id: run })
      const path = `/console/inbox/${first?.id}`
      assert.notInclude((await olga.get(path)).text, "What changed since")
      const note = "do <b>not</b> polish"
      await olga.post(path, { decision: "request_revision", note })
      await troupe.result(run)
      const [again] = await troupe.approvals({ run_id: run })
      assert.notStrictEqual(again?.id, first?.id)
      const { text: page } = await olga.get(`/console/inbox/${again?.id}`)
      assert.include(page, "What changed since it was sent back")
      assert.include(page, "<b>olga</b>: “do &lt;b&gt;not&lt;/b&gt; polish”")
      assert.include(page, "<del>true</del> <ins>false</ins>")
      // The first one was the proposal before it.
      assert.notInclude((await olga.get(path)).text, "What changed since")
    } finally {
      await troupe.stop()
    }
  })
})
