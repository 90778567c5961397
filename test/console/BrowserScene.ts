/** What tests in a real browser share: the browser, a page with all that it complained of, and a shop to look at. */
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import type { Options } from "troupe/embed"
import { assert, it } from "vitest"
import { isFull } from "../Long.ts"
import { launch } from "./Chromium.ts"
import { anna, shop, tokenOf } from "./ConsoleScene.ts"

/** One for all files of this process, which it ends with. */
let launched: Promise<Browser | string> | undefined
const browserOfProcess = () => (launched ??= launch())

/** Notes that there is no browser, and skips. */
export const inBrowser = (name: string, test: () => Promise<void>, timeout = 120_000) =>
  it(name, { timeout }, async ({ task }) => {
    const found = await browserOfProcess()
    if (typeof found !== "string") return await test()
    task.meta.notes = [found]
  })

/** The same of the long form alone. */
export const inLongBrowser: typeof inBrowser = isFull ? inBrowser : () => {}

/** A page, and all that its browser complained of: messages, errors, and requests to other hosts. */
export const opened = async (base: string, options: BrowserContextOptions = {}) => {
  const browser = await browserOfProcess()
  if (typeof browser === "string") throw new Error(browser)
  const context = await browser.newContext({ baseURL: base, ...options })
  // A machine that is busy with other things is no fault: a test has its own limit.
  context.setDefaultTimeout(100_000)
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

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")

/** What depends on colours. */
const of_colours = ["color-contrast", "link-in-text-block"]

/** What axe finds that is serious. `only`: by these rules; absent = by all. */
export const faults = async (
  page: Page,
  only?: ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  // The pages' policy lets no script in: it comes through the debugger, once to each page, since it is half a megabyte.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe)
  const found: ReadonlyArray<{
    readonly id: string
    readonly impact?: string
    readonly nodes: ReadonlyArray<{ readonly html: string }>
  }> = await page.evaluate(
    `axe.run(${JSON.stringify(only === undefined ? {} : { runOnly: only })}).then(({ violations }) => violations)`
  )
  return found.map(({ id, impact, nodes }) => `${impact} ${id} ${nodes[0]?.html}`)
}

const isWide = (page: Page): Promise<boolean> =>
  page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")

/** Fails where a page has serious faults in light or dark, also in what it has closed, or is wider than the window. */
export const lookAt = async (page: Page, path: string) => {
  await page.goto(`/console${path}`)
  // What is closed is not looked at.
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
  await page.emulateMedia({ colorScheme: "light" })
  assert.deepStrictEqual(await faults(page), [], `${path} in light`)
  await page.emulateMedia({ colorScheme: "dark" })
  assert.deepStrictEqual(await faults(page, of_colours), [], `${path} in dark`)
  for (const width of [320, 860, 1_280, 2_560]) {
    await page.setViewportSize({ width, height: 800 })
    assert.isFalse(await isWide(page), `${path} at ${width}`)
  }
}

/** Draws a page in both schemes, which differ: into the directory that the environment names, if it names one. */
export const draw = async (page: Page, path: string) => {
  const folder = process.env["TROUPE_SCREENSHOTS"]
  if (folder !== undefined) mkdirSync(folder, { recursive: true })
  await page.goto(`/console${path}`)
  const pictures: Array<Buffer> = []
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme })
    const file = `${path.replaceAll(/[^a-z0-9]+/gi, "-") || "-now"}-${colorScheme}.png`
    pictures.push(
      await page.screenshot(folder === undefined ? {} : { path: join(folder, file.slice(1)) })
    )
  }
  assert.isFalse(pictures[0]?.equals(pictures[1] ?? Buffer.of()), path)
}
