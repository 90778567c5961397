/** Runs of more events than a page has: what operators see of them, and what approvers are told. */
import { Schema } from "effect"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, calls, scripted, text } from "troupe/testing"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { KnownEvents } from "../../layers/console/KnownEvents.ts"
import { eventAddress } from "../../layers/console/KnownEvents.ts"
import type { ApprovalId } from "../../src/value/Ids.ts"
import { RunId } from "../../src/value/Ids.ts"
import { anna, http, signedIn } from "./ConsoleScene.ts"

/** Turns, each with as many looks. */
const [turns, each] = [420, 10]
const looks = turns * each

const look = tool(
  {
    namespace: "desk",
    name: "look",
    description: "Looks for an account.",
    side_effects: "read",
    input: Schema.Struct({ place: Schema.Int })
  },
  ({ place }) => `account-${place}`
)
const pay = tool(
  {
    namespace: "desk",
    name: "pay",
    description: "Pays.",
    side_effects: "external",
    input: Schema.Struct({ early: Schema.String, late: Schema.String, middle: Schema.String })
  },
  () => "paid"
)

const range = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, at) => first + at)

it("an event of a run that was read in part is led to on its own page", () => {
  const entries: KnownEvents["entries"] = []
  assert.strictEqual(eventAddress("/r", 3, { entries, isWhole: true }), "/r#event-3")
  assert.strictEqual(eventAddress("/r", 3, { entries, isWhole: false }), "/r?after=-1#event-3")
})

describe("a run of more events than a page has", () => {
  let troupe: Awaited<ReturnType<typeof start>>
  let olga: Awaited<ReturnType<typeof signedIn>>
  let run: RunId
  let approval: ApprovalId
  let length: number
  /** Behind which event the newest page begins. */
  let newest: number
  beforeAll(async () => {
    troupe = await start({
      agents: [
        agent({
          name: "desk",
          instructions: "Look, and pay.",
          tools: ["look", "pay"],
          limits: { steps_max: 2 * turns, calls_max: 2 * looks }
        })
      ],
      tools: [look, pay],
      model: scripted(({ step }) =>
        step <= turns
          ? calls(range(0, each).map((n) => call("look", { place: (step - 1) * each + n + 1 })))
          : step === turns + 1
            ? call("pay", { early: "account-2", late: `account-${looks}`, middle: "account-500" })
            : text("It is paid.")
      ),
      http
    })
    const asked = await troupe.ask({ agent: "desk", text: "Look, and pay." }, anna)
    run = RunId.make(asked.run)
    approval =
      (await troupe.approvals({ run_id: asked.run }))[0]?.id ?? assert.fail("nothing asked")
    length = (await troupe.run(asked.run)).length
    newest = length - 1 - ((length - 1) % 500) - 1
    // More than a question reads.
    assert.isAbove(newest, 4_000 - 2)
    olga = await signedIn(troupe, "olga")
  })
  afterAll(() => troupe.stop())

  const seqs = (page: string) =>
    Array.from(page.matchAll(/<tr id="event-(\d+)">/g), ([, seq]) => Number(seq))

  it("tells an approver where a late value came from, and leads there", async () => {
    const { text: page } = await olga.get(`/console/inbox/${approval}`)
    const at = (value: string) => page.slice(page.indexOf(`<td>“${value}”`)).split("</tr>", 1)[0]
    const { items } = { items: await troupe.runEvents(run as never, { limit: 500, after: newest }) }
    const { seq } =
      items.findLast(({ event }) => event._tag === "CallSettled") ?? assert.fail("none")
    assert.isAbove(seq, newest)
    const late = at(`account-${looks}`) ?? ""
    assert.include(
      late,
      `<a href="/console/runs/${run}?after=${newest}#event-${seq}">a result of look</a>`
    )
    const { text: there } = await olga.get(`/console/runs/${run}?after=${newest}`)
    assert.include(seqs(there), seq)
    assert.match(
      at("account-2") ?? "",
      new RegExp(`/runs/${run}\\?after=-1#event-\\d">a result of`)
    )
    // It stands in the part that nobody has read, and is not said to be the model's.
    assert.include(at("account-500"), "not found in a part of the run")
  })

  it("is shown by its newest events while it goes on, and leads to those before", async () => {
    const path = `/console/runs/${run}`
    const { text: shown } = await olga.get(path)
    assert.deepStrictEqual(seqs(shown), range(newest + 1, length))
    assert.include(shown, `hx-get="${path}?after=${newest}"`)
    const { text: first } = await olga.get(`${path}?after=-1`)
    assert.deepStrictEqual(seqs(first), range(0, 500))
    assert.notInclude(first, "hx-get")
    assert.include(first, `href="${path}?after=499" rel="next"`)
    assert.include(shown, `href="${path}?after=${newest - 500}" rel="prev"`)
    assert.include(shown, `href="${path}?after=-1"`)
  })

  it("is followed on when a page is full", async () => {
    const answer = await olga.request(`/console/runs/${run}?after=-1`, {
      headers: { "hx-request": "true" }
    })
    assert.deepStrictEqual(seqs(await answer.text()), range(newest + 1, length))
  })

  it("can be forked from each of its turns, and is compared with all it did", async () => {
    const { text: form } = await olga.get(`/console/runs/${run}/fork?step=0/${turns}`)
    assert.include(form, `<option value="0/${turns}" selected>0/${turns}: proposes`)
    const fork = await troupe.fork(run, { step: `0/${turns}` }, anna)
    const { text: compared } = await olga.get(`/console/runs/${fork.id}/comparison`)
    assert.match(compared, new RegExp(`/runs/${run}\\?after=499#event-5\\d\\d">(?!event)`))
  })

  it("is shown from its beginning once it is over", async () => {
    await troupe.decide(approval, { decision: "deny", reason: "no" }, anna)
    await troupe.result(run)
    const { text: page } = await olga.get(`/console/runs/${run}`)
    assert.deepStrictEqual(seqs(page), range(0, 500))
  })
})
