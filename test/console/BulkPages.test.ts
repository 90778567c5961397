/** Bulks in a real browser: the page goes on by itself, until somebody stops it, and while its server is killed. */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { assert, describe } from "vitest"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { at, inBrowser, inLongBrowser, opened, signIn } from "./BrowserScene.ts"
import { anna, letterId, tokenOf } from "./ConsoleScene.ts"

/** Loads the page of the count until so many match: what came in the millisecond of a count is not part of it. */
const counted = async (page: Page, path: string, said: string) => {
  for (;;) {
    await page.goto(path)
    if (await page.getByRole("heading", { name: said, exact: true }).isVisible()) return
  }
}

const far = (page: Page, said: string) =>
  page.getByRole("heading", { name: said, exact: true }).waitFor()

const downloaded = async (page: Page) => {
  const waiting = page.waitForEvent("download")
  await page.getByRole("button", { name: "Download the result (CSV)" }).click()
  const download = await waiting
  return readFileSync(await download.path(), "utf8").split("\r\n")
}

describe("a bulk with scripts", () => {
  inBrowser(
    "cancels step by step, stops, and goes on",
    () =>
      at({}, async ({ base, troupe }) => {
        const runs: Array<string> = []
        for (let n = 0; n < 210; n++) {
          runs.push((await troupe.ask({ agent: "refunds", text: "Refund it." }, anna)).run)
        }
        const { close, complaints, page } = await opened(base)
        await signIn(page, "olga")
        await page.goto("/console/runs")
        await page.getByRole("link", { name: "Cancel many …" }).click()
        await counted(page, "/console/bulk/runs?agent=refunds", "210 runs match")
        await page.getByText("Cancel …").click()
        await page.getByLabel("Why?").fill("the sale is over")
        // The second step is held until somebody has pressed Stop.
        let steps = 0
        let release = () => {}
        const pressed = new Promise<void>((resolve) => (release = resolve))
        await page.route("**/bulk/runs", async (route) => {
          if (route.request().method() === "POST" && ++steps === 2) await pressed
          await route.continue()
        })
        await page.getByRole("button", { name: "Cancel: 210 runs" }).click()
        await far(page, "100 of 210 runs")
        const stop = page.getByRole("button", { name: "Stop" })
        await stop.click()
        await page.getByText("Stopped: what was done stays done.").waitFor()
        release()
        await far(page, "200 of 210 runs")
        assert.strictEqual(steps, 2)
        const open = await troupe.countRuns({}, anna)
        assert.strictEqual(open.count, 10)
        await page.getByRole("button", { name: "Go on" }).click()
        await far(page, "210 of 210 runs: over")
        await page.getByText("210 cancelled, 0 skipped").waitFor()
        const lines = await downloaded(page)
        assert.sameMembers(
          lines.slice(1, -1),
          runs.map((run) => `"${run}","done",""`)
        )
        assert.deepStrictEqual(complaints, [])
        await close()
      }),
    120_000
  )

  /** A process with letters that nobody took; it can be killed, and begun again at the same address. */
  const mailing = Effect.gen(function* () {
    const { directory } = yield* Homes.directory
    const begun = Effect.fnUntraced(function* (port: string) {
      const child = yield* Children.start("test/console/mailing.ts", [
        directory,
        port,
        tokenOf("olga"),
        "130"
      ])
      yield* child.printed("serving")
      const [, url = ""] = /serving (\S+)/.exec(child.text()) ?? []
      return { child, url }
    })
    const first = yield* begun("0")
    return { ...first, again: begun(new URL(first.url).port) }
  })

  inLongBrowser(
    "sends dead letters again while its server is killed within a step, each once",
    () =>
      Effect.gen(function* () {
        const { again, child, url } = yield* mailing
        const { close, complaints, page, reached } = yield* Effect.promise(async () => {
          const { close, complaints, page } = await opened(url)
          await signIn(page, "olga")
          await counted(page, "/console/bulk/letters", "130 dead letters match")
          await page.getByText("Send again …").click()
          await page.getByLabel("Why now?").fill("the receiver is back")
          let steps = 0
          let release = () => {}
          const reached = new Promise<void>((resolve) => (release = resolve))
          await page.route("**/bulk/letters", async (route) => {
            if (route.request().method() === "POST" && ++steps === 2) release()
            await route.continue()
          })
          await page.getByRole("button", { name: "Send again: 130 dead letters" }).click()
          return { close, complaints, page, reached }
        })
        yield* Effect.promise(() => reached)
        // Some letters of the step are done by then.
        yield* Effect.sleep("80 millis")
        yield* child.kill
        yield* Effect.promise(() =>
          page.getByText("The service does not answer. It is tried again.").waitFor()
        )
        yield* again
        yield* Effect.promise(async () => {
          await page.getByRole("heading", { name: /dead letters: over$/ }).waitFor()
          const [head, ...lines] = await downloaded(page)
          assert.strictEqual(head, '\ufeff"event_id","outcome","why"')
          const ids = lines.slice(0, -1).map((line) => line.split(",")[0])
          assert.strictEqual(new Set(ids).size, ids.length)
          assert.isAtLeast(ids.length, 60)
          for (const line of lines.slice(0, -1)) assert.match(line, /^"[0-9a-f-]{36}","done",""$/)
          const of = async (status: string) => {
            const answer = await fetch(`${url}/v1/dead-letters?status=${status}&limit=500`, {
              headers: { authorization: `Bearer ${tokenOf("olga")}` }
            })
            const { items }: { readonly items: ReadonlyArray<Record<string, string>> } = JSON.parse(
              await answer.text()
            )
            return items
          }
          assert.deepStrictEqual(await of("dead"), [])
          const replayed = await of("replayed")
          assert.sameMembers(
            replayed.map(({ event_id }) => event_id),
            Array.from({ length: 130 }, (_, n) => letterId(n))
          )
          for (const letter of replayed) {
            assert.strictEqual(letter["resolved_by"], "olga")
            assert.strictEqual(letter["resolved_reason"], "the receiver is back")
          }
          // The browser reports that nobody answered, and so does htmx.
          assert.deepStrictEqual(
            complaints.filter((each) => !/ERR_|network|fetch/.test(each)),
            []
          )
          await close()
        })
      }).pipe(Effect.scoped, Effect.runPromise),
    180_000
  )
})
