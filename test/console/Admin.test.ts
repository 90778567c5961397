/** What admins do in the console: make and revoke tokens, and erase people. */
import { assert, describe, it } from "vitest"
import { anna, http, PlainBrowser, shop, signedIn, tenant, tokenOf } from "./ConsoleScene.ts"
import { Principal } from "troupe"

const root = new Principal({ id: "root", tenant, roles: ["admin"] })
const withRoot = {
  http: { ...http, tokens: [...http.tokens, { token: tokenOf("root"), principal: root }] }
}

const within = async (
  use: (of: {
    readonly troupe: Awaited<ReturnType<typeof shop>>
    readonly admin: PlainBrowser
  }) => Promise<void>
) => {
  const troupe = await shop(withRoot)
  try {
    const admin = new PlainBrowser(troupe.url ?? "")
    await admin.signIn("root")
    await use({ troupe, admin })
  } finally {
    await troupe.stop()
  }
}

const path = "/console/tokens"
const asked = { decision: "create", name: "for <b>CI</b>", "role-viewer": "yes", days: "7" }

const textIn = (page: string): string =>
  /<pre [^>]*aria-label="Token">(troupe_[0-9a-f]+)<\/pre>/.exec(page)?.[1] ??
  assert.fail("no token is shown")

const claims = async (url: string | undefined, token: string) =>
  (await fetch(`${url}/v1/runs`, { headers: { authorization: `Bearer ${token}` } })).status

describe("access tokens", () => {
  it("are made with roles and an end, shown once, and revoked", () =>
    within(async ({ admin, troupe }) => {
      assert.include((await admin.get(path)).text, "No token was made here yet.")
      const made = await admin.post(path, { ...asked, principal: "robot" })
      assert.strictEqual(made.status, 201)
      const token = textIn(made.text)
      assert.strictEqual(await claims(troupe.url, token), 200)
      const list = await admin.get(path)
      assert.notInclude(list.text, token)
      for (const said of ["for &lt;b&gt;CI&lt;/b&gt;", "robot", "viewer", "by root", "Revoke …"]) {
        assert.include(list.text, said)
      }
      const [stored] = await troupe.tokens({}, root)
      assert.deepStrictEqual(stored?.roles, ["viewer"])
      const holds = (stored?.expires_at ?? 0) - (stored?.created_at ?? 0)
      assert.strictEqual(holds, 7 * 86_400_000)
      const { location, text } = await admin.post(`${path}/${stored?.id}/revoke`, {})
      assert.strictEqual(location, path)
      assert.include(text, "revoked by root")
      assert.notInclude(text, "Revoke …")
      assert.strictEqual(await claims(troupe.url, token), 401)
    }))

  it("hold no longer than the one that somebody signed in with, nor after it", () =>
    within(async ({ troupe }) => {
      const short = await troupe.createToken(
        { name: "short", roles: ["admin"], holds_ms: 3_600_000 },
        root
      )
      const session = new PlainBrowser(troupe.url ?? "")
      await session.post("/console/sign-in", { form_key: "-", token: short.token })
      const made = await session.post(path, { ...asked, name: "child" })
      assert.strictEqual(made.status, 201)
      const child = (await troupe.tokens({}, root)).find(({ name }) => name === "child")
      assert.strictEqual(child?.expires_at, short.expires_at)
      await session.post(`${path}/${short.id}/revoke`, {})
      assert.strictEqual((await session.post(path, asked)).location, "/console/sign-in")
    }))

  it("are not made of what does not fit, and what was typed stays", () =>
    within(async ({ admin, troupe }) => {
      const { "role-viewer": _, ...none } = asked
      for (const odd of [
        none,
        { ...asked, name: "" },
        { ...asked, name: "n".repeat(101) },
        { ...asked, days: "366" },
        { ...asked, principal: "p".repeat(201) },
        { ...none, "role-root": "yes" }
      ]) {
        const { status, text } = await admin.post(path, odd)
        assert.strictEqual(status, 422, JSON.stringify(odd))
        assert.include(text, "A token needs a name")
        if ("role-viewer" in odd) {
          assert.match(text, /name="role-viewer" value="yes" checked>/)
        }
      }
      assert.deepStrictEqual(await troupe.tokens({}, root), [])
    }))

  it("are for admins alone, each for those of their tenant", () =>
    within(async ({ admin, troupe }) => {
      await admin.post(path, asked)
      const [stored] = await troupe.tokens({}, root)
      for (const name of ["olga", "vera", "boss"] as const) {
        const browser = await signedIn(troupe, name)
        assert.notInclude((await browser.get("/console")).text, "Access tokens")
        assert.strictEqual((await browser.get(path)).status, 403, name)
        assert.strictEqual((await browser.post(path, asked)).status, 403, name)
        assert.strictEqual((await browser.post(`${path}/${stored?.id}/revoke`, {})).status, 403)
      }
      const other = await signedIn(troupe, "other")
      assert.notInclude((await other.get(path)).text, "for &lt;b&gt;CI")
      assert.strictEqual((await other.post(`${path}/${stored?.id}/revoke`, {})).status, 404)
      assert.strictEqual((await other.post(`${path}/odd/revoke`, {})).status, 404)
      assert.isUndefined((await troupe.tokens({}, root))[0]?.revoked_at)
    }))
})

describe("erasures", () => {
  const erasures = "/console/erasures"

  it("take the id twice, show what was done and its key once, and are listed", () =>
    within(async ({ admin, troupe }) => {
      assert.include((await admin.get(erasures)).text, "Nothing was erased yet.")
      const { run } = await troupe.ask({ agent: "billing", text: "I am anna" }, anna)
      for (const odd of [
        { subject: "anna", again: "ann" },
        { subject: "anna", again: "" },
        { subject: "", again: "" }
      ]) {
        const refused = await admin.post(erasures, odd)
        assert.strictEqual(refused.status, 422)
        assert.include(refused.text, "Nothing was erased.")
      }
      const active = await admin.post(erasures, { subject: "anna", again: "anna" })
      assert.strictEqual(active.status, 409)
      assert.include(active.text, `value="anna"`)
      assert.include(active.text, run)
      await troupe.cancel(run, anna, "it is over")
      await troupe.result(run)
      const done = await admin.post(erasures, { subject: "anna", again: "anna" })
      assert.strictEqual(done.status, 200)
      assert.include(done.text, "<h2>Erased</h2>")
      const [record] = await troupe.erasures({}, root)
      assert.include(done.text, record?.subject ?? "no record")
      const { text } = await admin.get(erasures)
      assert.include(text, record?.id ?? "no record")
      assert.include(text, "done</span>")
      assert.notInclude(text, "anna")
    }))

  it("are for admins alone", () =>
    within(async ({ troupe }) => {
      for (const name of ["olga", "vera"] as const) {
        const browser = await signedIn(troupe, name)
        assert.notInclude((await browser.get("/console")).text, "Erasures")
        assert.strictEqual((await browser.get(erasures)).status, 403)
        const sent = { subject: "anna", again: "anna" }
        assert.strictEqual((await browser.post(erasures, sent)).status, 403)
      }
      assert.deepStrictEqual(await troupe.erasures({}, root), [])
    }))
})
