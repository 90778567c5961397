/** Records of a feature in a real browser. */
import { assert, describe } from "vitest"
import { draw, inBrowser, inLongBrowser, lookAt, opened, signIn } from "./BrowserScene.ts"
import { recorded } from "./RecordScene.ts"

const paths = [
  "/records/scans",
  "/records/scans/scan-3",
  "/records/failure-clusters",
  "/records/failure-clusters/no-source",
  "/records/failure-clusters/no-source/failures",
  "/records/changesets",
  "/records/changesets/change-1",
  "/records/drafts",
  "/records/drafts/draft-1",
  "/records/worlds",
  "/records/worlds/credit",
  "/records/worlds/credit/rules",
  "/records/worlds/credit/rules/apr-shown"
]

/** One of each kind: a list with filters, one within another, and records with and without forms. */
const some = paths.filter((path) => /clusters(\/.*)?$|draft-1/.test(path))

describe("records of a feature in a browser", () => {
  inBrowser(
    "are accessible in light and dark, at every width, and are reviewed there",
    async () => {
      const troupe = await recorded()
      const { close, complaints, page } = await opened(troupe.url ?? "")
      await signIn(page, "olga")
      for (const path of some) await lookAt(page, path)
      await page.getByRole("link", { name: "Changesets" }).click()
      await page.getByRole("link", { name: "Ask for a source" }).first().click()
      await page.getByText("Review changeset …").click()
      await page.getByLabel("decision").selectOption("approved")
      await page.getByRole("button", { name: "Review changeset" }).click()
      await page.locator("dd", { hasText: /^approved$/ }).waitFor()
      assert.deepStrictEqual(complaints, [])
      await close()
      await troupe.stop()
    },
    120_000
  )

  inLongBrowser("are drawn in light and in dark", async () => {
    const troupe = await recorded()
    const { close, page } = await opened(troupe.url ?? "", {
      viewport: { width: 1_280, height: 800 }
    })
    await signIn(page, "olga")
    for (const path of paths) await draw(page, path)
    await close()
    await troupe.stop()
  })
})
