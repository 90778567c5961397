/** `useChat` in a real browser, on a page of another origin that the service names, and of one that it does not. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { assert } from "vitest"
import { inBrowser, opened } from "../console/BrowserScene.ts"
import { ran, shop, tokens } from "./WireScene.ts"

/** A site with the page, bundled as an application would have it. */
const site = async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("chatPage.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    platform: "browser",
    define: { "process.env.NODE_ENV": '"production"' },
    minify: true,
    write: false
  })
  const script = outputFiles[0]!.text
  const html = `<!doctype html><title>Chat</title><link rel="icon" href="data:,"><body><script type="module">
    import { mount } from "/page.js"
    const given = JSON.parse(decodeURIComponent(location.hash.slice(1)))
    const stored = await fetch(given.api + "/" + given.id + "/messages", { headers: { authorization: "Bearer " + given.token } })
      .then((response) => response.json(), () => [])
    mount(document.body, { ...given, messages: Array.isArray(stored) ? stored : [] })
  </script>`
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js"
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8")
    response.end(isScript ? script : html)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, port, close: () => server.close() }
}

inBrowser("a page of another origin talks to an agent, approves, and comes back", async () => {
  ran.length = 0
  const pages = await site()
  const troupe = await shop({
    http: { settings: { wires: ["ui-messages"], origins: [pages.origin] } } as never
  })
  const given = (id: string) =>
    encodeURIComponent(
      JSON.stringify({
        api: `${troupe.url}/wires/ui-messages/clerk`,
        token: tokens.carl,
        id,
        resume: true
      })
    )
  const { close, complaints, page } = await opened(pages.origin)
  try {
    await page.goto(`/#${given("browser-1")}`)
    await page.locator("input").fill("refund 1003")
    await page.keyboard.press("Enter")
    await page.getByText("refund approval-requested").waitFor()
    await page.reload()
    await page.getByText("refund approval-requested").waitFor()
    await page.getByRole("button", { name: "Approve" }).click()
    await page.getByText("Done with refund 1003.").waitFor()
    assert.strictEqual(await page.locator("section").count(), 2)
    assert.deepStrictEqual(ran, ["refund 1003"])
    const others = complaints.filter((each) => !each.startsWith(`request ${troupe.url}/wires/`))
    assert.deepStrictEqual(others, [])

    // The same page under a name that the service does not know.
    await page.goto(`http://localhost:${pages.port}/#${given("browser-2")}`)
    await page.locator("input").fill("refund 1004")
    await page.keyboard.press("Enter")
    await page.getByText("Failed to fetch").waitFor()
    assert.lengthOf(await troupe.runs({}), 1)
  } finally {
    await close()
    pages.close()
    await troupe.stop()
  }
})
