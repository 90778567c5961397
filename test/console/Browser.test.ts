/** The console in a real browser: by keyboard, in both schemes, at every width, and with texts that try to be more. */
import { anna } from "./ConsoleScene.ts"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import type { Options } from "troupe/embed"
import { afterAll, assert, describe, vi } from "vitest"
import { isFull } from "../Long.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import {
  at,
  draw,
  faults,
  inBrowser,
  inLongBrowser,
  lookAt,
  opened,
  signIn
} from "./BrowserScene.ts"

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
        for (let tabs = 0; tabs < 40 && (await focused.count()) === 0; tabs++) {
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
          await page.getByRole("link", { name: "Change them as JSON" }).click()
          const box = page.getByLabel("All arguments, as JSON. They are checked again.")
          const proposed = await box.inputValue()
          const preview = page.getByRole("button", { name: "Show the changes" })
          await box.fill(proposed.replace("}", ""))
          await preview.click()
          await page.getByText("The arguments are not JSON that can be read").waitFor()
          assert.strictEqual(await box.inputValue(), proposed.replace("}", ""))
          // What was refused is on this page alone.
          assert.strictEqual(await page.getByRole("status").count(), 0)
          await page.getByRole("link", { name: "Change them in fields" }).click()
          await page.getByText("Change and run …").click()
          await preview.click()
          await page.getByText("Nothing was changed. Approve it").waitFor()
          const amount = page.getByRole("textbox", { name: "amount" })
          await amount.fill("124.50")
          await preview.click()
          await page.getByText("“249.00”").waitFor()
          assert.deepStrictEqual(await faults(page), [])
          await page.getByRole("button", { name: "Change more" }).click()
          assert.strictEqual(await amount.inputValue(), "124.50")
          assert.deepStrictEqual(await faults(page), [])
          await preview.click()
          await page.getByRole("button", { name: "Run it so" }).click()
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

describe("a form of arguments", () => {
  inBrowser(
    "means what was proposed where nobody touched it, whatever a browser does to texts",
    () =>
      at(
        {},
        async ({ ask, base, troupe }) => {
          const { id } = await ask()
          const { close, page } = await opened(base)
          await signIn(page, "olga")
          await page.goto(`/console/inbox/${id}`)
          await page.getByText("Change and run …").click()
          const preview = page.getByRole("button", { name: "Show the changes" })
          await preview.click()
          await page.getByText("Nothing was changed. Approve it").waitFor()
          // Also once it came back.
          await preview.click()
          await page.getByText("Nothing was changed. Approve it").waitFor()
          const order = page.getByRole("textbox", { name: "order" })
          await order.fill("one\nmore")
          await preview.click()
          await page.getByRole("button", { name: "Run it so" }).click()
          await page.getByText("changed and approved by olga").waitFor()
          const { decision } = await troupe.approval(id)
          assert.deepStrictEqual(decision?._tag === "Modify" && decision.arguments, {
            ...odd,
            order: "one\nmore"
          })
          await close()
        },
        odd
      )
  )
  const odd = {
    order: "\nbegins and ends with a line\n\n",
    amount: " 1\r\n\u202e\u00a0",
    why: `\t"quotes" &amp; ‹U+202E› \u2028 \ud83d\ude00 `
  }
})

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
      // A page that follows may be changed in between, and gives the focus back a moment later.
      const press = async (wanted: RegExp, ...pressed: ReadonlyArray<string>) => {
        for (const key of pressed) await page.keyboard.press(key)
        await vi.waitFor(async () => assert.match(String(await focus()), wanted), 10_000)
      }
      const at_first = new RegExp(`^/console/inbox/${first.id}$`)
      const at_second = new RegExp(`^/console/inbox/${second.id}$`)
      await press(at_first, "j")
      await press(at_second, "j")
      await press(at_second, "j")
      await press(at_first, "k")
      await page.keyboard.press("Enter")
      await page.waitForURL(`**/inbox/${first.id}`)
      // The script runs once the page is whole.
      await page.waitForLoadState()
      await press(at_second, "j")
      await press(/^decision$/, "a")
      await press(/^argument\/order$/, "m")
      // A key in a field is a letter.
      await press(/^argument\/order$/, "a", "d", "?")
      await page.reload()
      await press(/^reason$/, "d")
      await page.reload()
      await page.keyboard.press("?")
      await page.getByRole("dialog", { name: "Keys" }).waitFor()
      assert.deepStrictEqual(await faults(page), [])
      await page.keyboard.press("Escape")
      await page.goto("/console/runs")
      await press(/^\/console\/runs$/, "/")
      await press(/^\/console\/runs\//, "j")
      assert.strictEqual((await troupe.approval(first.id)).status, "pending")
      assert.deepStrictEqual(complaints, [])
      await close()
    })
  )
})

describe("every page", () => {
  const canary = `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>" autofocus onfocus=alert(4) <b hx-get=/console/x hx-trigger=load data-hx-get=/console/y> </textarea></table>\u202e`

  const admin_pages = ["/tokens", "/erasures", "/channels", "/settings"]
  const pagesOf = (id: string, run: string, conversation: string, fork: string) => [
    "",
    "/decisions",
    "/decisions/insights",
    "/decisions/insights?by=day",
    "/policy",
    "/coverage",
    "/tools",
    "/agents",
    "/memory",
    `/memory?agent=billing&conversation=${conversation}`,
    "/costs",
    "/costs?show=tokens&by=run",
    "/processes",
    "/checks",
    "/kill-switch",
    "/conversations",
    `/conversations/${conversation}`,
    "/inbox",
    `/inbox/${id}`,
    `/inbox/${id}?as=json`,
    "/runs",
    `/runs/${run}`,
    `/runs/${fork}`,
    `/runs/${run}/fork`,
    `/runs/${fork}/comparison`
  ]

  inBrowser(
    "is whole and accessible in light and dark, at 320 to 2,560 px, with texts that try to be markup",
    () =>
      at(
        {},
        async ({ ask, base, troupe }) => {
          const { id, run } = await ask(canary)
          const { conversation } = await troupe.run(run)
          const fork = await troupe.fork(run, { message: "another" }, anna)
          await troupe.result(fork.id)
          for (const [name, paths] of [
            ["olga", pagesOf(id, run, conversation, fork.id)],
            ["other", admin_pages]
          ] as const) {
            const { close, complaints, page } = await opened(base)
            await page.goto("/console/sign-in")
            assert.deepStrictEqual(await faults(page), [])
            await signIn(page, name)
            for (const path of paths) await lookAt(page, path)
            assert.deepStrictEqual(complaints, [])
            await close()
          }
        },
        { order: canary, amount: "1", why: "x".repeat(2_000) }
      ),
    // Some thirty pages, each in two schemes and four widths, beside whatever else a machine does.
    300_000
  )

  inLongBrowser(
    "is drawn on each page, in light and in dark",
    () =>
      at({}, async ({ ask, base, troupe }) => {
        const asked = await ask()
        const decided = await ask()
        await troupe.decide(decided.id, { decision: "approve" }, anna)
        await troupe.result(decided.run)
        const { conversation } = await troupe.run(asked.run)
        const fork = await troupe.fork(decided.run, { message: "another" }, anna)
        await troupe.result(fork.id)
        for (const [name, paths] of [
          ["olga", pagesOf(asked.id, decided.run, conversation, fork.id)],
          ["other", admin_pages]
        ] as const) {
          const { close, page } = await opened(base, { viewport: { width: 1_280, height: 800 } })
          await signIn(page, name)
          for (const path of paths) await draw(page, path)
          await close()
        }
      }),
    300_000
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
