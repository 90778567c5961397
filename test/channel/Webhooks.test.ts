/** Webhooks of tenants, over real sockets: who is told of what, how requests are signed, and what becomes of those that fail. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { afterAll, assert, describe, it } from "vitest"
import * as WebhookSubscriptions from "../../layers/channel/WebhookSubscriptions.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import type { Store } from "../../layers/compose/options/ServiceOptions.ts"
import { RelayConfig } from "../../layers/runtime/relay/OutboxRelay.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/index.ts"
import { Schema } from "effect"
import { either } from "../Long.ts"
import type { Receiver, Reply } from "./Receiver.ts"
import { eventIn, receiver, verifies } from "./Receiver.ts"

const data = mkdtempSync(join(tmpdir(), "troupe-webhooks-"))
afterAll(() => rmSync(data, { recursive: true, force: true }))

const ada = { id: "ada", tenant: "acme", roles: ["admin"] } as const
const olga = { id: "olga", tenant: "acme", roles: ["operator"] } as const
const eve = { id: "eve", tenant: "globex", roles: ["admin"] } as const
const carl = { id: "carl", tenant: "acme", roles: ["customer"] } as const

const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })
const desk = AgentSpec.make({ name: "desk", instructions: "Help." })
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "About an order.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  () => Promise.resolve("done")
)

const layerOf = (store: Store, said: Array<string>, more: object, timeout_ms: number) =>
  Troupe.layer({
    agents: [shop, desk],
    tools: [refund],
    model: scripted(({ transcript: [first, ...more] }) =>
      first?.role === "user" && first.text === "refund" && more.length === 0
        ? call("refund", { order: "7" })
        : text("Good morning, Zoe.")
    ),
    store,
    customer_agents: ["shop"],
    webhooks: { allow_ranges: ["127.0.0.0/8"], http: true, ...more },
    telemetry: false
  }).pipe(
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(WebhookSubscriptions.SubscriptionConfig, {
          timeout_ms,
          retry_ms: 1,
          attempts_max: 3,
          retention_ms: 86_400_000,
          source: "/acme"
        }),
        Layer.effect(
          RelayConfig,
          Effect.map(RelayConfig, (relay) => ({ ...relay, backoff_initial_ms: 1, sweep_ms: 50 }))
        ),
        Logger.layer([
          Logger.make(({ cause, message }) => void said.push(JSON.stringify([message, cause])))
        ])
      )
    )
  )

type Methods = (typeof Troupe)["Service"]

/** A service, and receivers, for as long as the test needs them. */
const served = async (
  store: Store,
  use: (given: {
    readonly troupe: Methods
    readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
    readonly hooks: () => Promise<Receiver>
    readonly said: Array<string>
  }) => Promise<void>,
  more: object = {},
  timeout_ms = 60_000
) => {
  const said: Array<string> = []
  const runtime = ManagedRuntime.make(layerOf(store, said, more, timeout_ms))
  const open: Array<Receiver> = []
  try {
    const troupe = await runtime.runPromise(Troupe.use((it) => Effect.succeed(it)))
    await use({
      troupe,
      run: (effect) => Effect.runPromise(effect),
      said,
      hooks: async () => {
        const made = await receiver()
        open.push(made)
        return made
      }
    })
  } finally {
    await runtime.dispose()
    for (const each of open) each.close()
  }
}

/** Waits until it holds. */
const until = async <A>(read: () => A | Promise<A>, holds: (value: A) => boolean): Promise<A> => {
  for (;;) {
    const value = await read()
    if (holds(value)) return value
    await setTimeout(10)
  }
}

const requests = (hook: Receiver, many: number) =>
  until(
    () => hook.seen,
    ({ length }) => length >= many
  )

const tagOf = async (promise: Promise<unknown>) =>
  promise.then(
    () => "value",
    (error: { readonly _tag: string; readonly field?: string }) => error._tag
  )

const stores: ReadonlyArray<readonly [string, () => Store]> = [
  ["in memory", () => "ephemeral"],
  ["in a directory", () => ({ directory: mkdtempSync(join(data, "db-")) })]
]

for (const [where, storeOf] of stores.slice(0, either(1, 2))) {
  describe(`webhooks ${where}`, { timeout: 60_000 }, () => {
    it("are told of questions and ends, each signed, in the order of a run", () =>
      served(storeOf(), async ({ hooks, run, troupe }) => {
        const hook = await hooks()
        const { id, secret } = await run(troupe.createWebhook({ url: `${hook.url}/all` }, ada))
        const asked = await run(troupe.ask({ agent: "shop", text: "refund" }, ada))
        assert.strictEqual(asked.status, "awaiting_approval")
        const [question] = asked.status === "awaiting_approval" ? asked.approvals : []
        await run(troupe.decide(question!.id, { decision: "approve" }, olga))
        await run(troupe.result(asked.run, ada))
        const all = await requests(hook, 3)
        const events = all.map(eventIn)
        const about = { run: asked.run, conversation: asked.conversation, agent: "shop" }
        assert.deepStrictEqual(
          events.map(({ data, subject, type }): unknown => ({ type, subject, data })),
          [
            {
              type: "approval.requested",
              subject: asked.run,
              data: { ...about, approval: question!.id, tool: "refund", status: "pending" }
            },
            {
              type: "approval.settled",
              subject: asked.run,
              data: {
                ...about,
                approval: question!.id,
                tool: "refund",
                status: "decided",
                decision: "approve"
              }
            },
            { type: "run.complete", subject: asked.run, data: { ...about, status: "complete" } }
          ]
        )
        const sequences = events.map((event) => String(event["sequence"]))
        assert.deepStrictEqual(sequences.toSorted(), sequences)
        assert.lengthOf(new Set(sequences), 3)
        for (const [at, request] of all.entries()) {
          assert.strictEqual(request.path, "/all")
          assert.isTrue(verifies(secret, request))
          assert.isFalse(verifies(secret, { ...request, body: `${request.body} ` }))
          assert.strictEqual(request.headers["webhook-id"], events[at]!.id)
          assert.strictEqual(events[at]!.source, "/acme")
          assert.notInclude(request.body, "Zoe")
        }
        const listed = await until(
          () => run(troupe.webhookDeliveries(id, {}, olga)),
          (found) => found.every(({ status }) => status === "delivered")
        )
        assert.deepStrictEqual(
          listed.map(({ attempts, event, type }) => [type, event, attempts.map((a) => a.status)]),
          events.toReversed().map((event) => [event.type, event.id, [204]])
        )
      }))

    it("are told of what they want alone, and of nothing of other tenants", () =>
      served(storeOf(), async ({ hooks, run, troupe }) => {
        const hook = await hooks()
        const made = async (path: string, given: object, by: typeof ada | typeof eve = ada) =>
          run(troupe.createWebhook({ url: `${hook.url}/${path}`, ...given }, by))
        await made("foreign", {}, eve)
        await made("desk", { types: ["run.*"], filter: { agents: ["desk"] } })
        await made("questions", { types: ["approval.*"] })
        await made("failed", { filter: { statuses: ["failed"] } })
        await made("talk", { types: ["run.complete"], filter: { conversations: ["talk"] } })
        await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
        await run(troupe.ask({ agent: "shop", text: "hello", conversation: "talk" }, ada))
        await run(troupe.ask({ agent: "desk", text: "hello" }, ada))
        await requests(hook, 2)
        assert.deepStrictEqual(hook.seen.map(({ path }) => path).toSorted(), ["/desk", "/talk"])
      }))

    it("are tried again, resent one by one and together, and never twice at once", () =>
      served(storeOf(), async ({ hooks, run, troupe }) => {
        const hook = await hooks()
        const { id } = await run(troupe.createWebhook({ url: hook.url, types: ["run.*"] }, ada))
        const since = Date.now() - 1_000
        const replies: ReadonlyArray<
          readonly [ReadonlyArray<Reply>, "delivered" | "failed", ReadonlyArray<unknown>]
        > = [
          [[{ status: 503 }, { status: 200 }], "delivered", [503, 200]],
          [[{ status: 302, headers: { location: "/elsewhere" } }], "delivered", [302, 204]],
          [[{ status: 400 }], "failed", [400]],
          [[{ status: 500 }, { status: 429 }, { status: 408 }], "failed", [500, 429, 408]]
        ]
        for (const [n, [given, status, attempts]] of replies.entries()) {
          hook.next(...given)
          await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
          const [last] = await until(
            () => run(troupe.webhookDeliveries(id, {}, olga)),
            ({ [0]: first, length }) => length === n + 1 && first?.status === status
          )
          assert.deepStrictEqual(
            last!.attempts.map((each) => each.status ?? each.error),
            attempts
          )
        }
        assert.deepStrictEqual(
          hook.seen.map(({ path }) => path),
          Array<string>(8).fill("/"),
          "no redirect is followed"
        )
        const failed = await run(troupe.webhookDeliveries(id, { status: "failed" }, olga))
        assert.lengthOf(failed, 2)
        let release = () => {}
        hook.first(() => new Promise<void>((done) => (release = done)))
        await run(troupe.resendWebhookDelivery(id, failed[0]!.id, olga))
        const twice = await tagOf(run(troupe.resendWebhookDelivery(id, failed[0]!.id, olga)))
        assert.strictEqual(twice, "WebhookDeliveryWaits")
        await requests(hook, 9)
        hook.first(async () => undefined)
        release()
        const resent = await run(troupe.resendFailedWebhookDeliveries(id, { since }, olga))
        assert.strictEqual(resent.resent, 1)
        const all = await until(
          () => run(troupe.webhookDeliveries(id, {}, olga)),
          (found) => found.every(({ status }) => status === "delivered")
        )
        assert.lengthOf(all, 4)
        assert.strictEqual(eventIn(hook.seen[8]!).id, failed[0]!.event, "under the same id")
      }))

    it("change their secret without a request that a receiver refuses", () =>
      served(storeOf(), async ({ hooks, run, troupe }) => {
        const hook = await hooks()
        const { id, secret: older } = await run(troupe.createWebhook({ url: hook.url }, ada))
        // While a delivery is under way: what is tried again has both.
        hook.next({ status: 500 })
        let newer = ""
        hook.first(async () => {
          if (hook.seen.length === 1) {
            newer = (await run(troupe.rotateWebhookSecret(id, {}, ada))).secret
          }
        })
        await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
        const [before, during] = await requests(hook, 2)
        await run(troupe.rotateWebhookSecret(id, { overlap_ms: 0 }, ada)).then(
          ({ secret, secrets }) => {
            newer = `${newer} ${secret}`
            assert.lengthOf(secrets, 1)
          }
        )
        await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
        const [, , after] = await requests(hook, 3)
        const [second, third] = newer.split(" ") as [string, string]
        assert.deepStrictEqual(
          [before!, during!, after!].map((request) =>
            [older, second, third].map((each) => verifies(each, request))
          ),
          [
            [true, false, false],
            [true, true, false],
            [false, false, true]
          ]
        )
      }))

    it("that are deleted or disabled meanwhile get nothing more, and one whose receiver is gone is told of", () =>
      served(storeOf(), async ({ hooks, run, said, troupe }) => {
        const [hook, watcher] = [await hooks(), await hooks()]
        const made = () => run(troupe.createWebhook({ url: hook.url, types: ["run.*"] }, ada))
        const deleted = await made()
        hook.always({ status: 500 })
        hook.first(async () => void (await run(troupe.deleteWebhook(deleted.id, ada))))
        await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
        await requests(hook, 1)
        assert.deepStrictEqual(await run(troupe.webhooks(ada)), [])
        const disabled = await made()
        hook.first(async () => {
          await run(troupe.changeWebhook(disabled.id, { url: hook.url, enabled: false }, ada))
        })
        await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
        await requests(hook, 2)
        hook.first(async () => undefined)
        hook.always({ status: 410 })
        const gone = await made()
        await run(troupe.createWebhook({ url: watcher.url, types: ["webhook.disabled"] }, ada))
        await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
        const [told] = await requests(watcher, 1)
        const { data, subject } = eventIn(told!)
        assert.deepStrictEqual([subject, data], [gone.id, { webhook: gone.id, reason: "gone" }])
        assert.strictEqual((await run(troupe.webhook(gone.id, ada))).disabled?.reason, "gone")
        const [waited] = await run(troupe.webhookDeliveries(disabled.id, {}, olga))
        assert.include(waited!, { status: "failed", reason: "disabled" })
        assert.lengthOf(hook.seen, 3)
        assert.isTrue(said.some((line) => line.includes("a webhook was disabled")))
        for (const { secret } of [deleted, disabled, gone]) {
          const shown = [
            ...said,
            JSON.stringify(await run(troupe.webhooks(ada))),
            JSON.stringify(await run(troupe.webhookDeliveries(gone.id, {}, olga))),
            JSON.stringify(await run(troupe.deadLetters({}, olga)))
          ]
          for (const line of shown) assert.notInclude(line, secret.slice(6))
        }
      }))
  })
}

it("whose receiver never answers fail, and hold up no run", { timeout: 60_000 }, () =>
  served(
    "ephemeral",
    async ({ hooks, run, troupe }) => {
      const hook = await hooks()
      hook.always("never")
      const { id } = await run(troupe.createWebhook({ url: hook.url, types: ["run.*"] }, ada))
      for (let n = 0; n < 5; n++) await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
      const failed = await until(
        () => run(troupe.webhookDeliveries(id, { status: "failed" }, olga)),
        ({ length }) => length === 5
      )
      assert.deepStrictEqual(
        failed.flatMap(({ attempts }) => attempts.map(({ error }): unknown => error)),
        Array<string>(15).fill("timeout")
      )
      assert.deepStrictEqual(await run(troupe.deadLetters({}, olga)), [])
      assert.include((await run(troupe.webhook(id, ada))).failing!, { attempts: 15 })
    },
    {},
    50
  )
)

const bad_addresses = [
  ["https://127.0.0.1/", /not public/],
  ["https://10.0.0.1/", /not public/],
  ["https://[::1]/", /not public/],
  ["https://169.254.169.254/latest", /metadata/],
  ["https://metadata.google.internal/", /metadata/],
  ["https://user:pass@hooks.example/", /without a user/],
  ["ftp://hooks.example/", /begins with https/],
  ["hooks.example", /begins with https/],
  [`https://hooks.example/${"x".repeat(2_000)}`, /2000|2,000|length/]
] as const
const bad_members = [
  [{ filter: { agent: ["shop"] } }, /filter.*agent/],
  [{ filter: { statuses: ["done"] } }, /filter.*statuses/],
  [{ filter: { agents: [] } }, /filter.*agents/],
  [{ types: ["run.*", "run.ended"] }, /types.*1/],
  [{ type: ["run.*"] }, /type/],
  [{ secret: "whsec_mine" }, /secret/]
] as const

it("are an admin's, at public addresses, with members that there are", { timeout: 60_000 }, () =>
  served(
    "ephemeral",
    async ({ hooks, run, troupe }) => {
      const hook = await hooks()
      const { id } = await run(troupe.createWebhook({ url: "https://hooks.example/" }, ada))
      for (const who of [olga, carl]) {
        for (const refused of [
          troupe.createWebhook({ url: "https://hooks.example/" }, who),
          troupe.webhooks(who),
          troupe.deleteWebhook(id, who),
          troupe.rotateWebhookSecret(id, {}, who)
        ]) {
          assert.strictEqual(await tagOf(run(refused as Effect.Effect<unknown>)), "NotEntitled")
        }
      }
      assert.strictEqual(await tagOf(run(troupe.webhookDeliveries(id, {}, carl))), "NotEntitled")
      for (const refused of [
        troupe.webhook(id, eve),
        troupe.changeWebhook(id, { url: "https://evil.example/" }, eve),
        troupe.deleteWebhook(id, eve),
        troupe.rotateWebhookSecret(id, {}, eve),
        troupe.webhookDeliveries(id, {}, eve),
        troupe.resendFailedWebhookDeliveries(id, { since: 0 }, eve)
      ]) {
        assert.strictEqual(await tagOf(run(refused as Effect.Effect<unknown>)), "WebhookNotFound")
      }
      for (const [url, said] of [[hook.url, /begins with https/], ...bad_addresses] as const) {
        const error = await run(Effect.flip(troupe.createWebhook({ url }, ada)))
        assert.strictEqual(error._tag, "InvalidInput", url)
        assert.match(error.message, said)
        assert.match(error.message, /url/)
      }
      for (const [given, field] of bad_members) {
        const url = "https://hooks.example/"
        const error = await run(Effect.flip(troupe.createWebhook({ url, ...given } as never, ada)))
        assert.strictEqual(error._tag, "InvalidInput")
        assert.match(error.message, field)
      }
      // A name that stands for an address of this machine is found out when it is dialled.
      const named = await run(troupe.createWebhook({ url: "https://localhost/" }, ada))
      await run(troupe.ask({ agent: "shop", text: "hello" }, ada))
      const [tried] = await until(
        () => run(troupe.webhookDeliveries(named.id, {}, olga)),
        ([first]) => first?.status === "failed"
      )
      assert.deepStrictEqual(
        tried!.attempts.map(({ error }): unknown => error),
        Array<string>(3).fill("unreachable")
      )
      assert.lengthOf(hook.seen, 0)
    },
    { allow_ranges: [], http: false }
  )
)
