/** The client in a real browser, on a page of the service's own host: streams, a decision, files, and connections that break. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { assert } from "vitest"
import { inBrowser, opened } from "../console/BrowserScene.ts"
import { picture, ran, shop, tokens } from "../wires/WireScene.ts"

const html = `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><form><input name="text"><input type="file"></form>
<script type="module" src="/page.js"></script>`

/** A server with the page, and with the API beneath a path of its own. */
const site = async (listener: Awaited<ReturnType<typeof shop>>["nodeListener"]) => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    platform: "browser",
    write: false
  })
  const server = createServer((request, response) => {
    const { url = "" } = request
    if (url.startsWith("/agents/")) return void listener(request, response)
    const isScript = url === "/page.js"
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8")
    response.end(isScript ? outputFiles[0]!.text : html)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, server }
}

inBrowser("a page asks, approves and sends a file, while its connections break", async () => {
  ran.length = 0
  const troupe = await shop({ http: { settings: { base_path: "/agents" } } as never })
  const { origin, server } = await site(troupe.nodeListener)
  const { close, complaints, page } = await opened(origin)
  const say = async (text: string) => {
    await page.locator("input[name=text]").fill(text)
    await page.locator("input[name=text]").press("Enter")
  }
  try {
    await page.goto(`/#${tokens.carl}`)
    await say("refund 1003")
    const button = page.getByRole("button", { name: "Approve" })
    await button.waitFor()
    await page.getByText("One moment.").waitFor()
    // The stream's too.
    server.closeAllConnections()
    await button.click()
    await page.getByText("One moment.Done with refund 1003.", { exact: true }).waitFor()
    await page.getByText("complete").waitFor()
    await page.getByText("in 1 conversation").waitFor()
    assert.deepStrictEqual(ran, ["refund 1003"])

    const buffer = Buffer.from(picture.data, "base64")
    const file = { name: "point.png", mimeType: "image/png", buffer }
    await page.locator("input[type=file]").setInputFiles(file)
    await say("look at this")
    await page.getByText(`a file of ${buffer.length} bytes, image/png`).waitFor()
    // What a browser says of connections that break.
    assert.deepStrictEqual(
      complaints.filter((each) => !each.includes("net::ERR_")),
      []
    )

    await page.goto("about:blank")
    await page.goto(`/#${"x".repeat(30)}`)
    await say("hello")
    await page.getByText("Unauthorized").waitFor()
    assert.lengthOf(await troupe.runs({}), 2)
  } finally {
    await close()
    server.close()
    server.closeAllConnections()
    await troupe.stop()
  }
})
