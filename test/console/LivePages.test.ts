/** Pages that follow what they show, in a real browser: nothing moves under whoever types, and a lost server is found again. */
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { assert, describe } from "vitest"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { at, inBrowser, opened, signIn } from "./BrowserScene.ts"
import { anna, http, PlainBrowser, shop, tokenOf } from "./ConsoleScene.ts"

describe("a page of a run that goes on", () => {
  /** A process that packs boxes; it can be killed, and begun again at the same address. */
  const packing = Effect.gen(function* () {
    const { directory } = yield* Homes.directory
    const begun = Effect.fnUntraced(function* (port: string) {
      const child = yield* Children.start("test/console/packing.ts", [
        directory,
        port,
        tokenOf("olga")
      ])
      yield* child.printed("serving")
      const [, url = ""] = /serving (\S+)/.exec(child.text()) ?? []
      return { child, url }
    })
    const first = yield* begun("0")
    return { ...first, again: begun(new URL(first.url).port) }
  })

  /** Sends a message, as the owner of the token, and gives its run. */
  const sent = async (url: string) => {
    const answer = await fetch(`${url}/v1/messages`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokenOf("olga")}`,
        "content-type": "application/json"
      },
      body: JSON.stringify({ agent: "packer", text: "Pack three boxes." })
    })
    const { run_id }: { readonly run_id: string } = JSON.parse(await answer.text())
    return run_id
  }

  /** Approves the question that waits, from another page, once it is there. */
  const approve = async (browser: PlainBrowser, box: string) => {
    for (;;) {
      const { text } = await browser.get("/console/inbox")
      const [, id] = /href="\/console\/inbox\/([^"]+)"/.exec(text) ?? []
      if (id !== undefined) {
        const page = await browser.get(`/console/inbox/${id}`)
        if (page.text.includes(box)) {
          return await browser.post(`/console/inbox/${id}`, { decision: "approve" })
        }
      }
    }
  }

  inBrowser(
    "shows what happens, while its server is killed, and keeps what somebody types",
    () =>
      Effect.gen(function* () {
        const { again, child, url } = yield* packing
        const { close, complaints, page, run } = yield* Effect.promise(async () => {
          const run = await sent(url)
          const browser = new PlainBrowser(url)
          await browser.signIn("olga")
          const { close, complaints, page } = await opened(url)
          await signIn(page, "olga")
          await page.goto(`/console/runs/${run}`)
          const state = page.getByRole("status")
          await state.getByText("Live", { exact: true }).waitFor()
          await page.getByText("Cancel …").click()
          const why = page.getByLabel("Why?")
          await why.pressSequentially("It takes too")
          await approve(browser, "number 1")
          await page.getByText("box number 1 is packed").waitFor({ state: "attached" })
          // The caret stands where it was.
          await why.press("ArrowLeft")
          await page.keyboard.type("x")
          assert.strictEqual(await why.inputValue(), "It takes toxo")
          return { close, complaints, page, run }
        })
        yield* child.kill
        yield* Effect.promise(() => page.getByText("The connection is lost").waitFor())
        yield* again
        yield* Effect.promise(async () => {
          await page.getByRole("status").getByText("Live", { exact: true }).waitFor()
          const browser = new PlainBrowser(url)
          await browser.signIn("olga")
          await approve(browser, "number 2")
          await page.getByText("box number 2 is packed").waitFor({ state: "attached" })
          assert.strictEqual(await page.getByLabel("Why?").inputValue(), "It takes toxo")
          assert.isTrue(await page.evaluate("document.activeElement.name === 'reason'"))
          await approve(browser, "number 3")
          await page.getByText("what you typed has no place any more").waitFor()
          assert.strictEqual(await page.getByLabel("Why?").inputValue(), "It takes toxo")
          // The browser reports that nobody answered, and so does htmx.
          assert.deepStrictEqual(
            complaints.filter((each) => !/ERR_|network|fetch/.test(each)),
            []
          )
          await close()
          assert.include((await browser.get(`/console/runs/${run}`)).text, "All boxes are packed.")
        })
      }).pipe(Effect.scoped, Effect.runPromise),
    180_000
  )
})

describe("a page of a long run", () => {
  const packing = (boxes: number, pause_ms: number) =>
    start({
      agents: [
        agent({
          name: "packer",
          instructions: "Pack.",
          tools: ["pack"],
          limits: { steps_max: boxes + 1 }
        })
      ],
      tools: [
        tool(
          { namespace: "post", name: "pack", description: "Packs a box.", side_effects: "read" },
          () => setTimeout(pause_ms).then(() => "packed")
        )
      ],
      model: scripted(({ step }) => (step <= boxes ? call("pack") : text("All is packed."))),
      http
    })

  inBrowser("has each event and call once as it grows, and leaves open what is open", async () => {
    const boxes = 70
    const troupe = await packing(boxes, 20)
    try {
      const { run } = await troupe.send({ agent: "packer", text: "Pack." }, anna)
      const { close, complaints, page } = await opened(troupe.url ?? "")
      await signIn(page, "olga")
      await page.goto(`/console/runs/${run}`)
      const opens = page.locator("#event-1 details")
      await opens.locator("summary").click()
      await troupe.result(run)
      const { length } = await troupe.run(run)
      await page.locator(`#event-${length - 1}`).waitFor({ state: "attached" })
      assert.deepStrictEqual(
        await page.evaluate("[...document.querySelectorAll('tr[id]')].map(({ id }) => id)"),
        Array.from({ length }, (_, seq) => `event-${seq}`)
      )
      assert.strictEqual(await page.locator("[id^=calls-] tr").count(), boxes)
      assert.isNotNull(await opens.getAttribute("open"))
      // What is over is followed no more.
      assert.strictEqual(await page.locator("#live").count(), 0)
      assert.deepStrictEqual(complaints, [])
      await close()
    } finally {
      await troupe.stop()
    }
  })

  inBrowser("becomes the page of the next events once they are too many for one", async () => {
    const troupe = await packing(260, 10)
    try {
      const { run } = await troupe.send({ agent: "packer", text: "Pack." }, anna)
      const { close, page } = await opened(troupe.url ?? "")
      await signIn(page, "olga")
      await page.goto(`/console/runs/${run}`)
      await page.getByRole("status").getByText("Live", { exact: true }).waitFor()
      await troupe.result(run)
      const { length } = await troupe.run(run)
      await page.locator(`#event-${length - 1}`).waitFor({ state: "attached" })
      const rows = () =>
        page.evaluate(
          "[...document.querySelectorAll('tbody tr')].map(({ textContent }) => textContent)"
        )
      const followed = await rows()
      await page.goto(`/console/runs/${run}?after=499`)
      assert.deepStrictEqual(followed, await rows())
      await close()
    } finally {
      await troupe.stop()
    }
  })

  inBrowser("asks for all of itself where it has not what it would keep", async () => {
    const troupe = await shop({ http })
    try {
      const { run } = await troupe.ask({ agent: "billing", text: "Refund order 1003." }, anna)
      const { close, page } = await opened(troupe.url ?? "")
      await signIn(page, "olga")
      await page.goto(`/console/runs/${run}`)
      await page.getByRole("status").getByText("Live", { exact: true }).waitFor()
      const asked = page.waitForResponse(`**/console/runs/${run}`)
      const isLeft = await page.evaluate(`(() => {
        const main = document.createElement("main")
        const kept = Object.assign(document.createElement("tbody"), { id: "events-7", className: "kept" })
        main.append(document.createElement("table"))
        main.firstChild.append(kept)
        const fragment = document.createDocumentFragment()
        fragment.append(main)
        const tasks = [{ type: "main", target: document.querySelector("#content"), fragment }]
        return !document.querySelector("#live").dispatchEvent(
          new CustomEvent("htmx-before-swap", { detail: { tasks }, bubbles: true, cancelable: true })
        )
      })()`)
      assert.isTrue(isLeft)
      assert.strictEqual((await asked).status(), 200)
      await close()
    } finally {
      await troupe.stop()
    }
  })
})

describe("lists that are followed", () => {
  const quick = { http: { ...http, settings: { heartbeat_ms: 200 } } }
  const isLive = (page: Page) =>
    page.getByRole("status").getByText("Live", { exact: true }).waitFor()
  const focus = (page: Page): Promise<string> =>
    page.evaluate("document.activeElement.getAttribute('href') ?? document.activeElement.name")

  inBrowser("keep the focus and what is typed, while questions come and go", () =>
    at(quick, async ({ ask, base, troupe }) => {
      const [first, second] = [await ask(), await ask()]
      const { close, complaints, page } = await opened(base)
      await signIn(page, "olga")
      await isLive(page)
      const link = page.locator(`a[href="/console/inbox/${second.id}"]`)
      await link.focus()
      await troupe.decide(first.id, { decision: "approve" }, anna)
      await page.locator(`a[href="/console/inbox/${first.id}"]`).waitFor({ state: "detached" })
      assert.strictEqual(await focus(page), `/console/inbox/${second.id}`)
      await page.keyboard.press("Enter")
      await page.waitForURL(`**/inbox/${second.id}`)
      await isLive(page)
      await page.getByText("Deny …").click()
      const reason = page.getByLabel("Why not? The agent reads it.")
      await reason.fill("it came")
      const third = await ask()
      await page.locator(`a[href="/console/inbox/${third.id}"]`).waitFor()
      assert.strictEqual(await reason.inputValue(), "it came")
      assert.strictEqual(await focus(page), "reason")
      // Its form would be gone, with what is typed in it.
      await troupe.decide(second.id, { decision: "approve" }, anna)
      await page.getByText("what you typed has no place any more").waitFor()
      assert.strictEqual(await reason.inputValue(), "it came")
      await page.goto(`/console/inbox/${third.id}`)
      await isLive(page)
      await troupe.decide(third.id, { decision: "deny", reason: "no" }, anna)
      await page.getByText("denied by anna").waitFor()
      assert.strictEqual(
        await page.getByRole("button", { name: "Approve", exact: true }).count(),
        0
      )
      assert.deepStrictEqual(complaints, [])
      await close()
    })
  )

  inBrowser("show what comes and goes, and move nothing that is under the cursor", () =>
    at(quick, async ({ ask, base, troupe }) => {
      const first = await ask()
      const second = await ask()
      const { close, complaints, page } = await opened(base)
      await signIn(page, "olga")
      await page.goto("/console/runs")
      await isLive(page)
      const row = page.locator(`#run-${first.run}`)
      const topOf = async () =>
        Math.round((await row.boundingBox())?.y ?? assert.fail("it is gone"))
      await row.hover()
      const top = await topOf()
      const third = await ask()
      await page.locator(`#run-${third.run}`).waitFor({ state: "attached" })
      assert.strictEqual(await topOf(), top)
      // It is in front of it, where one scrolls to.
      const order = await page.locator("tr[id]").evaluateAll((all) => all.map(({ id }) => id))
      assert.deepStrictEqual(
        order,
        [third, second, first].map(({ run }) => `run-${run}`)
      )
      await troupe.decide(third.id, { decision: "deny", reason: "no" }, anna)
      await page.locator(`#run-${third.run}`).getByText("complete").waitFor({ state: "attached" })
      assert.strictEqual(await topOf(), top)
      // What goes away above the cursor leaves its place empty.
      await page.goto("/console/runs?status=awaiting_approval")
      await isLive(page)
      await row.hover()
      const below = await topOf()
      await troupe.decide(second.id, { decision: "deny", reason: "no" }, anna)
      await page.locator(`#run-${second.run}`).waitFor({ state: "detached" })
      assert.strictEqual(await topOf(), below)
      // Without a cursor there the page is as it would be loaded.
      await page.mouse.move(1, 1)
      const fourth = await ask()
      await page.locator(`#run-${fourth.run}`).waitFor()
      assert.strictEqual(await page.evaluate("scrollY"), 0)
      assert.isBelow(Math.abs((await topOf()) - below), 3)
      assert.deepStrictEqual(complaints, [])
      await close()
    })
  )

  inBrowser("keep what is chosen and typed for a new conversation", () =>
    at(quick, async ({ ask, base }) => {
      const { close, complaints, page } = await opened(base)
      await signIn(page, "olga")
      await page.goto("/console/conversations")
      await isLive(page)
      await page.getByText("New conversation …").click()
      const agent = page.getByLabel("Agent")
      await agent.selectOption("refunds")
      await page.getByLabel("What do you want to say?").fill("settle order-1003")
      await ask()
      await page.locator("tr[id]").waitFor()
      assert.strictEqual(await agent.inputValue(), "refunds")
      await page.getByRole("button", { name: "Send" }).click()
      await page.locator(".said", { hasText: "settle order-1003" }).waitFor()
      assert.include(await page.content(), "refunds")
      assert.deepStrictEqual(complaints, [])
      await close()
    })
  )

  inBrowser("are not all: a conversation shows its answer, and keeps a message that is typed", () =>
    at(quick, async ({ ask, base, troupe }) => {
      const { id, run } = await ask()
      const { conversation } = await troupe.run(run)
      const { close, complaints, page } = await opened(base)
      await signIn(page, "olga")
      await page.goto(`/console/conversations/${conversation}`)
      await isLive(page)
      const text = page.getByLabel("Your message to its agent")
      await text.fill("And order 1004?")
      const key = page.locator('[name="message_key"]')
      const first = await key.inputValue()
      await troupe.decide(id, { decision: "approve" }, anna)
      await page.getByText("You get your money back.").waitFor()
      assert.strictEqual(await text.inputValue(), "And order 1004?")
      assert.strictEqual(await key.inputValue(), first)
      assert.strictEqual(await focus(page), "text")
      await page.getByRole("button", { name: "Send" }).click()
      await page.locator(".said", { hasText: "And order 1004?" }).waitFor()
      assert.deepStrictEqual(complaints, [])
      await close()
    })
  )

  inBrowser(
    "obey no attribute that the page does not vouch for, and make markup of no other text",
    () =>
      at(quick, async ({ base }) => {
        const { close, complaints, page } = await opened(base)
        await signIn(page, "olga")
        await isLive(page)
        const asks: Array<string> = []
        page.on("request", (request) => asks.push(request.url()))
        const left: unknown = await page.evaluate(`(() => {
        const made = document.createElement("b")
        made.setAttribute("hx-get", "/console/runs")
        made.setAttribute("hx-trigger", "load")
        document.querySelector("main").append(made)
        htmx.process(made)
        return made.getAttributeNames()
      })()`)
        assert.deepStrictEqual(left, [])
        const refused: unknown = await page.evaluate(
          `(() => { try { document.querySelector("main").innerHTML = "<b>x</b>" } catch ({ name }) { return name } })()`
        )
        assert.strictEqual(refused, "TypeError")
        assert.deepStrictEqual(asks, [])
        assert.isTrue(
          complaints.some((each) => each.includes("blocked <b>: no hx-nonce attribute"))
        )
        await close()
      })
  )

  inBrowser("say that somebody has signed out, and take nothing away", () =>
    at(quick, async ({ ask, base }) => {
      const { id } = await ask()
      const { close, page } = await opened(base)
      await signIn(page, "olga")
      await page.goto(`/console/inbox/${id}`)
      await isLive(page)
      const other = await page.context().newPage()
      await other.goto("/console/runs")
      await other.getByRole("button", { name: "Sign out" }).click()
      await other.getByLabel("Token").waitFor()
      await page.getByText("You are signed out.").waitFor()
      // It asks no more.
      assert.strictEqual(await page.locator("[hx-sse-connect]").count(), 0)
      assert.isTrue(await page.getByRole("button", { name: "Approve", exact: true }).isVisible())
      await close()
    })
  )

  inBrowser("are followed by four pages of a session, and by the next when one is closed", () =>
    at(quick, async ({ base }) => {
      const { close, page } = await opened(base)
      await signIn(page, "olga")
      await isLive(page)
      const others: Array<Page> = []
      for (let n = 0; n < 3; n++) {
        const other = await page.context().newPage()
        await other.goto("/console")
        await isLive(other)
        others.push(other)
      }
      const fifth = await page.context().newPage()
      await fifth.goto("/console")
      await fifth.getByText("Does not follow").waitFor()
      await others[0]?.close()
      await isLive(fifth)
      await close()
    })
  )
})
