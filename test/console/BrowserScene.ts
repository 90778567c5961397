/** What tests in a real browser share: the browser, a page with all that it complained of, and a shop to look at. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import type { Options } from "troupe/embed"
import { afterAll, assert, beforeAll, it } from "vitest"
import { isFull } from "../Long.ts"
import { launch } from "./Chromium.ts"
import { anna, shop, tokenOf } from "./ConsoleScene.ts"

let browser: Browser
let missing: string | undefined
beforeAll(async () => {
  const launched = await launch()
  if (typeof launched === "string") missing = launched
  else browser = launched
}, 60_000)
afterAll(() => browser?.close())

/** Notes that there is no browser, and skips. */
export const inBrowser = (name: string, test: () => Promise<void>, timeout = 60_000) =>
  it(name, { timeout }, async ({ task }) => {
    if (missing === undefined) return await test()
    task.meta.notes = [missing]
  })

/** The same of the long form alone. */
export const inLongBrowser: typeof inBrowser = isFull ? inBrowser : () => {}

/** A page, and all that its browser complained of: messages, errors, and requests to other hosts. */
export const opened = async (base: string, options: BrowserContextOptions = {}) => {
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

export const signIn = async (page: Page, name: string) => {
  await page.goto("/console")
  await page.getByLabel("Token").fill(tokenOf(name))
  await page.keyboard.press("Enter")
  await page.waitForURL("**/console")
}

/** A started shop, and one that asks there. */
export const at = async (
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
