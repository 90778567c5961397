/** Signing in by an identity provider, over HTTP: who gets in, as whom, for how long, and how they leave. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import fastify from "fastify"
import { Principal, Tenant } from "troupe"
import type { Claims, OpenIdOptions, Options } from "troupe/embed"
import { feature, Rows, tableRows } from "troupe/feature"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { sessions } from "../../layers/stores/StoredConsoleSessions.ts"
import { inLongFormPlain } from "../InLongForm.ts"
import { anna, shop, tenant, tokenOf } from "./ConsoleScene.ts"
import { httpWith, identityProvider, WanderingBrowser } from "./ProviderScene.ts"

type Provider = Awaited<ReturnType<typeof identityProvider>>

/** A shop with a console that knows the provider, and that it knows. */
const shopAt = async (
  provider: Provider,
  openid: Partial<OpenIdOptions> = {},
  more: Partial<Options> = {}
) => {
  const troupe = await shop({ ...more, http: httpWith(provider.issuer, openid) })
  const console_url = `${troupe.url}/console`
  provider.knows(console_url)
  return { troupe, console_url }
}

let provider: Provider
beforeAll(async () => {
  provider = await identityProvider()
})
afterAll(() => provider.stop())

describe("signing in by a provider", () => {
  let troupe: Awaited<ReturnType<typeof shop>>
  let console_url = ""
  beforeAll(async () => {
    ;({ console_url, troupe } = await shopAt(provider))
  })
  afterAll(() => troupe.stop())

  it("leads there and back, to the page that was asked for first", async () => {
    const browser = new WanderingBrowser()
    const form = await browser.go(`${console_url}/runs?status=complete`)
    const [, link = ""] = /href="([^"]*)">Sign in with Acme</.exec(form.text) ?? []
    const seen = await browser.signInThere(
      await browser.go(new URL(link.replaceAll("&amp;", "&"), form.url).href),
      "u-olga"
    )
    assert.strictEqual(seen.url, `${console_url}/runs?status=complete`, seen.text)
    assert.strictEqual(seen.status, 200)
    assert.include(seen.text, "<b>u-olga</b>")
    assert.include(seen.text, ">operator<")
    // Its own sign-in is over, and the session's cookie says nothing.
    assert.deepStrictEqual([...browser.cookiesAt(console_url).keys()], ["troupe_console"])
    assert.match(browser.cookiesAt(console_url).get("troupe_console") ?? "", /^[0-9a-f]{64}$/)
  })

  it("has cookies that no script and no other site gets, for the console alone", async () => {
    const begun = await fetch(`${console_url}/sign-in/provider`, {
      redirect: "manual",
      headers: { "x-forwarded-proto": "https" }
    })
    const [cookie = ""] = begun.headers.getSetCookie()
    assert.match(
      cookie,
      /^troupe_sign_in=\d{13}\.[0-9a-f]{64}\.; Max-Age=600; Path=\/console; HttpOnly; Secure; SameSite=Lax$/
    )
    const asked = new URL(begun.headers.get("location") ?? "").searchParams
    assert.strictEqual(
      asked.get("redirect_uri"),
      `${console_url.replace("http", "https")}/callback`
    )
    assert.strictEqual(asked.get("code_challenge_method"), "S256")
    assert.strictEqual(asked.get("response_type"), "code")
    const secret = /\.([0-9a-f]{64})/.exec(cookie)?.[1] ?? assert.fail()
    for (const [, value] of asked) assert.notInclude(value, secret)
  })

  it("gives the roles of the groups, and nobody any others", async () => {
    const seen = await new WanderingBrowser().signIn(console_url, "u-vera")
    assert.include(seen.text, "<b>u-vera</b>")
    assert.include(seen.text, ">viewer<")
    for (const login of ["u-nobody", "u-none", "u-carl"]) {
      const browser = new WanderingBrowser()
      const refused = await browser.signIn(console_url, login)
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, `You are ${login} at Acme, and nothing there lets you look`)
      assert.strictEqual(browser.cookiesAt(console_url).size, 0)
      assert.include((await browser.go(console_url)).url, "/sign-in")
    }
  })

  it("decides in the name of whoever is signed in, and only what its roles allow", async () => {
    const { run } = await troupe.ask({ agent: "billing", text: "Refund order 1003." }, anna)
    const [approval] = await troupe.approvals({ run_id: run })
    const question = `${console_url}/inbox/${approval?.id}`
    const deny = { decision: "deny", reason: "no" }
    const sent = async (login: string) => {
      const browser = new WanderingBrowser()
      const { text } = await browser.signIn(console_url, login)
      const form_key = /name="form_key" value="(\w+)"/.exec(text)?.[1] ?? ""
      return await browser.go(question, { ...deny, form_key })
    }
    assert.strictEqual((await sent("u-vera")).status, 403)
    assert.strictEqual((await sent("u-olga")).status, 200)
    const decided = await troupe.approval(approval?.id ?? "")
    assert.strictEqual(decided.decided_by, "u-olga")
  })

  it("signs out here and there, and comes back", async () => {
    const browser = new WanderingBrowser()
    const { text } = await browser.signIn(console_url, "u-olga")
    const copy = new WanderingBrowser()
    copy.jar.set(new URL(console_url).origin, new Map(browser.cookiesAt(console_url)))
    assert.strictEqual((await copy.go(console_url)).url, console_url)
    const form_key = /name="form_key" value="(\w+)"/.exec(text)?.[1] ?? ""
    const left = await browser.go(`${console_url}/sign-out`, { form_key })
    const [, there = ""] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(left.text) ?? []
    assert.isTrue(there.startsWith(`${provider.issuer}/session/end?`), left.text)
    // The provider reads from its own token whom it is about.
    const [, hint = ""] = /[?;]id_token_hint=([^&]*)/.exec(there) ?? []
    const said = JSON.parse(Buffer.from(hint.split(".")[1] ?? "", "base64url").toString()) as object
    assert.deepInclude(said, { sub: "u-olga", iss: provider.issuer })
    assert.strictEqual(browser.cookiesAt(console_url).size, 0)
    assert.include((await copy.go(console_url)).url, "/sign-in")
    const confirm = await browser.go(there.replaceAll("&amp;", "&"))
    const back = await browser.send(confirm, { logout: "yes" })
    assert.strictEqual(back.url, `${console_url}/sign-in`)
    // Nobody is signed in there any more.
    const again = await browser.go(`${console_url}/sign-in/provider`)
    assert.include(again.text, 'name="login"')
  })

  it("leaves the tokens what they were", async () => {
    const browser = new WanderingBrowser()
    const seen = await browser.go(`${console_url}/sign-in`, {
      token: tokenOf("olga"),
      to: "/inbox"
    })
    assert.strictEqual(seen.url, `${console_url}/inbox`)
    const form_key = /name="form_key" value="(\w+)"/.exec(seen.text)?.[1] ?? ""
    const left = await browser.go(`${console_url}/sign-out`, { form_key })
    assert.strictEqual(left.url, `${console_url}/sign-in`)
  })
})

/** A session of an admin there, with the key of its forms. */
const formKeyOf = async (console_url: string, login: string) => {
  const browser = new WanderingBrowser()
  const { text } = await browser.signIn(console_url, login)
  return { browser, form_key: /name="form_key" value="(\w+)"/.exec(text)?.[1] ?? "" }
}

const root = new Principal({ id: "root", tenant, roles: ["admin"] })

describe("a token that a session of a provider makes", () => {
  const asked = { decision: "create", name: "mine", days: "365" }

  it("ends with the session at the latest, as those that it makes do", async () => {
    const { console_url, troupe } = await shopAt(provider, { session_ms: 600_000 })
    try {
      const { browser, form_key } = await formKeyOf(console_url, "u-root")
      const page = await browser.go(`${console_url}/tokens`)
      assert.include(page.text, "It holds no longer than this session of yours.")
      const fields = { ...asked, form_key, "role-admin": "yes" }
      const made = await browser.go(`${console_url}/tokens`, fields)
      assert.strictEqual(made.status, 201)
      const [, token = ""] = />(troupe_[0-9a-f]+)</.exec(made.text) ?? []
      const answer = await fetch(`${troupe.url}/v1/tokens`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "another", roles: ["admin"] })
      })
      assert.strictEqual(answer.status, 201)
      const tokens = await troupe.tokens({}, root)
      assert.lengthOf(tokens, 2)
      for (const { created_at, expires_at } of tokens) {
        assert.isAtMost(expires_at - created_at, 600_000)
      }
    } finally {
      await troupe.stop()
    }
  })

  it("has no role that the session has not, unless that is an admin's", async () => {
    const { console_url, troupe } = await shopAt(
      provider,
      { principal: { tenant, roles: { sre: "keeper" } } },
      { roles: { keeper: { issueTokens: "all", inspect: "all" } } }
    )
    try {
      const { browser, form_key } = await formKeyOf(console_url, "u-olga")
      const sent = (role: string) =>
        browser.go(`${console_url}/tokens`, { ...asked, form_key, [`role-${role}`]: "yes" })
      assert.strictEqual((await sent("operator")).status, 403)
      assert.strictEqual((await sent("admin")).status, 403)
      assert.deepStrictEqual(await troupe.tokens({}, root), [])
      assert.strictEqual((await sent("keeper")).status, 201)
    } finally {
      await troupe.stop()
    }
  })
})

describe("a session of a provider", () => {
  it("keeps the provider's ID token so that only its own cookie opens it", async () => {
    let driver: Rows["Service"] | undefined
    const looking = feature({
      name: "looking",
      layer: Layer.effectDiscard(Rows.use((rows) => Effect.sync(() => void (driver = rows))))
    })
    const { console_url, troupe } = await shopAt(provider, {}, { features: [looking] })
    try {
      await formKeyOf(console_url, "u-olga")
      const rows = tableRows(driver ?? assert.fail("there are no rows"), sessions)
      const [kept] = await Effect.runPromise(rows.all({ where: { tenant: Tenant.make(tenant) } }))
      const sealed = kept?.provided?.id_token ?? assert.fail("none is kept")
      assert.isAbove(sealed.length, 300)
      const bytes = Buffer.from(sealed, "base64").toString("latin1")
      for (const text of [sealed, bytes]) assert.notMatch(text, /eyJ|u-olga/)
    } finally {
      await troupe.stop()
    }
  })

  inLongFormPlain(
    "holds over a restart, for its provider alone, and ends with its role",
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "troupe-provider-"))
      const store = { directory }
      try {
        const first = await shopAt(
          provider,
          {
            principal: { tenant, roles: { sre: "auditor" } }
          },
          { store, roles: { auditor: { inspect: "all" } } }
        )
        const browser = new WanderingBrowser()
        const { text } = await browser.signIn(first.console_url, "u-olga")
        assert.include(text, ">auditor<")
        const cookies = browser.cookiesAt(first.console_url)
        await first.troupe.stop()

        const startedAgain = async (more: Partial<Options>) => {
          const troupe = await shop({ store, ...more })
          const later = new WanderingBrowser()
          later.jar.set(troupe.url ?? "", new Map(cookies))
          try {
            return (await later.go(`${troupe.url}/console`)).text.includes("<b>u-olga</b>")
          } finally {
            await troupe.stop()
          }
        }
        const roles = { auditor: { inspect: "all" } } as const
        const same = httpWith(provider.issuer)
        assert.isFalse(await startedAgain({ roles, http: httpWith("https://other.example") }))
        assert.isFalse(await startedAgain({ http: same }))
        assert.isTrue(await startedAgain({ roles, http: same }))
      } finally {
        rmSync(directory, { recursive: true })
      }
    }
  )

  it("ends after its time", async () => {
    const { console_url, troupe } = await shopAt(provider, { session_ms: 90_000 })
    const browser = new WanderingBrowser()
    let set: ReadonlyArray<string> = []
    const { request } = browser
    browser.request = async (...given) => {
      const answer = await request.apply(browser, given)
      set = [...set, ...answer.headers.getSetCookie()]
      return answer
    }
    await browser.signIn(console_url, "u-olga")
    assert.isTrue(
      set.some((each) => /^troupe_console=\w+; Max-Age=90;/.test(each)),
      set.join("\n")
    )
    await troupe.stop()
  })

  it("ends where its person is erased", async () => {
    const { console_url, troupe } = await shopAt(provider)
    const [olga, vera] = [new WanderingBrowser(), new WanderingBrowser()]
    await olga.signIn(console_url, "u-olga")
    await vera.signIn(console_url, "u-vera")
    const admin = { id: "root", tenant, roles: ["admin"] } as const
    await troupe.erase({ subject: "u-olga" }, admin)
    assert.include((await olga.go(console_url)).url, "/sign-in")
    assert.strictEqual((await vera.go(console_url)).url, console_url)
    await troupe.stop()
  })
})

describe("who somebody is", () => {
  const signedInBy = async (principal: OpenIdOptions["principal"], login: string) => {
    const { console_url, troupe } = await shopAt(provider, { principal })
    const seen = await new WanderingBrowser().signIn(console_url, login)
    await troupe.stop()
    return seen
  }

  it("may be said by claims: of the tenant, of the id, and of the groups", async () => {
    const roles = { sre: "operator" }
    const byOrg = { tenant: { claim: "org" }, roles }
    assert.include((await signedInBy(byOrg, "u-olga")).text, 'title="tenant">default<')
    const byEmail = {
      tenant,
      roles: { "olga@acme.example": "viewer" },
      groups: "email",
      id: "email"
    }
    assert.include((await signedInBy(byEmail, "u-olga")).text, "<b>olga@acme.example</b>")
    for (const [rule, login] of [
      [byOrg, "u-far"],
      [byOrg, "u-odd"],
      [{ tenant: { claim: "absent" }, roles }, "u-olga"],
      [{ tenant: { claim: "toString" }, roles }, "u-olga"],
      [{ tenant, roles, id: "absent" }, "u-olga"],
      [{ tenant, roles, id: "groups" }, "u-olga"],
      [byEmail, "u-unverified"]
    ] as const) {
      const { status, text } = await signedInBy(rule, login)
      assert.strictEqual(status, 403)
      assert.include(text, "Acme knows you, and this console does not.")
    }
  })

  it("may be said by a function, and is nobody where it fails", async () => {
    const given: Array<Claims> = []
    const seen = await signedInBy((claims) => {
      given.push(claims)
      return { id: `acme:${String(claims["sub"])}`, tenant, roles: ["viewer"] }
    }, "u-olga")
    assert.include(seen.text, "<b>acme:u-olga</b>")
    assert.deepInclude(given[0], { sub: "u-olga", email: "olga@acme.example" })
    const olga = { id: "olga", tenant, roles: ["operator"] }
    for (const principal of [
      () => undefined,
      () => {
        throw new Error("no")
      },
      () => Promise.resolve(olga),
      () => null,
      () => "olga",
      () => ({ ...olga, roles: ["boss"] }),
      () => ({ ...olga, tenant: "" }),
      () => ({ ...olga, via: { ...olga, id: "root" } })
    ]) {
      const { status, text } = await signedInBy(principal as never, "u-olga")
      assert.strictEqual(status, 403, String(principal))
      assert.include(text, "Acme knows you, and this console does not.")
    }
  })
})

describe("the address of a console", () => {
  it("is the one that is given, whatever a request says, also under a prefix", async () => {
    const app = fastify()
    const held: { troupe?: Awaited<ReturnType<typeof shop>> } = {}
    await app.register(
      (api) => {
        api.removeAllContentTypeParsers()
        api.addContentTypeParser("*", (_request, _payload, done) => done(null))
        api.all("/*", (request, reply) => {
          reply.hijack()
          held.troupe?.nodeListener(request.raw, reply.raw)
        })
        return Promise.resolve()
      },
      { prefix: "/agents" }
    )
    const base = await app.listen({ port: 0, host: "127.0.0.1" })
    const url = `${base}/agents/ops`
    const { console: given, tokens } = httpWith(provider.issuer, { url })
    held.troupe = await shop({
      http: { tokens, console: { ...given, path: "/ops" }, settings: { base_path: "/agents" } }
    })
    provider.knows(url)
    try {
      const forged = await fetch(`${url}/sign-in/provider`, {
        redirect: "manual",
        headers: { "x-forwarded-proto": "https" }
      })
      const asked = new URL(forged.headers.get("location") ?? "").searchParams
      assert.strictEqual(asked.get("redirect_uri"), `${url}/callback`)
      const browser = new WanderingBrowser()
      const seen = await browser.signIn(url, "u-olga", "/inbox")
      assert.strictEqual(seen.url, `${url}/inbox`)
      const form_key = /name="form_key" value="(\w+)"/.exec(seen.text)?.[1] ?? ""
      const left = await browser.go(`${url}/sign-out`, { form_key })
      assert.include(left.text, encodeURIComponent(`${url}/sign-in`))
    } finally {
      await held.troupe.stop()
      await app.close()
    }
  })
})
