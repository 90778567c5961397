/** Signing in by an identity provider in a real browser, and out again. */
import { assert } from "vitest"
import { inBrowser, opened } from "./BrowserScene.ts"
import { shop } from "./ConsoleScene.ts"
import { httpWith, identityProvider } from "./ProviderScene.ts"

inBrowser("the way to a provider and back is open in a browser, in both directions", async () => {
  const provider = await identityProvider()
  const troupe = await shop({ http: httpWith(provider.issuer) })
  const base = troupe.url ?? ""
  provider.knows(`${base}/console`)
  const { close, complaints, page } = await opened(base)
  try {
    await page.goto("/console/runs")
    await page.getByRole("link", { name: "Sign in with Acme" }).click()
    await page.waitForURL(`${provider.issuer}/interaction/**`)
    await page.locator("[name=login]").fill("u-olga")
    await page.locator("[name=password]").fill("x")
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Continue" }).click()
    await page.waitForURL(`${base}/console/runs`)
    await page.getByText("u-olga").waitFor()
    const [session] = await page.context().cookies(`${base}/console`)
    assert.deepInclude(session, { name: "troupe_console", httpOnly: true, sameSite: "Lax" })

    await page.getByRole("button", { name: "Sign out" }).click()
    await page.waitForURL(`${provider.issuer}/session/end**`)
    await page.getByRole("button", { name: /yes/i }).click()
    await page.waitForURL(`${base}/console/sign-in**`)
    await page.getByLabel("Token").waitFor()
    await page.goto("/console/runs")
    await page.getByLabel("Token").waitFor()
    assert.deepStrictEqual(
      complaints.filter(
        // Its pages ask for a font of somebody else.
        (each) => !each.includes(provider.issuer) && !/fonts\.|ERR_NAME_NOT_RESOLVED/.test(each)
      ),
      []
    )
  } finally {
    await close()
    await troupe.stop()
    await provider.stop()
  }
})
