/** Forks in the console: the form, what a fork did beside its run, and who may make one. */
import { assert, describe, it } from "vitest"
import { agent } from "troupe"
import { scripted } from "troupe/testing"
import { anna, echo, http, PlainBrowser, shop, signedIn, tokenOf } from "./ConsoleScene.ts"

const within = async (
  use: (of: Awaited<ReturnType<typeof shop>>, run: string) => Promise<void>
) => {
  const troupe = await shop()
  try {
    const { run } = await troupe.ask({ agent: "billing", text: "where is my money?" }, anna)
    const [approval] = await troupe.approvals({ status: "pending" }, anna)
    await troupe.decide(approval?.id ?? "", { decision: "approve" }, anna)
    await troupe.result(run)
    await use(troupe, run)
  } finally {
    await troupe.stop()
  }
}

const made = (location: string | null): string =>
  /\/runs\/([0-9a-f-]{36})\/comparison$/.exec(location ?? "")?.[1] ?? ""

describe("forks", () => {
  it("begin at a turn of a run's page, and stand beside their run", () =>
    within(async (troupe, run) => {
      const olga = await signedIn(troupe, "olga")
      const { text: page } = await olga.get(`/console/runs/${run}`)
      assert.include(page, `/console/runs/${run}/fork?step=0/1.0/2"`)
      assert.include(page, `/console/runs/${run}/fork"`)
      const form = await olga.get(`/console/runs/${run}/fork?step=0/1.0/3`)
      assert.include(form.text, '<option value="0/1.0/3" selected>0/1.0/3: It is settled.')
      assert.include(form.text, "where is my money?</textarea>")
      const idempotency_key = /name="idempotency_key" value="([^"]+)"/.exec(form.text)?.[1] ?? ""
      const fields = { idempotency_key, step: "0/1.0/3", message: "where is my money?" }
      const first = await olga.post(`/console/runs/${run}/fork`, fields)
      const fork = made(first.location)
      // The same form once more is the same fork.
      assert.strictEqual(
        made((await olga.post(`/console/runs/${run}/fork`, fields)).location),
        fork
      )
      assert.strictEqual((await troupe.result(fork)).status, "complete")
      const { text } = await olga.get(`/console/runs/${fork}/comparison`)
      assert.include(text, "The two did the same.")
      assert.include(text, "nothing changed")
      for (const deed of ["turn 0/1", "result 0/1.0/2.0", "end"]) {
        assert.include(text, `<td>${deed}</td>`)
      }
      assert.include(text, `/v1/runs/${fork}/comparison`)
      const own = await olga.get(`/console/runs/${fork}`)
      assert.include(own.text, `<a href="/console/runs/${run}">`)
      assert.include(own.text, `/console/runs/${fork}/comparison`)
      // A fork has none of its own.
      assert.notInclude(own.text, `/console/runs/${fork}/fork"`)
    }))

  it("say where they first differ, also while they go on, and what was changed", () =>
    within(async (troupe, run) => {
      const olga = await signedIn(troupe, "olga")
      const policy = '{"rules":[{"pattern":"refund_order","permission":"deny"}]}'
      const post = await olga.post(`/console/runs/${run}/fork`, {
        step: "0/1",
        message: "where is my <b>parcel</b>?",
        model: "other",
        policy
      })
      const fork = made(post.location)
      await troupe.result(fork)
      const { text } = await olga.get(`/console/runs/${fork}/comparison`)
      assert.include(text, "another message, model other, another policy")
      assert.include(text, "The first difference: result 0/1.0/2.0.")
      assert.include(text, '<tr id="first"><td>result 0/1.0/2.0</td>')
      assert.include(text, '<span class="tag wait">first difference</span>')
      assert.notInclude(text, "<b>parcel</b>")
      const summary = await troupe.run(fork)
      assert.deepInclude(summary, { by: "olga", message: "where is my <b>parcel</b>?" })
      assert.deepInclude(summary.forked as object, {
        run,
        step: "0/1",
        edited: true,
        model: "other"
      })
    }))

  it("keep what was typed where it makes no fork", () =>
    within(async (troupe, run) => {
      const olga = await signedIn(troupe, "olga")
      const before = await troupe.runs({})
      for (const [fields, said] of [
        [{ step: "0/9" }, "step: Expected one of 0/1"],
        [{ step: "0/2", message: "other" }, "the first turn alone"],
        [{ policy: '{"mode": ' }, "policy: Expected JSON that can be read"],
        [{ policy: '{"mode":"sometimes"}' }, "policy: "],
        [{ step: "../.." }, "the place of a turn"]
      ] as const) {
        const refused = await olga.post(`/console/runs/${run}/fork`, { model: "kept", ...fields })
        assert.strictEqual(refused.status, 400, JSON.stringify(fields))
        assert.include(refused.text, said)
        assert.include(refused.text, 'value="kept"')
      }
      assert.deepStrictEqual(await troupe.runs({}), before)
    }))

  it("are for operators of the tenant, from their own pages", () =>
    within(async (troupe, run) => {
      const path = `/console/runs/${run}/fork`
      const before = await troupe.runs({})
      for (const name of ["vera", "boss"] as const) {
        const staff = await signedIn(troupe, name)
        assert.notInclude((await staff.get(`/console/runs/${run}`)).text, "/fork")
        assert.strictEqual((await staff.post(path, {})).status, 403)
      }
      const other = await signedIn(troupe, "other")
      assert.strictEqual((await other.get(path)).status, 404)
      assert.strictEqual((await other.post(path, {})).status, 404)
      assert.strictEqual((await other.get(`/console/runs/${run}/comparison`)).status, 404)
      const olga = await signedIn(troupe, "olga")
      assert.strictEqual((await olga.post(path, { form_key: "none" })).status, 403)
      const foreign = { "sec-fetch-site": "cross-site" }
      assert.strictEqual((await olga.post(path, {}, foreign)).status, 403)
      const nobody = new PlainBrowser(troupe.url ?? "")
      assert.strictEqual((await nobody.get(path)).status, 303)
      assert.strictEqual((await olga.get(`/console/runs/${run}/comparison`)).status, 400)
      assert.deepStrictEqual(await troupe.runs({}), before)
    }))

  it("take no messages, by whatever agent", async () => {
    const other = agent({ name: "other", instructions: "Answer.", tools: [] })
    const troupe = await echo({
      agents: [agent({ name: "echo", instructions: "Say it.", tools: [] }), other],
      model: scripted([]),
      http
    })
    try {
      const { run } = await troupe.ask({ agent: "echo", text: "hello" }, anna)
      await troupe.result(run)
      const { conversation, id } = await troupe.fork(run, {}, anna)
      await troupe.result(id)
      for (const name of ["echo", "other"]) {
        const answer = await fetch(`${troupe.url}/v1/conversations/${conversation}/messages`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${tokenOf("olga")}`,
            "content-type": "application/json"
          },
          body: JSON.stringify({ agent: name, text: "and now?" })
        })
        assert.strictEqual(answer.status, 409, await answer.text())
      }
      assert.strictEqual((await troupe.runs({})).length, 2)
    } finally {
      await troupe.stop()
    }
  })
})
