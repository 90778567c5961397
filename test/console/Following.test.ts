/** The streams that pages of the console follow: who gets them, what they tell, and when they end. */
import { once } from "node:events"
import type { AddressInfo, Socket } from "node:net"
import { connect, createServer } from "node:net"
import { Schema } from "effect"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import {
  alive,
  anna,
  bank,
  http,
  letterId,
  PlainBrowser,
  postOffice,
  reading,
  shop,
  signedIn
} from "./ConsoleScene.ts"

const look = tool(
  {
    namespace: "desk",
    name: "look",
    description: "Looks.",
    side_effects: "read",
    input: Schema.Struct({})
  },
  () => "nothing"
)

/** Looks so often, keeps it once a person says so, and answers. */
const looking = (times: number) => ({
  agents: [
    agent({
      name: "desk",
      instructions: "Look, and keep it.",
      tools: ["look", "keep"],
      limits: { steps_max: 200 }
    })
  ],
  tools: [look, keep],
  model: scripted(({ step }) => {
    if (step <= times) return call("look", {})
    return step === times + 1 ? call("keep", {}) : text("It is kept.")
  }),
  http
})

const keep = tool(
  {
    namespace: "desk",
    name: "keep",
    description: "Keeps it.",
    side_effects: "external",
    input: Schema.Struct({})
  },
  () => "kept"
)

describe("what pages follow", () => {
  let troupe: Awaited<ReturnType<typeof shop>>
  beforeAll(async () => {
    troupe = await shop({ http: { ...http, settings: { heartbeat_ms: 400 } } })
  })
  afterAll(() => troupe.stop())

  const asked = async () => {
    const { run } = await troupe.ask({ agent: "billing", text: "Refund order 1003." }, anna)
    const [approval] = await troupe.approvals({ run_id: run })
    const { length } = await troupe.run(run)
    return { run, id: approval?.id ?? assert.fail("nothing was asked"), last: length - 1 }
  }
  const follow = (browser: PlainBrowser, query: string, headers: Record<string, string> = {}) =>
    browser.request(`/console/live?${query}`, { headers })

  it("tells of a run what it has not told, from what the page shows or from its own last event", async () => {
    const { id, last, run } = await asked()
    const olga = await signedIn(troupe, "olga")
    const page = await olga.get(`/console/runs/${run}`)
    assert.include(
      page.text,
      `hx-sse-connect="/console/live?run=${run}&amp;from=-1&amp;after=${last}"`
    )
    const stream = reading(await follow(olga, `run=${run}&after=${last}`))
    assert.notInclude(await stream.until(alive), "news")
    await troupe.decide(id, { decision: "approve" }, anna)
    await troupe.result(run)
    const { length } = await troupe.run(run)
    const told = await stream.until(`id: ${length - 1}\n`)
    assert.include(told, "event: news\n")
    await stream.leave()
    const since = reading(
      await follow(olga, `run=${run}&after=0`, { "last-event-id": String(length - 1) })
    )
    assert.notInclude(await since.until(alive), "news")
    await since.leave()
    const again = reading(await follow(olga, `run=${run}&after=${last}`))
    await again.until(`id: ${length - 1}\n`)
    await again.leave()
    // What is over is followed no more.
    assert.notInclude((await olga.get(`/console/runs/${run}`)).text, "hx-")
  })

  it("tells of the lists of Now and Inbox when a question comes or goes, and nothing twice", async () => {
    const olga = await signedIn(troupe, "olga")
    const other = await signedIn(troupe, "other")
    for (const path of ["/console", "/console/inbox"]) {
      const newsOf = async (browser = olga) => {
        const { text } = await browser.get(path)
        const [, news] = /hx-sse-connect="\/console\/live\?([^"]+)"/.exec(text) ?? []
        return (news ?? assert.fail(`${path} does not follow`)).replace("&amp;", "&")
      }
      const before = await newsOf()
      assert.strictEqual(await newsOf(), before)
      const stream = reading(await follow(olga, before))
      assert.notInclude(await stream.until(alive), "news")
      const elsewhere = reading(await follow(other, await newsOf(other)))
      const { id } = await asked()
      await stream.until("event: news\n")
      const with_it = await newsOf()
      await stream.until(`id: ${/after=(.+)/.exec(with_it)?.[1]}\n`)
      await troupe.decide(id, { decision: "deny", reason: "no" }, anna)
      const told = await stream.until(`id: ${/after=(.+)/.exec(before)?.[1]}\n`)
      assert.strictEqual(told.split("event: news").length, 3)
      await stream.leave()
      assert.notInclude(await elsewhere.beats(4), "news")
      await elsewhere.leave()
    }
    assert.strictEqual((await follow(olga, "of=tools")).status, 404)
    assert.strictEqual((await follow(olga, `of=runs&status=${"x".repeat(41)}`)).status, 404)
  })

  it("tells of the other lists when what they show is another one", async () => {
    const quick = { http: { ...http, settings: { heartbeat_ms: 400 } } }
    const calls = await bank(quick)
    const office = await postOffice([{ order: 1 }, { order: 2 }], quick)
    const settled = async () =>
      void (await office.troupe.discardDeadLetter(letterId(0), "no", anna))
    const unread = async () => assert.lengthOf(await office.troupe.deadLetters({}, anna), 2)
    try {
      await vi.waitFor(unread, 10_000)
      for (const [of, path, act] of [
        [troupe, "/runs", asked],
        [troupe, "/runs?status=awaiting_approval", asked],
        [troupe, "/conversations", asked],
        [troupe, "/processes", asked],
        [calls.troupe, "/unknown", () => calls.ask("invoice-1")],
        [office.troupe, "/dead-letters", settled],
        [office.troupe, "/channels", () => office.troupe.discardDeadLetter(letterId(1), "no", anna)]
      ] as const) {
        const olga = await signedIn(of, "olga")
        const { text } = await olga.get(`/console${path}`)
        const [, given = assert.fail(`${path} does not follow`)] =
          /hx-sse-connect="\/console\/live\?([^"]+)"/.exec(text) ?? []
        const before = given.replaceAll("&amp;", "&")
        assert.include(text, `hx-get="/console${path}"`)
        const stream = reading(await follow(olga, before))
        assert.notInclude(await stream.beats(3), "news", path)
        await act()
        await stream.until("event: news\n")
        await stream.leave()
      }
      const olga = await signedIn(troupe, "olga")
      // A page behind the first one stays, and so does what was searched.
      const { run } = await asked()
      for (const path of [`/runs?after=${run}`, "/conversations?search=order"]) {
        const page = await olga.get(`/console${path}`)
        assert.strictEqual(page.status, 200)
        assert.notInclude(page.text, "hx-sse-connect", path)
      }
    } finally {
      await calls.troupe.stop()
      await office.troupe.stop()
    }
  })

  it("tells of many events at once, at most twice a second", async () => {
    const desk = await start(looking(100))
    try {
      const olga = await signedIn(desk, "olga")
      const begun = performance.now()
      const { run } = await desk.send(
        { agent: "desk", text: "Look.", idempotency_key: "one" },
        anna
      )
      const stream = reading(await follow(olga, `run=${run}&after=-1`))
      // It ends when the run waits.
      await desk.ask({ agent: "desk", text: "Look.", idempotency_key: "one" }, anna)
      const { length } = await desk.run(run)
      const told = await stream.until(`id: ${length - 1}\n`)
      const times = told.split("event: news").length - 1
      assert.isAtMost(times, (performance.now() - begun) / 500 + 1)
      assert.isBelow(times, length / 4)
      await stream.leave()
      const again = reading(await follow(olga, `run=${run}&after=-1`))
      assert.strictEqual((await again.until(`id: ${length - 1}\n`)).split("event: news").length, 2)
      await again.leave()
    } finally {
      await desk.stop()
    }
  })

  it("gives the page of a run what is new, and each session what it may do", async () => {
    const desk = await start(looking(40))
    try {
      const { run } = await desk.ask({ agent: "desk", text: "Look." }, anna)
      const { length } = await desk.run(run)
      const people = await Promise.all(
        (["olga", "otto", "vera"] as const).map(async (name) => {
          const browser = await signedIn(desk, name)
          return { name, browser, key: await browser.formKey() }
        })
      )
      const pageOf = async (browser: PlainBrowser, after: number) => {
        const stream = reading(await follow(browser, `run=${run}&from=-1&after=${after}`))
        const told = await stream.until("</main>")
        await stream.leave()
        assert.include(told, `\nid: ${length - 1}\ndata: <main id="content"`)
        return told
      }
      const told = await Promise.all(people.map(({ browser }) => pageOf(browser, length - 20)))
      for (const [at, { key, name }] of people.entries()) {
        const page = told[at] ?? ""
        const first_new = length - 19 - ((length - 19) % 25)
        for (let n = 0; n < first_new / 25; n++) {
          assert.include(page, `<tbody id="events-${n}" class="kept"></tbody>`)
        }
        for (const seq of [first_new, length - 1]) assert.include(page, `<tr id="event-${seq}"`)
        assert.notInclude(page, `<tr id="event-${first_new - 1}"`)
        assert.include(page, '<tbody id="calls-0/1.0" class="kept"></tbody>')
        assert.match(page, /<tbody id="calls-0\/41.0"><tr>/)
        assert.include(page, "The newest 40 of 82 are drawn while the run goes on.")
        assert.strictEqual(page.includes(`value="${key}"`), name !== "vera", name)
        for (const other of people) if (other !== people[at]) assert.notInclude(page, other.key)
      }
      const stream = reading(await follow(people[0]!.browser, `run=${run}&from=-1&after=-1`))
      const whole = await stream.until("</main>")
      assert.deepStrictEqual(
        [...whole.matchAll(/<tr id="event-(\d+)"/g)].map(([, seq]) => Number(seq)),
        Array.from({ length }, (_, seq) => seq)
      )
      assert.notInclude(whole, 'class="kept"></tbody>')
      const [question] = await desk.approvals({ run_id: run })
      await desk.decide(question?.id ?? "", { decision: "approve" }, anna)
      await desk.result(run)
      const { length: ended } = await desk.run(run)
      const then = (await stream.until(`\nid: ${ended - 1}\n`)).slice(whole.length)
      assert.notInclude(then, '<tr id="event-0"')
      assert.include(then, '<tbody id="events-0" class="kept"></tbody>')
      await stream.leave()
    } finally {
      await desk.stop()
    }
  })

  it("is for who is signed in, and for its tenant's runs", async () => {
    const { run } = await asked()
    const query = `run=${run}&after=0`
    const nobody = new PlainBrowser(troupe.url ?? "")
    assert.strictEqual((await follow(nobody, query)).status, 303)
    // htmx would put what it is sent to in the place of the page.
    for (const path of [`/console/live?${query}`, `/console/runs/${run}`]) {
      const refused = await nobody.request(path, { headers: { "hx-request": "true" } })
      assert.deepStrictEqual([refused.status, await refused.text()], [401, ""])
    }
    const other = await signedIn(troupe, "other")
    assert.strictEqual((await follow(other, query)).status, 404)
    const vera = await signedIn(troupe, "vera")
    for (const odd of ["", "run=x", `run=${run}`, `run=${run}&after=x`, `run=${run}&after=-2`]) {
      assert.strictEqual((await follow(vera, odd)).status, 404, odd)
    }
    const seen = reading(await follow(vera, query))
    await seen.until("event: news")
    await seen.leave()
  })

  it("ends where somebody has signed out, or the service stops", async () => {
    const { last, run } = await asked()
    const query = `run=${run}&after=${last}`
    const [vera, boss] = [await signedIn(troupe, "vera"), await signedIn(troupe, "boss")]
    const [hers, his] = [
      reading(await follow(vera, query)),
      reading(await follow(boss, query))
    ] as const
    await vera.post("/console/sign-out", {})
    assert.notInclude(await hers.end(), "news")
    await his.until(alive)
    await his.leave()
    const second = await shop()
    const { run: open } = await second.ask({ agent: "billing", text: "Refund." }, anna)
    const olga = await signedIn(second, "olga")
    const whole = reading(await follow(olga, `run=${open}&after=0`))
    await whole.until("event: news")
    await second.stop()
    await whole.end()
  })

  it("refuses the fifth stream of a session, until one of them has ended", async () => {
    const { last, run } = await asked()
    const query = `run=${run}&after=${last}`
    const [olga, elsewhere] = [await signedIn(troupe, "olga"), await signedIn(troupe, "olga")]
    const streams = []
    for (let n = 0; n < 4; n++) streams.push(reading(await follow(olga, query)))
    const fifth = await follow(olga, query)
    assert.strictEqual(fifth.status, 429)
    assert.include(await fifth.text(), "At most 4 pages of a session follow at the same time.")
    streams.push(reading(await follow(elsewhere, query)))
    await streams.shift()?.leave()
    for (;;) {
      const next = await follow(olga, query)
      if (next.status === 429) continue
      streams.push(reading(next))
      break
    }
    await Promise.all(streams.map(({ leave }) => leave()))
  })

  it("is made for several sessions at once, and has of each nothing that is another's", async () => {
    const { id, run } = await asked()
    const names = ["olga", "olga", "otto", "vera", "boss", "cora"] as const
    const people = await Promise.all(
      names.map(async (name) => {
        const browser = await signedIn(troupe, name)
        return { name, browser, key: await browser.formKey() }
      })
    )
    const keys = people.map(({ key }) => key)
    assert.strictEqual(new Set(keys).size, names.length)
    for (const path of ["/console", "/console/inbox", `/console/runs/${run}`]) {
      const pages = await Promise.all(
        people.map(async ({ browser, key, name }) => {
          const answer = await browser.request(path, { headers: { "hx-request": "true" } })
          const policy = answer.headers.get("content-security-policy") ?? ""
          const nonce = /'nonce-([0-9a-f]+)'/.exec(policy)?.[1] ?? `none of ${name}`
          return { name, key, nonce, text: await answer.text(), status: answer.status }
        })
      )
      assert.strictEqual(new Set(pages.map(({ nonce }) => nonce)).size, names.length)
      for (const { key, name, nonce, status, text } of pages) {
        const isOther = name === "cora"
        assert.strictEqual(status, isOther && path.includes(run) ? 404 : 200)
        assert.strictEqual(text.includes(id) || text.includes("Waits for a person"), !isOther, path)
        for (const each of pages) {
          if (each.key !== key) assert.notInclude(text, each.key)
          if (each.nonce !== nonce) assert.notInclude(text, each.nonce)
          assert.notInclude(text, `<b>${each.name}</b>`)
        }
        if (isOther) continue
        assert.include(text, `hx-nonce="${nonce}"`)
        assert.strictEqual(
          text.includes(`value="${key}"`),
          path.includes(run) && (name === "olga" || name === "otto"),
          `${name} ${path}`
        )
      }
    }
  })

  it("gives the place of a connection back that is gone without a word, and has sent it little", async () => {
    const desk = await shop({ http: { ...http, settings: { heartbeat_ms: 50 } } })
    const sockets = new Set<Socket>()
    const unread = new Set<Socket>()
    let received = 0
    // What the service sends is not read, and nobody closes anything.
    const between = createServer((client) => {
      const { port } = new URL(desk.url ?? "")
      const service = connect(Number(port), "127.0.0.1")
      for (const each of [client, service]) sockets.add(each.on("error", () => {}))
      client.pipe(service, { end: false })
      service.once("data", (head: Buffer) => {
        client.write(head)
        unread.add(service.pause())
      })
    })
    try {
      await new Promise<void>((ready) => between.listen(0, "127.0.0.1", ready))
      const { port } = between.address() as AddressInfo
      const olga = await signedIn(desk, "olga")
      const query = "of=inbox&after=none"
      for (let n = 0; n < 4; n++) {
        const client = connect(port, "127.0.0.1").on("error", () => {})
        sockets.add(client)
        client.write(
          `GET /console/live?${query} HTTP/1.1\r\nHost: localhost\r\nCookie: ${olga.cookie}\r\n\r\n`
        )
        const [head] = (await once(client, "data")) as [Buffer]
        assert.include(head.toString(), "HTTP/1.1 200")
      }
      assert.strictEqual((await follow(olga, query)).status, 429)
      // Twenty heartbeats are a second.
      for (;;) {
        const next = await follow(olga, query)
        if (next.status === 429) continue
        await reading(next).leave()
        break
      }
      assert.strictEqual(unread.size, 4)
      await Promise.all(
        [...unread].map((socket) => {
          const ended = once(socket, "end")
          socket.on("data", (part: Buffer) => void (received += part.length)).resume()
          return ended
        })
      )
      assert.isBelow(received, 4 * 2_000)
    } finally {
      for (const socket of sockets) socket.destroy()
      between.close()
      await desk.stop()
    }
  })

  it("has its scripts from the service itself", async () => {
    const answer = await new PlainBrowser(troupe.url ?? "").request("/console/htmx.js")
    assert.strictEqual(answer.status, 200)
    assert.strictEqual(answer.headers.get("content-type"), "text/javascript; charset=utf-8")
    const text = await answer.text()
    for (const part of [
      'version="4.0.1"',
      'registerExtension("sse"',
      'registerExtension("hx-csp"'
    ]) {
      assert.include(text, part)
    }
    assert.isBelow(text.length, 50_000)
  })
})
