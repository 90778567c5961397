/** How the service stands, in the console: who works on runs, and what waits. */
import { Effect, Layer } from "effect"
import { MessageId, Tenant } from "troupe"
import { feature } from "troupe/feature"
import { DeliveryFailed, Outbox, ToolQueue } from "troupe/services"
import { assert, describe, it } from "vitest"
import { decodeToolSpec } from "../../src/tool/ToolSpec.ts"
import { anna, letterId, shop, signedIn, tenant, tokenOf } from "./ConsoleScene.ts"

const canary = "<b hx-get=/x>late</b>"

/** A message that fails, a worker that offers a tool, and calls for it: of two tenants, without anybody's doing. */
const busy = {
  features: [
    feature({
      name: "busy",
      deliveries: [
        Effect.succeed([
          [
            "post.late",
            () => Effect.fail(new DeliveryFailed({ message: `refused ${canary}, 503` }))
          ]
        ])
      ]
    })
  ],
  ports: Layer.effectDiscard(
    Effect.gen(function* () {
      const tenants = [tenant, tenant, "elsewhere"].map((each) => Tenant.make(each))
      yield* Outbox.use((outbox) =>
        outbox.enqueue(
          tenants.map((tenant, n) => ({
            id: MessageId.make(letterId(n)),
            tenant,
            key: `order-${n}`,
            topic: n === 1 ? "post.unhandled" : "post.late",
            payload: { secret: "of the message" }
          }))
        )
      )
      const spec = yield* decodeToolSpec({
        namespace: "press",
        name: "print",
        version: "1",
        description: "Prints.",
        side_effects: "external",
        input_schema: { type: "object" },
        output_schema: {}
      })
      const queue = yield* ToolQueue
      yield* queue.announce({ worker: "w-1", provider: canary, tools: [spec], lease_ms: 600_000 })
      for (const [n, tenant] of tenants.entries()) {
        const id = `call-${n}`
        const payload = { secret: "of the call" }
        yield* queue.send({ id, tool: "print", tenant, expires_at: 9e12, payload })
      }
    }).pipe(Effect.orDie)
  )
}

const within = async (
  more: Parameters<typeof shop>[0],
  use: (troupe: Awaited<ReturnType<typeof shop>>) => Promise<void>
) => {
  const troupe = await shop(more)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const path = "/console/processes"

describe("processes", () => {
  it("say that nothing waits where nothing does, and who would work", () =>
    within({}, async (troupe) => {
      const { text } = await (await signedIn(troupe, "vera")).get(path)
      for (const said of [
        "No run is at work or waits.",
        "No message waits for its delivery.",
        "No call waits for a worker.",
        "No worker has offered tools.",
        "Lease ends"
      ]) {
        assert.include(text, said)
      }
    }))

  it("count runs by owner and age, messages by topic and calls by tool, of one tenant", () =>
    within(busy, async (troupe) => {
      const { run } = await troupe.ask({ agent: "billing", text: "refund order-1003" }, anna)
      const vera = await signedIn(troupe, "vera")
      const found = await troupe.processes(anna)
      assert.deepInclude(found.runs, { count: 1, parked: 1, unowned: 0 })
      assert.deepInclude(found.runs.ages[0], { below_ms: 60_000, working: 0, waiting: 1 })
      assert.strictEqual(
        found.owners.reduce((sum, { runs }) => sum + runs, 0),
        1
      )
      assert.deepStrictEqual(
        found.outbox.map(({ count, topic }) => [topic, count]),
        [
          ["post.late", 1],
          ["post.unhandled", 1]
        ]
      )
      assert.deepInclude(found.queue[0], { tool: "print", waiting: 2, claimed: 0 })
      assert.deepStrictEqual(found.workers, [
        { id: "w-1", provider: canary, available: true, tools: 1 }
      ])
      let text = ""
      for (let looks = 0; looks < 200 && !text.includes("refused"); looks++) {
        text = (await vera.get(path)).text
      }
      assert.include(text, "refused &lt;b hx-get=/x&gt;late&lt;/b&gt;")
      assert.notInclude(text, "<b hx-get")
      for (const said of ["post.unhandled", "print", "w-1", "under 1 min", "wait for people"]) {
        assert.include(text, said)
      }
      const [late, unhandled] = (await troupe.deliveries(anna)).filter(({ topic }) =>
        topic.startsWith("post.")
      )
      assert.deepInclude(late, { waiting: 1, failed: 1, dead: 0, failure: "503" })
      assert.deepInclude(unhandled, { delivered_here: false, waiting: 1, failed: 0 })
      const channels = (await vera.get("/console/channels")).text
      assert.include(channels, "no handler in this process")
      assert.notInclude(channels, "refused")
      // Ids of runs and what messages tell are on other pages.
      for (const hidden of [run, "of the message", "of the call", tokenOf("vera")]) {
        assert.notInclude(text, hidden)
      }
      const line = /curl -H &quot;[^&]*&quot; &#39;([^&]*)&#39;/.exec(text)?.[1] ?? ""
      const headers = { authorization: `Bearer ${tokenOf("vera")}` }
      const answer = (await (await fetch(line, { headers })).json()) as typeof found
      assert.deepStrictEqual(answer.runs.count, 1)
    }))

  it("show another tenant the processes, and nothing of what they hold for others", () =>
    within(busy, async (troupe) => {
      await troupe.ask({ agent: "billing", text: "refund order-1003" }, anna)
      const other = await signedIn(troupe, "other")
      const { text } = await other.get(path)
      assert.include(text, "No run is at work or waits.")
      assert.notInclude(text, "post.unhandled")
      const by = { id: "other", tenant: "elsewhere", roles: ["admin"] }
      const found = await troupe.processes(by)
      assert.isAtLeast(found.owners.length, 1)
      assert.isTrue(found.owners.every(({ runs }) => runs === 0))
      assert.deepInclude(found.queue[0], { waiting: 1 })
      assert.notInclude(JSON.stringify(found), `"${tenant}"`)
    }))

  it("are for staff alone", () =>
    within({}, async (troupe) => {
      for (const name of ["olga", "vera", "boss", "other"] as const) {
        assert.strictEqual((await (await signedIn(troupe, name)).get(path)).status, 200, name)
      }
      for (const name of ["ada", "feed"]) {
        const headers = { authorization: `Bearer ${tokenOf(name)}` }
        const answer = await fetch(`${troupe.url}/v1/processes`, { headers })
        assert.strictEqual(answer.status, 403, name)
      }
      const bare = await fetch(`${troupe.url}${path}`, { redirect: "manual" })
      assert.match(bare.headers.get("location") ?? "", /^\/console\/sign-in/)
    }))
})
