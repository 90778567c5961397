/** The console in a real browser: by keyboard, in both schemes, at every width, and with texts that try to be more. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import type { Options } from "troupe/embed"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { isFull } from "../Long.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { launch } from "./Chromium.ts"
import { anna, http, PlainBrowser, shop, tokenOf } from "./ConsoleScene.ts"

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")

let browser: Browser
let missing: string | undefined
beforeAll(async () => {
  const launched = await launch()
  if (typeof launched === "string") missing = launched
  else browser = launched
}, 60_000)
afterAll(() => browser?.close())

/** Notes that there is no browser, and skips. */
const inBrowser = (name: string, test: () => Promise<void>, timeout = 60_000) =>
  it(name, { timeout }, async ({ task }) => {
    if (missing === undefined) return await test()
    task.meta.notes = [missing]
  })

/** A page, and all that its browser complained of: messages, errors, and requests to other hosts. */
const opened = async (base: string, options: BrowserContextOptions = {}) => {
  const context = await browser.newContext({ baseURL: base, ...options })
  const page = await context.newPage()
  const complaints: Array<string> = []
  page.on("console", (message) => complaints.push(message.text()))
  page.on("pageerror", (error) => complaints.push(String(error)))
  page.on("dialog", (dialog) => {
    complaints.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on("request", (request) => {
    if (!request.url().startsWith(base)) complaints.push(`request ${request.url()}`)
  })
  return { page, complaints, close: () => context.close() }
}

const signIn = async (page: Page, name: string) => {
  await page.goto("/console")
  await page.getByLabel("Token").fill(tokenOf(name))
  await page.keyboard.press("Enter")
  await page.waitForURL("**/console")
}

/** What axe finds that is serious. */
const faults = async (page: Page): Promise<ReadonlyArray<string>> => {
  // The pages' policy lets no script in: it comes through the debugger.
  await page.evaluate(axe)
  const found: ReadonlyArray<{
    readonly id: string
    readonly impact?: string
    readonly nodes: ReadonlyArray<{ readonly html: string }>
  }> = await page.evaluate("axe.run().then(({ violations }) => violations)")
  return found.map(({ id, impact, nodes }) => `${impact} ${id} ${nodes[0]?.html}`)
}

const isWide = (page: Page): Promise<boolean> =>
  page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")

const at = async (
  stores: Partial<Options>,
  use: (of: {
    readonly base: string
    readonly ask: (text?: string) => Promise<{ readonly id: string; readonly run: string }>
    readonly troupe: Awaited<ReturnType<typeof shop>>
  }) => Promise<void>,
  proposed?: Parameters<typeof shop>[1]
) => {
  const troupe = await shop(stores, proposed)
  const ask = async (text = "The second delivery never came, refund order 1003.") => {
    const { run } = await troupe.ask({ agent: "billing", text }, anna)
    const [approval] = await troupe.approvals({ run_id: run })
    return { id: approval?.id ?? assert.fail("nothing was asked"), run }
  }
  try {
    await use({ base: troupe.url ?? "", ask, troupe })
  } finally {
    await troupe.stop()
  }
}

const directory = mkdtempSync(join(tmpdir(), "troupe-browser-"))
afterAll(() => rmSync(directory, { recursive: true }))

/** PGlite in the long form. */
const stores: ReadonlyArray<readonly [string, () => Promise<Partial<Options>>]> = [
  [
    "PostgreSQL",
    async () => ({ store: { postgres: await Effect.runPromise(EmbeddedPostgres.migrated) } })
  ],
  ...(isFull ? ([["PGlite", async () => ({ store: { directory } })]] as const) : [])
]

for (const [name, store] of stores) {
  describe(`an operator in a browser (${name})`, () => {
    inBrowser("signs in, finds the question, and approves it, by keyboard alone", async () =>
      at(await store(), async ({ ask, base, troupe }) => {
        const { id, run } = await ask()
        const { close, complaints, page } = await opened(base)
        await signIn(page, "olga")
        await page.getByRole("link", { name: "Pays an order back." }).focus()
        await page.keyboard.press("Enter")
        await page.waitForURL(`**/inbox/${id}`)
        const focused = page.locator("button:focus", { hasText: /^Approve/ })
        await page.getByRole("button", { name: "Approve", exact: true }).waitFor()
        for (let tabs = 0; tabs < 20 && (await focused.count()) === 0; tabs++) {
          await page.keyboard.press("Tab")
        }
        await page.keyboard.press("Enter")
        await page.getByText("approved by olga").waitFor()
        assert.strictEqual((await troupe.result(run)).text, "You get your money back.")
        await page.getByRole("button", { name: "Sign out" }).click()
        await page.getByLabel("Token").waitFor()
        await page.goBack()
        await page.getByLabel("Token").waitFor()
        assert.deepStrictEqual(complaints, [])
        await close()
      })
    )

    inBrowser(
      "denies, asks for a revision, and changes arguments: first no JSON, then better ones",
      async () =>
        at(await store(), async ({ ask, base, troupe }) => {
          const { close, complaints, page } = await opened(base)
          await signIn(page, "boss")
          const denied = await ask()
          await page.goto(`/console/inbox/${denied.id}`)
          await page.getByText("Deny …").click()
          await page.getByLabel("Why not? The agent reads it.").fill("it came")
          await page.getByRole("button", { name: "Deny", exact: true }).click()
          await page.getByText("denied by boss").waitFor()
          const revised = await ask()
          await page.goto(`/console/inbox/${revised.id}`)
          await page.getByText("Ask for a revision …").click()
          await page.getByLabel("What should be different? The agent reads it.").fill("half of it")
          await page.getByRole("button", { name: "Ask for a revision" }).click()
          await page.getByText("sent back by boss").waitFor()
          const changed = await ask()
          await page.goto(`/console/inbox/${changed.id}`)
          await page.getByText("Change and run …").click()
          const box = page.getByLabel("All arguments, as JSON. They are checked again.")
          const proposed = await box.inputValue()
          await box.fill(proposed.replace("}", ""))
          await page.getByRole("button", { name: "Change and run" }).click()
          await page.getByText("The arguments are not JSON that can be read").waitFor()
          assert.strictEqual(await box.inputValue(), proposed.replace("}", ""))
          // What was refused is on this page alone.
          assert.strictEqual(await page.getByRole("status").count(), 0)
          await box.fill(proposed.replace("249.00", "124.50"))
          await page.getByRole("button", { name: "Change and run" }).click()
          await page.getByText("changed and approved by boss").waitFor()
          await troupe.result(changed.run)
          await page.goto(`/console/runs/${changed.run}`)
          assert.include(await page.content(), "124.50")
          // The browser reports the answer 422.
          assert.deepStrictEqual(
            complaints.filter((each) => !each.includes("422")),
            []
          )
          await close()
        })
    )
  })
}

describe("keys", () => {
  inBrowser("lead through a list and to each decision, and decide nothing by themselves", () =>
    at({}, async ({ ask, base, troupe }) => {
      const first = await ask()
      const second = await ask()
      const { close, complaints, page } = await opened(base)
      await signIn(page, "olga")
      await page.goto("/console/inbox")
      const focus = () =>
        page.evaluate("document.activeElement.getAttribute('href') ?? document.activeElement.name")
      const press = async (...pressed: ReadonlyArray<string>) => {
        for (const key of pressed) await page.keyboard.press(key)
        return await focus()
      }
      assert.strictEqual(await press("j"), `/console/inbox/${first.id}`)
      assert.strictEqual(await press("j"), `/console/inbox/${second.id}`)
      assert.strictEqual(await press("j"), `/console/inbox/${second.id}`)
      assert.strictEqual(await press("k"), `/console/inbox/${first.id}`)
      await page.keyboard.press("Enter")
      await page.waitForURL(`**/inbox/${first.id}`)
      // The script runs once the page is whole.
      await page.waitForLoadState()
      assert.strictEqual(await press("j"), `/console/inbox/${second.id}`)
      assert.strictEqual(await press("a"), "decision")
      assert.strictEqual(await press("m"), "arguments")
      // A key in a field is a letter.
      assert.strictEqual(await press("a", "d", "?"), "arguments")
      await page.reload()
      assert.strictEqual(await press("d"), "reason")
      await page.reload()
      await page.keyboard.press("?")
      await page.getByRole("dialog", { name: "Keys" }).waitFor()
      assert.deepStrictEqual(await faults(page), [])
      await page.keyboard.press("Escape")
      await page.goto("/console/runs")
      assert.strictEqual(await press("/"), "/console/runs")
      assert.include(String(await press("j")), `/console/runs/`)
      assert.strictEqual((await troupe.approval(first.id)).status, "pending")
      assert.deepStrictEqual(complaints, [])
      await close()
    })
  )
})

describe("every page", () => {
  const canary = `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>" autofocus onfocus=alert(4) <b hx-get=/console/x hx-trigger=load data-hx-get=/console/y> </textarea></table>\u202e`

  inBrowser(
    "is whole and accessible in light and dark, at 320 to 2,560 px, with texts that try to be markup",
    () =>
      at(
        {},
        async ({ ask, base, troupe }) => {
          const { id, run } = await ask(canary)
          const { conversation } = await troupe.run(run)
          const paths = [
            "",
            "/decisions",
            "/decisions/insights",
            "/policy",
            "/tools",
            "/agents",
            "/costs",
            "/kill-switch",
            "/conversations",
            `/conversations/${conversation}`,
            "/inbox",
            `/inbox/${id}`,
            "/runs",
            `/runs/${run}`
          ]
          for (const colorScheme of ["light", "dark"] as const) {
            const { close, complaints, page } = await opened(base, { colorScheme })
            await page.goto("/console/sign-in")
            assert.deepStrictEqual(await faults(page), [])
            await signIn(page, "olga")
            for (const path of paths) {
              await page.goto(`/console${path}`)
              assert.deepStrictEqual(await faults(page), [], `${colorScheme} ${path}`)
              for (const width of [320, 860, 1_280, 2_560]) {
                await page.setViewportSize({ width, height: 800 })
                assert.isFalse(await isWide(page), `${path} at ${width}`)
              }
            }
            assert.deepStrictEqual(complaints, [])
            await close()
          }
        },
        { order: canary, amount: "1", why: "x".repeat(2_000) }
      )
  )

  inBrowser("has all of its menu in reach on a low screen", () =>
    at({}, async ({ base }) => {
      const { close, page } = await opened(base, { viewport: { width: 1_280, height: 360 } })
      await signIn(page, "olga")
      const { height = 0 } = (await page.locator("main").boundingBox()) ?? {}
      assert.isAtMost(height, 360)
      // The menu scrolls by itself: a long page would take its end out of reach.
      const isTall = "document.documentElement.scrollHeight > document.documentElement.clientHeight"
      assert.isFalse(await page.evaluate(isTall))
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByLabel("Token").waitFor()
      await close()
    })
  )

  inBrowser("works without a script", () =>
    at({}, async ({ ask, base }) => {
      const { id } = await ask()
      const { close, page } = await opened(base, { javaScriptEnabled: false })
      await signIn(page, "olga")
      await page.goto(`/console/inbox/${id}`)
      await page.getByRole("button", { name: "Approve", exact: true }).click()
      await page.getByText("approved by olga").waitFor()
      await page.goto(`/console/runs/${(await ask()).run}`)
      await page.getByText("What happened when").waitFor()
      assert.strictEqual(await page.locator("#live").isVisible(), false)
      await close()
    })
  )
})

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
