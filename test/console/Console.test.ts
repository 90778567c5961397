/** The console without a script: who gets in, what each may do, and that it does what the operations do. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Principal } from "troupe"
import { feature } from "troupe/feature"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { inLongFormPlain } from "../InLongForm.ts"
import type { Name } from "./ConsoleScene.ts"
import {
  anna,
  PlainBrowser,
  shop,
  signedIn as signedInAt,
  tenant,
  tokenOf,
  tokens
} from "./ConsoleScene.ts"

type Troupe = Awaited<ReturnType<typeof shop>>

/** A shop in which a refund waits, and who looks at it. */
const opened = async (...given: Parameters<typeof shop>) => {
  const troupe = await shop(...given)
  const ask = async (text = "The second delivery never came, refund order 1003.", by = anna) => {
    const { run } = await troupe.ask({ agent: "billing", text }, by)
    const [approval] = await troupe.approvals({ run_id: run })
    return { id: approval?.id ?? assert.fail("nothing was asked"), run }
  }
  const signedIn = (name: Name) => signedInAt(troupe, name)
  return { troupe, ask, signedIn }
}

const within = async (use: (of: Awaited<ReturnType<typeof opened>>) => Promise<void>) => {
  const of = await opened()
  try {
    await use(of)
  } finally {
    await of.troupe.stop()
  }
}

describe("signing in", () => {
  let troupe: Troupe
  beforeAll(async () => {
    troupe = await shop()
  })
  afterAll(() => troupe.stop())
  const browser = () => new PlainBrowser(troupe.url ?? "")

  it("every page leads to it, and shows nothing before", async () => {
    for (const path of ["", "/inbox", `/inbox/${"0".repeat(8)}`, "/runs", "/runs/x"]) {
      const answer = await browser().request(`/console${path}`)
      assert.strictEqual(answer.status, 303)
      const page = path === "" ? "" : `?${new URLSearchParams({ to: path })}`
      assert.strictEqual(answer.headers.get("location"), `/console/sign-in${page}`)
      assert.strictEqual(await answer.text(), "")
    }
    assert.strictEqual((await browser().get("/console/sign-in")).status, 200)
  })

  it("takes a token of those who answer for agents, and no other", async () => {
    for (const name of ["olga", "vera", "boss", "other"]) {
      const of = browser()
      const { location, status, text } = await of.signIn(name)
      assert.deepStrictEqual([status, location], [200, "/console"])
      assert.include(text, `<b>${name}</b>`)
      assert.match(of.cookie, /^troupe_console=[0-9a-f]{64}$/)
    }
    for (const name of ["ada", "feed"]) {
      const of = browser()
      const { status, text } = await of.signIn(name)
      assert.strictEqual(status, 401)
      assert.include(text, "the console is for those who answer for what agents do")
      assert.strictEqual(of.cookie, "")
    }
    for (const token of ["", "wrong", "x".repeat(5_000), `${tokenOf("olga")}x`]) {
      const of = browser()
      const { status, text } = await of.post("/console/sign-in", { form_key: "-", token })
      assert.strictEqual(status, 401)
      assert.notInclude(text, "wrong</")
      assert.strictEqual(of.cookie, "")
    }
  })

  it("gives a cookie that no script and no other site gets", async () => {
    const sent = { method: "POST", body: new URLSearchParams({ token: tokenOf("olga") }) }
    const plain = await browser().request("/console/sign-in", sent)
    const [cookie = ""] = plain.headers.getSetCookie()
    assert.match(cookie, /; Path=\/console; HttpOnly; SameSite=Lax$/)
    assert.notInclude(cookie, tokenOf("olga"))
    for (const scheme of ["https", "https, http"]) {
      const headers = { "x-forwarded-proto": scheme }
      const secure = await browser().request("/console/sign-in", { ...sent, headers })
      assert.match(secure.headers.getSetCookie()[0] ?? "", /; Secure/)
    }
  })

  it("is refused to a page of another site", async () => {
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://elsewhere.example" },
      { origin: "null" }
    ]) {
      const of = browser()
      const answer = await of.post(
        "/console/sign-in",
        { form_key: "-", token: tokenOf("olga") },
        headers as Record<string, string>
      )
      assert.strictEqual(answer.status, 403)
      assert.strictEqual(of.cookie, "")
    }
  })

  it("is tried so often from one address, and then told to wait, whatever is tried", async () => {
    const { troupe } = await opened()
    try {
      const of = new PlainBrowser(troupe.url ?? "")
      const tried = (forwarded: string, token = "wrong") =>
        of.request("/console/sign-in", {
          method: "POST",
          headers: { "x-forwarded-for": forwarded },
          body: new URLSearchParams({ token })
        })
      let answer = await tried("93.184.216.34")
      for (let n = 0; n < 200 && answer.status === 401; n++) answer = await tried("93.184.216.34")
      assert.strictEqual(answer.status, 429)
      assert.match(answer.headers.get("retry-after") ?? "", /^[12]$/)
      assert.include(await answer.text(), "Too many tries to sign in")
      // Somebody else is not kept out, and whoever is signed in stays.
      assert.strictEqual((await tried("93.184.216.35", tokenOf("olga"))).status, 303)
      assert.strictEqual((await of.get("/console")).status, 200)
    } finally {
      await troupe.stop()
    }
  })

  it("ends with a sign-out, for every copy of the cookie", async () => {
    const of = browser()
    await of.signIn("olga")
    const copy = browser()
    copy.cookie = of.cookie
    assert.strictEqual((await copy.get("/console")).status, 200)
    const { location } = await of.post("/console/sign-out", {})
    assert.strictEqual(location, "/console/sign-in")
    assert.strictEqual(of.cookie, "")
    assert.strictEqual((await copy.get("/console")).status, 303)
  })

  it("ends with its token", async () => {
    const admin = { id: "root", tenant, roles: ["admin"] } as const
    const made = await troupe.createToken(
      { name: "short", principal: "sue", roles: ["operator"], holds_ms: 60_000 },
      admin
    )
    const of = browser()
    const { text } = await of.post("/console/sign-in", { form_key: "-", token: made.token })
    assert.include(text, "<b>sue</b>")
    await troupe.revokeToken(made.id, admin)
    assert.strictEqual((await of.get("/console")).status, 303)
  })

  it("is not served where nobody asked for it", async () => {
    const without = await shop({
      http: {
        port: 0,
        tokens: [{ token: tokenOf("olga"), principal: { ...tokens.olga, id: "olga" } }]
      }
    })
    assert.strictEqual((await new PlainBrowser(without.url ?? "").get("/console")).status, 404)
    await without.stop()
  })

  it("is refused beside a feature of its name", async () => {
    const error = await shop({ features: [feature({ name: "console" })] }).then(
      (started) => started.stop(),
      (failure: unknown) => failure
    )
    assert.deepInclude(error, { _tag: "InvalidInput" })
    assert.include(String((error as Error).message), "console")
  })
})

describe("a question", () => {
  it("says what will run, why, and who may decide; approved, the call runs once", () =>
    within(async ({ ask, signedIn, troupe }) => {
      const { id, run } = await ask()
      const olga = await signedIn("olga")
      const now = await olga.get("/console")
      assert.include(now.text, `/console/inbox/${id}`)
      const { text } = await olga.get(`/console/inbox/${id}`)
      for (const said of [
        "<b>anna</b>",
        "“The second delivery never came, refund order 1003.”",
        "“settle order-1003 with the customer”",
        "get_order",
        "“249.00”",
        "a result of get_order</a>",
        "not found in the run: the model&#39;s own",
        "shop.refund_order@1",
        "any approver or operator"
      ]) {
        assert.include(text, said)
      }
      const done = await olga.post(`/console/inbox/${id}`, { decision: "approve" })
      assert.strictEqual(done.location, `/console/inbox/${id}`)
      assert.include(done.text, "approved by olga")
      assert.notInclude(done.text, ">Approve<kbd")
      assert.strictEqual((await troupe.result(run)).text, "You get your money back.")
      const again = await olga.post(`/console/inbox/${id}`, { decision: "approve" })
      assert.strictEqual(again.status, 409)
      assert.include(again.text, "approved by olga")
    }))

  it("is decided by one of two, and the other reads by whom and how", () =>
    within(async ({ ask, signedIn }) => {
      const { id } = await ask()
      const [olga, boss] = [await signedIn("olga"), await signedIn("boss")]
      const both = await Promise.all([
        olga.post(`/console/inbox/${id}`, { decision: "deny", reason: "not this one" }),
        boss.post(`/console/inbox/${id}`, { decision: "approve" })
      ])
      assert.deepStrictEqual(both.map(({ status }) => status).toSorted(), [200, 409])
      const winner = both[0].status === 200 ? "denied by olga" : "approved by boss"
      for (const { text } of both) assert.include(text, winner)
    }))

  it("is denied with a reason, or sent back with a note, which the journal has", () =>
    within(async ({ ask, signedIn, troupe }) => {
      const olga = await signedIn("olga")
      const denied = await ask()
      const path = `/console/inbox/${denied.id}`
      const empty = await olga.post(path, { decision: "deny", reason: "" })
      assert.strictEqual(empty.status, 422)
      const none = await olga.post(path, { decision: "perhaps" })
      assert.strictEqual(none.status, 422)
      const reason = "it <b>came</b>"
      const done = await olga.post(path, { decision: "deny", reason })
      assert.include(done.text, "denied by olga")
      assert.include(done.text, "it &lt;b&gt;came&lt;/b&gt;")
      const revised = await ask()
      const note = "half of it"
      const sent = await olga.post(`/console/inbox/${revised.id}`, {
        decision: "request_revision",
        note
      })
      assert.include(sent.text, "sent back by olga")
      assert.include(sent.text, `“${note}”`)
      const [settled] = await troupe
        .runEvents(denied.run, {})
        .then((all) =>
          all.flatMap(({ event }) => (event._tag === "ApprovalDecided" ? [event] : []))
        )
      assert.deepInclude(settled, { by: "olga", decision: { _tag: "Deny", reason } })
    }))

  it("keeps what was typed where it is not JSON, or not what the tool takes", () =>
    within(async ({ ask, signedIn, troupe }) => {
      const { id, run } = await ask()
      const boss = await signedIn("boss")
      const path = `/console/inbox/${id}`
      const broken = await boss.post(path, { decision: "modify", arguments: '{"amount": 1' })
      assert.strictEqual(broken.status, 422)
      assert.include(broken.text, "{&quot;amount&quot;: 1</textarea>")
      assert.include(broken.text, "<details open>")
      const list = await boss.post(path, { decision: "modify", arguments: "[1]" })
      assert.strictEqual(list.status, 422)
      const args = { order: "order-1003", amount: "100.00", why: "half" }
      const done = await boss.post(path, { decision: "modify", arguments: JSON.stringify(args) })
      assert.include(done.text, "changed and approved by boss")
      await troupe.result(run)
      const events = await troupe.runEvents(run, {})
      const decided = events.flatMap(({ event }) =>
        event._tag === "ApprovalDecided" ? [event.decision] : []
      )
      assert.deepStrictEqual(decided, [{ _tag: "Modify", arguments: args }])
    }))

  it("cannot be answered by who may not, from elsewhere, or without the session's own key", () =>
    within(async ({ ask, signedIn, troupe }) => {
      const { id, run } = await ask()
      const path = `/console/inbox/${id}`
      const approve = { decision: "approve" }
      const [olga, vera, other] = [
        await signedIn("olga"),
        await signedIn("vera"),
        await signedIn("other")
      ]
      const seen = await vera.get(path)
      assert.strictEqual(seen.status, 200)
      assert.include(seen.text, "You may not decide this one.")
      assert.notInclude(seen.text, ">Approve<kbd")
      const refused = [
        await vera.post(path, approve),
        await vera.post(`/console/runs/${run}/cancel`, { reason: "because" }),
        await olga.post(path, { ...approve, form_key: "" }),
        await olga.post(path, { ...approve, form_key: await vera.formKey() }),
        await olga.post(path, approve, { "sec-fetch-site": "cross-site" }),
        await olga.post(path, approve, { origin: "https://elsewhere.example" })
      ]
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        refused.map(() => 403)
      )
      for (const foreign of [path, `/console/runs/${run}`]) {
        assert.strictEqual((await other.get(foreign)).status, 404)
      }
      assert.strictEqual((await other.post(path, approve)).status, 404)
      assert.strictEqual(
        (await other.post(`/console/runs/${run}/cancel`, { reason: "mine" })).status,
        404
      )
      for (const page of ["/console", "/console/inbox", "/console/runs"]) {
        assert.notInclude((await other.get(page)).text, "refund")
      }
      assert.strictEqual((await troupe.approval(id)).status, "pending")
    }))
})

describe("pages of runs", () => {
  it("show a run with its bars and events, lead from one to the next, and cancel it", () =>
    within(async ({ ask, signedIn, troupe }) => {
      const { id, run } = await ask()
      const olga = await signedIn("olga")
      const list = await olga.get("/console/runs?status=awaiting_approval")
      assert.include(list.text, `/console/runs/${run}`)
      assert.notInclude((await olga.get("/console/runs?status=complete")).text, run)
      const { text } = await olga.get(`/console/runs/${run}`)
      assert.include(text, `/console/inbox/${id}`)
      assert.include(text, "What happened when: 5 spans")
      assert.include(text, 'id="event-7"')
      assert.strictEqual(
        (await olga.post(`/console/runs/${run}/cancel`, { reason: "" })).status,
        422
      )
      const done = await olga.post(`/console/runs/${run}/cancel`, { reason: "enough <now>" })
      assert.include(done.text, "enough &lt;now&gt;")
      assert.strictEqual((await troupe.run(run)).status, "cancelled")
      assert.include((await olga.get(`/console/inbox/${id}`)).text, "cancelled")
    }))

  it("say that there is nothing, where an address names nothing", () =>
    within(async ({ signedIn }) => {
      const olga = await signedIn("olga")
      for (const path of [
        "/inbox/x",
        "/runs/x",
        "/runs/00000000-0000-7000-8000-000000000000",
        "/runs?status=odd",
        "/inbox?after=x"
      ]) {
        const { status, text } = await olga.get(`/console${path}`)
        assert.strictEqual(status, 404, path)
        assert.include(text, "To the console")
      }
      assert.include((await olga.get("/console")).text, "Nothing needs a person.")
      assert.include((await olga.get("/console/inbox")).text, "No question waits for a person.")
      assert.include((await olga.get("/console/runs")).text, "There is no such run.")
    }))
})

describe("texts of models, tools and people", () => {
  const canary = `<script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover="x" hx-get="/x" \u202egnirts ]]></svg>`

  it("are only ever texts, with what hides in them made visible", async () => {
    const of = await opened({}, { order: canary, amount: canary, why: canary })
    try {
      const { id, run } = await of.ask(canary, new Principal({ ...anna, id: "anna<b>" }))
      const olga = await of.signedIn("olga")
      for (const path of ["", "/inbox", `/inbox/${id}`, "/runs", `/runs/${run}`]) {
        const page = await olga.request(`/console${path}`)
        const whole = await page.text()
        const own = '<script src="/console/keys.js" defer></script>'
        assert.include(whole, own)
        const htmx = /<script src="\/console\/htmx.js" nonce="[0-9a-f]{32}"><\/script>/
        const text = whole.replace(own, "").replace(htmx, "")
        assert.notMatch(text, /<script|<img|<b>"|onerror=alert\(2\)>"|\son\w+="/, path)
        assert.notInclude(text, "\u202e")
        const policy = page.headers.get("content-security-policy") ?? ""
        assert.include(policy, "default-src 'none'")
        assert.match(policy, /; script-src 'self' 'nonce-[0-9a-f]{32}'; style-src 'self';/)
        assert.match(policy, /require-trusted-types-for 'script'; trusted-types htmx$/)
        assert.notInclude(policy, "unsafe")
        assert.strictEqual(page.headers.get("cache-control"), "no-store")
      }
      const { text } = await olga.get(`/console/inbox/${id}`)
      assert.include(text, "‹U+202E›gnirts")
      // What the box has is the same arguments.
      const { text: edited } = await olga.get(`/console/inbox/${id}?as=json`)
      const box =
        /<textarea[^>]*name="arguments"[^>]*>\n([\s\S]*?)<\/textarea>/.exec(edited)?.[1] ?? ""
      const typed = box
        .replaceAll("&quot;", '"')
        .replaceAll("&lt;", "<")
        .replaceAll("&gt;", ">")
        .replaceAll("&#39;", "'")
        .replaceAll("&amp;", "&")
      assert.deepStrictEqual(JSON.parse(typed), { order: canary, amount: canary, why: canary })
    } finally {
      await of.troupe.stop()
    }
  })
})

describe("a session", () => {
  it("goes on in the next process over one server", async () => {
    const url = await Effect.runPromise(EmbeddedPostgres.migrated)
    const store = { postgres: url }
    const first = await opened({ store })
    const { id } = await first.ask()
    const olga = await first.signedIn("olga")
    await first.troupe.stop()
    const second = await opened({ store })
    try {
      const browser = new PlainBrowser(second.troupe.url ?? "")
      browser.cookie = olga.cookie
      const { text } = await browser.post(`/console/inbox/${id}`, { decision: "approve" })
      assert.include(text, "approved by olga")
    } finally {
      await second.troupe.stop()
    }
  })

  inLongFormPlain("is kept in a directory", async () => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-console-"))
    const first = await opened({ store: { directory } })
    const olga = await first.signedIn("olga")
    await first.troupe.stop()
    const second = await opened({ store: { directory } })
    const browser = new PlainBrowser(second.troupe.url ?? "")
    browser.cookie = olga.cookie
    assert.strictEqual((await browser.get("/console")).status, 200)
    await second.troupe.stop()
    rmSync(directory, { recursive: true })
  })
})

describe("under the path of an application", () => {
  it("links, forms and the cookie stay within it", async () => {
    const { troupe } = await opened({
      http: {
        console: true,
        settings: { base_path: "/agents" },
        tokens: [{ token: tokenOf("olga"), principal: { ...tokens.olga, id: "olga" } }]
      }
    })
    try {
      const ask = (path: string, init?: RequestInit) =>
        troupe.handler(new Request(`http://localhost/agents/console${path}`, init))
      const form = await (await ask("/sign-in")).text()
      assert.include(form, 'action="/agents/console/sign-in"')
      assert.include(form, 'href="/agents/console/style.css"')
      const sent = { method: "POST", body: new URLSearchParams({ token: tokenOf("olga") }) }
      const answer = await ask("/sign-in", sent)
      assert.strictEqual(answer.headers.get("location"), "/agents/console")
      const [cookie = ""] = answer.headers.getSetCookie()
      assert.include(cookie, "Path=/agents/console;")
      const page = await (
        await ask("", { headers: { cookie: cookie.split(";", 1)[0] ?? "" } })
      ).text()
      const links = [...page.matchAll(/(?:href|action)="(\/[^"]*)"/g)].map(([, link]) => link)
      assert.isAtLeast(links.length, 5)
      for (const link of links) assert.match(link ?? "", /^\/agents\/console/)
    } finally {
      await troupe.stop()
    }
  })
})
