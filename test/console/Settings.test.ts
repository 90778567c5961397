/** How the process was started and what it delivers, in the console: without keys, addresses and texts. */
import { Principal } from "troupe"
import { assert, describe, it, vi } from "vitest"
import type { Html } from "../../layers/console/Html.ts"
import { documentOf } from "../../layers/console/Html.ts"
import { channelsPage, settingsPage } from "../../layers/console/StandingPages.ts"
import { shownSettings } from "../../layers/compose/options/ShownSettings.ts"
import {
  anna,
  http,
  PlainBrowser,
  postOffice,
  shop,
  signedIn,
  tenant,
  tokenOf
} from "./ConsoleScene.ts"

const root = new Principal({ id: "root", tenant, roles: ["admin"] })

describe("settings", () => {
  it("are shown to admins alone: numbers, words and switches", async () => {
    const troupe = await shop({
      drain_ms: "90 seconds",
      files: { file_bytes_max: 12_345 },
      approval_url: "https://user:pass@ops.example/{id}",
      observe: { record: true },
      http: {
        ...http,
        tokens: [...http.tokens, { token: tokenOf("root"), principal: root }],
        settings: { requests_principal_per_minute: 4_321 }
      }
    })
    try {
      const admin = new PlainBrowser(troupe.url ?? "")
      await admin.signIn("root")
      const { text } = await admin.get("/console/settings")
      for (const said of [
        '<td>drain_ms</td><td class="num">90,000 (1 min)</td>',
        '<td>files.file_bytes_max</td><td class="num">12,345</td>',
        '<td>http.requests_principal_per_minute</td><td class="num">4,321</td>',
        '<td>observe.record</td><td class="num">on</td>',
        '<td>store</td><td class="num">memory</td>',
        '<td>retention</td><td class="num">for ever</td>'
      ]) {
        assert.include(text, said)
      }
      const items = JSON.stringify(await troupe.settings(root))
      for (const hidden of ["pass", "ops.example", "token-of", "Help customers"]) {
        assert.notInclude(text, hidden)
        assert.notInclude(items, hidden)
      }
      for (const name of ["olga", "vera", "boss"] as const) {
        const browser = await signedIn(troupe, name)
        assert.strictEqual((await browser.get("/console/settings")).status, 403, name)
        assert.notInclude((await browser.get("/console")).text, "/console/settings")
      }
      const other = await signedIn(troupe, "other")
      assert.strictEqual((await other.get("/console/settings")).status, 200)
      for (const name of ["ada", "feed", "olga"]) {
        const headers = { authorization: `Bearer ${tokenOf(name)}` }
        const answer = await fetch(`${troupe.url}/v1/settings`, { headers })
        assert.strictEqual(answer.status, 403, name)
      }
    } finally {
      await troupe.stop()
    }
  })

  it("are taken from no text, list, function or name of a secret, however deep", () => {
    const shown = shownSettings(
      {
        store: {
          postgres: "postgres://u:secret@db/x",
          connections_max: 20,
          password: 1_234,
          ssl: { key: "secret", on: true, deep: { deeper: { x: 1 } } }
        },
        files: ["secret"],
        events: { handlers: { "a.b": () => 1 }, retention_ms: 60_000 },
        retention: { archive: "/srv/secret", runs_ms: NaN, records_ms: Infinity },
        observe: "secret",
        telemetry: { headers: "secret" },
        drain_ms: 5
      },
      { settings: { base_path: "/secret", streams_max: 7 }, console: { path: "/secret" } }
    )
    assert.deepStrictEqual(
      shown.map(({ name, value }) => [name, value]),
      [
        ["drain_ms", 5],
        ["events.retention_ms", 60_000],
        ["http.console", true],
        ["http.streams_max", 7],
        ["retention.archive", true],
        ["store", "PostgreSQL"],
        ["store.connections_max", 20],
        ["store.ssl.on", true],
        ["telemetry", true]
      ]
    )
  })
})

describe("what is empty", () => {
  const view = { path: "/console", principal: root, form_key: "k", nonce: "n", now: 0 }
  const textOf = (page: Html) => documentOf(page).replaceAll(/<[^>]*>/g, " ")

  it("of settings says that nothing is known of the start, and where it would stand", () => {
    const text = textOf(settingsPage(view, [], "curl"))
    assert.include(text, "Nothing is known of the start.")
    assert.include(text, "Its settings would stand here.")
    assert.notInclude(documentOf(settingsPage(view, [], "curl")), "<table")
  })

  it("of channels says what would be delivered, and goes on to follow", () => {
    const follows = { page: "/console/channels", news: "/console/live?of=channels&after=0" }
    const page = documentOf(channelsPage(view, [], { follows, line: "curl" }))
    assert.include(page, "Nothing is delivered here.")
    assert.include(page, "Channels, webhooks and what features deliver would stand here")
    assert.include(page, 'hx-sse-connect="/console/live?of=channels')
    assert.notInclude(page, "<table")
  })
})

describe("channels", () => {
  it("say by topic what waits, failed and is dead, with a code in place of a text", async () => {
    const { troupe } = await postOffice([{ to: "anna" }, { to: "anna" }])
    try {
      const items = await vi.waitFor(async () => {
        const items = await troupe.deliveries(anna)
        assert.strictEqual(items.find(({ topic }) => topic === "post.deliver")?.dead, 2)
        return items
      })
      assert.deepInclude(
        items.find(({ topic }) => topic === "post.deliver"),
        { delivered_here: true, waiting: 0, failed: 0, dead: 2, failure: "other" }
      )
      const olga = await signedIn(troupe, "olga")
      const { text } = await olga.get("/console/channels")
      assert.include(text, "post.deliver")
      assert.include(text, "/console/dead-letters")
      assert.notInclude(text, "refused")
      const other = (
        await troupe.deliveries({ id: "o", tenant: "elsewhere", roles: ["admin"] })
      ).find(({ topic }) => topic === "post.deliver")
      assert.deepStrictEqual(other, {
        topic: "post.deliver",
        delivered_here: true,
        waiting: 0,
        failed: 0,
        dead: 0
      })
      for (const name of ["ada", "feed"]) {
        const headers = { authorization: `Bearer ${tokenOf(name)}` }
        const answer = await fetch(`${troupe.url}/v1/deliveries`, { headers })
        assert.strictEqual(answer.status, 403, name)
      }
    } finally {
      await troupe.stop()
    }
  })
})
