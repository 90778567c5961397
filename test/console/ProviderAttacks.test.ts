/** What nobody gets into the console by, and what a console does whose identity provider is away or says odd things. */
import { createHash } from "node:crypto"
import type { ServerResponse } from "node:http"
import { afterAll, assert, beforeAll, beforeEach, describe, it, vi } from "vitest"
import { inLongFormPlain } from "../InLongForm.ts"
import { shop, tokenOf } from "./ConsoleScene.ts"
import { client_id, httpWith, identityProvider, WanderingBrowser } from "./ProviderScene.ts"

let provider: Awaited<ReturnType<typeof identityProvider>>
let troupe: Awaited<ReturnType<typeof shop>>
let console_url = ""
beforeAll(async () => {
  provider = await identityProvider()
  troupe = await shop({ http: httpWith(provider.issuer) })
  console_url = `${troupe.url}/console`
  provider.knows(console_url)
})
afterAll(async () => {
  await troupe.stop()
  await provider.stop()
})
beforeEach(() => {
  provider.requests.length = 0
})

const asked = (path: string) => provider.requests.some((each) => each.startsWith(path))

/** A sign-in that was begun: where the provider is asked to, and what it is asked for. */
const begun = async (browser: WanderingBrowser, page = "") => {
  const answer = await browser.request(
    `${console_url}/sign-in/provider?${new URLSearchParams({ to: page })}`
  )
  const address = new URL(answer.headers.get("location") ?? assert.fail(await answer.text()))
  return { address, state: address.searchParams.get("state") ?? "" }
}

/** The address at which the provider sends somebody back who signs in with this request. Nobody has been there yet. */
const wayBack = async (browser: WanderingBrowser, address: string): Promise<string> => {
  const { request } = browser
  let back = ""
  browser.request = async (...given) => {
    if (!given[0].startsWith(`${console_url}/callback`)) return await request.apply(browser, given)
    back = given[0]
    return new Response("held back")
  }
  await browser.signInThere(await browser.go(address), "u-olga")
  browser.request = request
  return back
}

const isSignedIn = async (browser: WanderingBrowser) =>
  (await browser.go(console_url)).text.includes("<b>u-olga</b>")

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex")

describe("a callback", () => {
  it("is for the browser that began, once, and leaves no cookie of its sign-in", async () => {
    const browser = new WanderingBrowser()
    const { address } = await begun(browser)
    const back = await wayBack(browser, address.href)
    const other = new WanderingBrowser()
    provider.requests.length = 0
    const elsewhere = await other.go(back)
    assert.strictEqual(elsewhere.status, 400)
    assert.include(elsewhere.text, "begun in another browser")
    assert.isFalse(await isSignedIn(other))
    // A browser that has begun one of its own is no better.
    await begun(other)
    assert.strictEqual((await other.go(back)).status, 400)
    assert.strictEqual(other.cookiesAt(console_url).size, 0)
    assert.isFalse(asked("/token"))

    const kept = new Map(browser.cookiesAt(console_url))
    assert.strictEqual((await browser.go(back)).status, 200)
    assert.isTrue(await isSignedIn(browser))
    assert.strictEqual((await browser.go(back)).status, 400)
    // With a copy of the cookie too: the provider takes a code once.
    const copy = new WanderingBrowser()
    copy.jar.set(new URL(console_url).origin, kept)
    assert.strictEqual((await copy.go(back)).status, 401)
    assert.isFalse(await isSignedIn(copy))
  })

  it("is refused with another state, or with two", async () => {
    for (const change of [
      (query: URLSearchParams) => query.set("state", "0".repeat(64)),
      (query: URLSearchParams) => query.delete("state"),
      (query: URLSearchParams) => query.set("state", `${query.get("state")}0`),
      (query: URLSearchParams) => query.append("state", query.get("state") ?? "")
    ]) {
      const browser = new WanderingBrowser()
      const { address } = await begun(browser)
      const back = new URL(await wayBack(browser, address.href))
      change(back.searchParams)
      provider.requests.length = 0
      assert.isAtLeast((await browser.go(back.href)).status, 400)
      assert.isFalse(asked("/token"))
      assert.isFalse(await isSignedIn(browser))
    }
  })

  it("is refused in the name of another issuer, or of none", async () => {
    for (const iss of ["https://evil.example", undefined]) {
      const browser = new WanderingBrowser()
      const { address } = await begun(browser)
      const back = new URL(await wayBack(browser, address.href))
      if (iss === undefined) back.searchParams.delete("iss")
      else back.searchParams.set("iss", iss)
      provider.requests.length = 0
      assert.isAtLeast((await browser.go(back.href)).status, 400)
      assert.isFalse(asked("/token"))
      assert.isFalse(await isSignedIn(browser))
    }
  })

  it("is refused ten minutes after it was begun, and with another time or page in its cookie", async () => {
    const id = "a".repeat(64)
    const origin = new URL(console_url).origin
    const statusOf = async (cookie: string, state = digestOf(`state ${cookie}`)) => {
      const browser = new WanderingBrowser()
      browser.jar.set(origin, new Map([["troupe_sign_in", cookie]]))
      const query = new URLSearchParams({ state, code: "x", iss: provider.issuer })
      return (await browser.go(`${console_url}/callback?${query}`)).status
    }
    const now = Date.now()
    assert.strictEqual(await statusOf(`${now - 500_000}.${id}.`), 401)
    assert.isTrue(asked("/token"))
    provider.requests.length = 0
    assert.strictEqual(await statusOf(`${now - 600_000}.${id}.`), 400)
    const known = digestOf(`state ${now}.${id}.`)
    assert.strictEqual(await statusOf(`${now}.${id}.L2luYm94`, known), 400)
    assert.strictEqual(await statusOf(`${now + 1}.${id}.`, known), 400)
    for (const odd of ["", "x", `${now}.${id}`, `${now}.${id}.*`, `${now}.${id.toUpperCase()}.`]) {
      assert.strictEqual(await statusOf(odd), 400)
    }
    assert.isFalse(asked("/token"))
  })

  it("takes no code of another client, nor one that another browser was given", async () => {
    const thief = new WanderingBrowser()
    const { address } = await begun(thief)
    address.searchParams.set("client_id", "another")
    const others = new URL(await wayBack(thief, address.href)).searchParams.get("code") ?? ""
    const second = await begun(thief)
    const theirs = new URL(await wayBack(thief, second.address.href)).searchParams.get("code") ?? ""
    for (const code of [others, theirs]) {
      assert.isNotEmpty(code)
      const browser = new WanderingBrowser()
      const { state } = await begun(browser)
      const query = new URLSearchParams({ code, state, iss: provider.issuer })
      const seen = await browser.go(`${console_url}/callback?${query}`)
      assert.strictEqual(seen.status, 401)
      assert.isFalse(await isSignedIn(browser))
    }
  })

  it("is refused where somebody has changed the nonce or the challenge on the way there", async () => {
    for (const name of ["nonce", "code_challenge"]) {
      const browser = new WanderingBrowser()
      const { address } = await begun(browser)
      address.searchParams.set(name, "A".repeat(43))
      const seen = await browser.go(await wayBack(browser, address.href))
      assert.isAtLeast(seen.status, 400, name)
      assert.isFalse(await isSignedIn(browser), name)
    }
  })

  it("shows what the provider says as a text, and nothing of a stranger's words", async () => {
    const said = `<script>alert(1)</script>"><b hx-get=/x>\u202e${"x".repeat(5_000)}`
    const browser = new WanderingBrowser()
    const { state } = await begun(browser)
    const query = new URLSearchParams({
      error: "access_denied",
      error_description: said,
      state,
      iss: provider.issuer
    })
    const refused = await browser.go(`${console_url}/callback?${query}`)
    assert.strictEqual(refused.status, 403)
    assert.include(refused.text, "access_denied: &lt;script&gt;alert(1)&lt;/script&gt;")
    assert.include(refused.text, "‹U+202E›")
    assert.isBelow(refused.text.length, 3_000)
    assert.notInclude(refused.text, "<script>")
    const stranger = await new WanderingBrowser().go(`${console_url}/callback?${query}`)
    assert.notInclude(stranger.text, "access_denied")
    assert.notInclude(stranger.text, "alert(1)")
  })
})

describe("the page after a sign-in", () => {
  const elsewhere = [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "@evil.example",
    ".evil.example",
    "/../../v1/runs",
    "/%2e%2e/%2e%2e/v1/runs",
    "/a\r\nset-cookie: x=y",
    "/\u202einbox",
    `/${"x".repeat(5_000)}`
  ]
  it("is of this console, whatever the address says", async () => {
    for (const page of elsewhere) {
      const browser = new WanderingBrowser()
      const seen = await browser.signIn(console_url, "u-olga", page)
      for (const url of [
        seen.url,
        (
          await new WanderingBrowser().go(`${console_url}/sign-in`, {
            token: tokenOf("olga"),
            to: page
          })
        ).url
      ]) {
        assert.isTrue(url === console_url || url.startsWith(`${console_url}/`), `${page}: ${url}`)
      }
      assert.isTrue(await isSignedIn(browser), page)
    }
  })
})

describe("a provider", () => {
  type Answer = ReturnType<Parameters<typeof provider.answers>[0]>
  const configurationOf = (issuer: string, more: object = {}) => ({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    ...more
  })
  const saying =
    (body: string, type = "application/json"): Answer =>
    async (_, response) => {
      response.setHeader("content-type", type)
      response.end(body)
    }
  const instead =
    (path: string, body: string) =>
    (usual: Answer): Answer =>
    (request, response) =>
      request.url === path ? saying(body)(request, response) : usual(request, response)

  it("that is away, or says odd things of itself, leaves the tokens; once it is back, it signs in", async () => {
    const odd = await identityProvider()
    const { issuer } = odd
    const answers: Readonly<Record<string, Answer>> = {
      "is no JSON": saying("<html>", "text/html"),
      "is too large": saying(JSON.stringify(configurationOf(issuer, { x: "x".repeat(2_000_000) }))),
      "is of another issuer": saying(JSON.stringify(configurationOf("http://127.0.0.1:1"))),
      "is of all tenants": saying(JSON.stringify(configurationOf(`${issuer}/{tenantid}/v2.0`))),
      "leads to where others read along": saying(
        JSON.stringify(configurationOf(issuer, { authorization_endpoint: "javascript:alert(1)" }))
      ),
      "ends early": async (request) => {
        request.socket.destroy()
      }
    }
    for (const [what, answer] of Object.entries(answers)) {
      odd.answers(() => answer)
      const service = await shop({ http: httpWith(issuer) })
      const console_url = `${service.url}/console`
      const browser = new WanderingBrowser()
      const seen = await browser.go(`${console_url}/sign-in/provider`)
      assert.strictEqual(seen.status, 503, what)
      assert.include(seen.text, "Acme does not answer")
      assert.strictEqual(browser.cookiesAt(console_url).size, 0)
      odd.requests.length = 0
      await Promise.all(
        Array.from({ length: 20 }, () => browser.go(`${console_url}/sign-in/provider`))
      )
      assert.isAtMost(odd.requests.length, 1, what)
      const token = await browser.go(`${console_url}/sign-in`, { token: tokenOf("olga") })
      assert.include(token.text, "<b>olga</b>")
      if (what !== "ends early") {
        await service.stop()
        continue
      }
      odd.knows(console_url)
      let back = await new WanderingBrowser().signIn(console_url, "u-olga")
      while (back.status === 503) {
        await new Promise((resolve) => setTimeout(resolve, 500))
        back = await new WanderingBrowser().signIn(console_url, "u-olga")
      }
      assert.include(back.text, "<b>u-olga</b>")
      await service.stop()
    }
    await odd.stop()
  })

  it("whose keys have not signed, or that speaks of somebody else, signs nobody in", async () => {
    const odd = await identityProvider()
    const somebody = JSON.stringify({ sub: "u-vera", groups: ["sre"] })
    for (const [answers, status] of [
      [instead("/me", somebody), 503],
      [instead("/jwks", `{"keys":[]}`), 503],
      [(usual: Answer) => usual, 200]
    ] as const) {
      const service = await shop({ http: httpWith(odd.issuer) })
      const console_url = `${service.url}/console`
      odd.knows(console_url)
      odd.answers(answers)
      const seen = await new WanderingBrowser().signIn(console_url, "u-olga")
      assert.strictEqual(seen.status, status)
      await service.stop()
    }
    await odd.stop()
  })

  inLongFormPlain("that says nothing for ten seconds does not answer", async () => {
    const slow = await identityProvider()
    const service = await shop({ http: httpWith(slow.issuer) })
    const console_url = `${service.url}/console`
    slow.answers(() => async (_, response) => {
      response.setHeader("content-type", "application/json")
      ;(response as ServerResponse).write("{")
    })
    const seen = await new WanderingBrowser().go(`${console_url}/sign-in/provider`)
    assert.strictEqual(seen.status, 503)
    await service.stop()
    await slow.stop()
  })

  it("is asked about 16 codes at the same time, and about no more", async () => {
    const slow = await identityProvider()
    const service = await shop({ http: httpWith(slow.issuer) })
    const console_url = `${service.url}/console`
    slow.knows(console_url)
    const held: Array<() => void> = []
    slow.answers((usual) => async (request, response) => {
      if (request.url === "/token") await new Promise<void>((resolve) => held.push(resolve))
      await usual(request, response)
    })
    const codeOf = async () => {
      const browser = new WanderingBrowser()
      const begun = await browser.request(`${console_url}/sign-in/provider`)
      const { searchParams } = new URL(begun.headers.get("location") ?? "")
      const state = searchParams.get("state") ?? ""
      const query = new URLSearchParams({ code: "x", state, iss: slow.issuer })
      return async () => (await browser.go(`${console_url}/callback?${query}`)).status
    }
    const codes = await Promise.all(Array.from({ length: 17 }, codeOf))
    const last = codes.pop() ?? assert.fail()
    const first = codes.map((come) => come())
    await vi.waitFor(() => assert.lengthOf(held, 16), 10_000)
    assert.strictEqual(await last(), 503)
    for (const release of held) release()
    assert.deepStrictEqual(new Set(await Promise.all(first)), new Set([401]))
    await service.stop()
    await slow.stop()
  })

  it("that goes away while somebody is there leaves them signed out, and the sign-out here works", async () => {
    const away = await identityProvider()
    const service = await shop({ http: httpWith(away.issuer) })
    const console_url = `${service.url}/console`
    away.knows(console_url)
    const browser = new WanderingBrowser()
    const { text } = await browser.signIn(console_url, "u-olga")
    const late = new WanderingBrowser()
    const begun = await late.request(`${console_url}/sign-in/provider`)
    const { searchParams } = new URL(begun.headers.get("location") ?? "")
    await away.stop()
    const query = new URLSearchParams({
      code: "x",
      state: searchParams.get("state") ?? "",
      iss: away.issuer
    })
    const seen = await late.go(`${console_url}/callback?${query}`)
    assert.strictEqual(seen.status, 503)
    assert.strictEqual(late.cookiesAt(console_url).size, 0)
    const form_key = /name="form_key" value="(\w+)"/.exec(text)?.[1] ?? ""
    await browser.go(`${console_url}/sign-out`, { form_key })
    assert.include((await browser.go(console_url)).url, "/sign-in")
    await service.stop()
  })
})

describe("the option", () => {
  const good = httpWith("https://login.example").console.openid
  const refused = {
    issuer: [
      "http://login.example",
      "ftp://x",
      "login.example",
      "https://u:p@x/",
      "https://x/?a",
      7
    ],
    client_id: ["", 7, undefined],
    client_secret: ["", 7],
    token_endpoint_auth_method: ["private_key_jwt"],
    scope: ["profile", "openidx", ""],
    url: [
      "/console",
      "https://ops.example/",
      "https://ops.example/console?x",
      "https://ops.example/consoles"
    ],
    name: ["", "x".repeat(61), "a\u0000b"],
    session_ms: [1, 43_200_001, "13 hours", "soon"],
    principal: [undefined, "olga", 7, {}],
    secret: ["x"]
  }
  const failureOf = (openid: object) =>
    shop({ http: { ...httpWith(""), console: { openid } } as never }).then(
      (started) => started.stop(),
      (failure: unknown) => failure
    )
  for (const [name, values] of Object.entries(refused)) {
    it(`is refused where ${name} is wrong`, async () => {
      for (const value of values) {
        const failure = await failureOf({ ...good, [name]: value })
        assert.deepInclude(failure, { _tag: "InvalidInput" }, JSON.stringify(value))
        const { field } = failure as { readonly field: string }
        assert.isTrue(field.startsWith(`http.console.openid.${name}`), field)
      }
    })
  }

  it("is refused where a rule has roles that there are not", async () => {
    const failure = await failureOf({
      ...good,
      principal: { tenant: "default", roles: { sre: ["operator", "boss"] } }
    })
    assert.deepInclude(failure, {
      _tag: "InvalidInput",
      field: "http.console.openid.principal.roles.sre"
    })
    assert.include(String((failure as Error).message), 'there is no role "boss"')
  })

  it("takes what it should", async () => {
    for (const more of [
      { issuer: "https://login.example/realms/acme/" },
      { issuer: "http://[::1]:9/x" },
      { url: "https://ops.example/agents/console/" },
      { session_ms: "8 hours" },
      { principal: () => undefined }
    ]) {
      assert.isUndefined(await failureOf({ ...good, ...more }), JSON.stringify(more))
    }
    assert.strictEqual(good.client_id, client_id)
  })

  it("is not served without it", async () => {
    const plain = await shop()
    for (const path of ["/sign-in/provider", "/callback"]) {
      assert.strictEqual((await fetch(`${plain.url}/console${path}`)).status, 404)
    }
    assert.notInclude(await (await fetch(`${plain.url}/console/sign-in`)).text(), "Sign in with")
    await plain.stop()
  })
})
