import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Redacted, Result, Schema } from "effect"
import { Webhook } from "standardwebhooks"
import * as WebhookDelivery from "../../layers/channel/WebhookDelivery.ts"
import { mayDial, parseAddressRange } from "../../src/network/Address.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { CloudEvent, webhook_topic } from "../../src/delivery/IncomingEvent.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"

interface Seen {
  readonly method: string | undefined
  readonly contentType: string | undefined
  readonly body: string
  /** The headers of Standard Webhooks. */
  readonly signed: Readonly<Record<string, string>>
}

/** A receiver on loopback that answers with a status, or not at all for 0. */
const receiver = (status: () => number, headers: Record<string, string> = {}) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly url: string
      readonly seen: Array<Seen>
      readonly close: () => void
    }>((resume) => {
      const seen: Array<Seen> = []
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          seen.push({
            method: request.method,
            contentType: request.headers["content-type"],
            body: Buffer.concat(chunks).toString("utf8"),
            signed: Object.fromEntries(
              Object.entries(request.headersDistinct).flatMap(([name, values]) =>
                name.startsWith("webhook-") && values !== undefined ? [[name, values.join()]] : []
              )
            )
          })
          const code = status()
          if (code === 0) return
          if (code >= 300 && code < 400) response.setHeader("location", "/elsewhere")
          response.writeHead(code, headers)
          // Longer than anybody should read of an answer.
          response.write("x".repeat(100_000))
          response.end()
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${port}/hook?key=s3cr3t`,
            seen,
            close: () => {
              server.closeAllConnections()
              server.close()
            }
          })
        )
      })
    }),
    (it) => Effect.sync(it.close)
  )

const message: OutboxMessage = {
  id: MessageId.make("00000000-0000-4000-8000-000000001003"),
  tenant: Tenant.make("acme"),
  key: "orders",
  key_seq: 3,
  topic: webhook_topic,
  payload: { type: "order.created", subject: "1003", data: { total: "12.50", note: "Grüße" } },
  attempts: 1,
  created_at: 1_795_000_000_000,
  replayed: false
}

const deliver = (
  url: string,
  it: OutboxMessage,
  timeout_ms?: number,
  allow_ranges = ["127.0.0.0/8"],
  secret?: WebhookDelivery.WebhookConfig["Service"]["secret"]
) =>
  WebhookDelivery.handlers.pipe(
    Effect.flatMap(([entry]) => entry![1](it)),
    Effect.provideService(WebhookDelivery.WebhookConfig, { url, timeout_ms, allow_ranges, secret })
  )

describe("WebhookDelivery", () => {
  it.live("posts a CloudEvents 1.0 envelope whose id is the message's", () =>
    Effect.gen(function* () {
      const hook = yield* receiver(() => 204)
      yield* deliver(hook.url, message)
      yield* deliver(hook.url, { ...message, attempts: 2, replayed: true })
      const [first, second] = hook.seen
      assert.strictEqual(first?.method, "POST")
      assert.strictEqual(first?.contentType, "application/cloudevents+json; charset=utf-8")
      const event = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(CloudEvent))(
        first?.body
      )
      assert.deepStrictEqual(event, {
        specversion: "1.0",
        id: message.id,
        source: "troupe",
        type: "order.created",
        subject: "1003",
        time: "2026-11-18T11:06:40.000Z",
        datacontenttype: "application/json",
        partitionkey: "orders",
        data: { total: "12.50", note: "Grüße" }
      })
      assert.deepStrictEqual(JSON.parse(second!.body), { ...event, replayed: true })
    })
  )

  for (const [status, tag] of [
    [200, "delivered"],
    [299, "delivered"],
    [301, "DeliveryFailed"],
    [400, "DeliveryRefused"],
    [404, "DeliveryRefused"],
    [408, "DeliveryFailed"],
    [410, "DeliveryRefused"],
    [425, "DeliveryFailed"],
    [429, "DeliveryFailed"],
    [500, "DeliveryFailed"],
    [503, "DeliveryFailed"]
  ] as const) {
    it.live(`an answer of ${status} is ${tag}`, () =>
      Effect.gen(function* () {
        const hook = yield* receiver(() => status)
        const exit = yield* Effect.exit(deliver(hook.url, message))
        if (tag === "delivered") assert.isTrue(Exit.isSuccess(exit))
        else {
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          assert.strictEqual((error as { readonly _tag?: string })._tag, tag)
          assert.strictEqual((error as Error).message, `the receiver answered ${status}`)
        }
        assert.strictEqual(hook.seen.length, 1, "a redirect is not followed")
      })
    )
  }

  it.live("signs by Standard Webhooks for receivers with the old secret and with the new one", () =>
    Effect.gen(function* () {
      const hook = yield* receiver(() => 204)
      const [older, newer] = [Buffer.alloc(24, "a"), Buffer.alloc(64, "b")].map((key) =>
        Redacted.make(`whsec_${key.toString("base64")}`)
      ) as [Redacted.Redacted, Redacted.Redacted]
      const sent = Effect.fnUntraced(function* (
        attempts: number,
        secret?: WebhookDelivery.WebhookConfig["Service"]["secret"]
      ) {
        yield* deliver(hook.url, { ...message, attempts }, undefined, undefined, secret)
        return hook.seen.at(-1)!
      })
      const has = (secret: Redacted.Redacted, { body, signed }: Seen) => {
        const client = new Webhook(Redacted.value(secret))
        assert.throws(() => client.verify(`${body} `, signed))
        try {
          assert.deepStrictEqual(client.verify(body, signed), JSON.parse(body))
          return true
        } catch {
          return false
        }
      }
      assert.deepStrictEqual((yield* sent(1)).signed, {})
      const before = yield* sent(1, older)
      const during = yield* sent(2, [newer, older])
      const after = yield* sent(3, newer)
      assert.deepStrictEqual(
        [before, during, after].map((each) => [has(older, each), has(newer, each)]),
        [
          [true, false],
          [true, true],
          [false, true]
        ]
      )
      const [first] = during.signed["webhook-signature"]!.split(" ")
      assert.isTrue(
        has(newer, { ...during, signed: { ...during.signed, "webhook-signature": first! } })
      )
      for (const { signed } of [before, during, after]) {
        assert.strictEqual(signed["webhook-id"], message.id, "the same at each delivery")
      }
    }).pipe(Effect.scoped)
  )

  it.effect("refuses a secret that is no key before anything is sent, and does not repeat it", () =>
    Effect.gen(function* () {
      const key = Buffer.alloc(24, "a").toString("base64")
      for (const text of [
        key,
        "",
        "whsec_",
        "whsec_c2hvcnQ=",
        "whsec_!",
        `whsec_${"A".repeat(88)}`
      ]) {
        const error = yield* Effect.flip(
          deliver("http://127.0.0.1:1/", message, undefined, undefined, Redacted.make(text))
        )
        assert.strictEqual((error as { readonly _tag: string })._tag, "WebhookMisconfigured", text)
        assert.strictEqual((error as WebhookDelivery.WebhookMisconfigured).field, "secret")
        if (text !== "") assert.notInclude(error.message, text === "whsec_" ? key : text)
      }
      const five = Array<Redacted.Redacted>(5).fill(Redacted.make(`whsec_${key}`))
      for (const given of [`whsec_${key}` as never, [], five]) {
        const bare = yield* Effect.flip(
          deliver("http://127.0.0.1:1/", message, undefined, undefined, given)
        )
        assert.strictEqual((bare as { readonly _tag: string })._tag, "WebhookMisconfigured")
      }
    })
  )

  it.live("is tried again when the receiver says so, in seconds or at a time", () =>
    Effect.gen(function* () {
      const at = new Date(Date.now() + 60_000).toUTCString()
      for (const [status, said, least, most] of [
        [429, "120", 120_000, 120_000],
        [503, at, 50_000, 60_000],
        [503, "99999999999999999999", 86_400_000, 86_400_000],
        [503, "soon", undefined, undefined],
        [503, "-1", undefined, undefined]
      ] as const) {
        const hook = yield* receiver(() => status, { "retry-after": said })
        const error = yield* Effect.flip(deliver(hook.url, message))
        const wait = "retry_after_ms" in error ? error.retry_after_ms : undefined
        if (least === undefined) assert.isUndefined(wait, said)
        else {
          assert.isAtLeast(wait ?? 0, least, said)
          assert.isAtMost(wait ?? Infinity, most, said)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.live("reaches no address that is not public and that nobody opened", () =>
    Effect.gen(function* () {
      const hook = yield* receiver(() => 200)
      const named = hook.url.replace("127.0.0.1", "localhost")
      const tagFor = (url: string, ranges: Array<string>) =>
        Effect.map(
          Effect.flip(deliver(url, message, undefined, ranges)),
          (error) => (error as { readonly _tag: string })._tag
        )
      // A name is known only when it is resolved; an address refuses the start.
      assert.strictEqual(yield* tagFor(named, []), "DeliveryFailed")
      for (const url of [hook.url, "http://[::1]:1/", "http://10.0.0.1/", "http://0x7f.1/"]) {
        assert.strictEqual(yield* tagFor(url, []), "WebhookMisconfigured", url)
      }
      // A metadata service is reached by no range, however it is written or resolved.
      const everything = Result.getOrThrow(parseAddressRange("0.0.0.0/0"))
      assert.isFalse(mayDial("169.254.169.254", { allow: [everything] }))
      assert.isTrue(mayDial("10.0.0.1", { allow: [everything] }))
      for (const url of [
        "http://169.254.169.254/latest",
        "http://2852039166/latest",
        "http://[::ffff:169.254.169.254]/latest",
        "http://[fd00:ec2::254]/latest",
        "http://168.63.129.16/",
        "http://100.100.100.200/latest",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://METADATA.google.internal./"
      ]) {
        const ranges = ["0.0.0.0/0", "::/0"]
        assert.strictEqual(yield* tagFor(url, ranges), "WebhookMisconfigured", url)
      }
      assert.strictEqual(hook.seen.length, 0)
      yield* deliver(named, message, undefined, ["127.0.0.0/8", "::1"])
      assert.strictEqual(hook.seen.length, 1)
      for (const url of ["", "example.com/hook", "ftp://example.com", "https://a:b@example.com"]) {
        const error = yield* Effect.flip(deliver(url, message))
        assert.deepInclude(error, { _tag: "WebhookMisconfigured", field: "url" }, url)
      }
      const bad = yield* Effect.flip(deliver(hook.url, message, undefined, ["home"]))
      assert.strictEqual((bad as { readonly _tag: string })._tag, "WebhookMisconfigured")
    })
  )

  it.live("fails without the address when nobody listens", () =>
    Effect.gen(function* () {
      const hook = yield* receiver(() => 200)
      hook.close()
      const error = yield* Effect.flip(deliver(hook.url, message))
      assert.strictEqual(error._tag, "DeliveryFailed")
      assert.strictEqual(error.message, "the receiver could not be reached")
      assert.notInclude(JSON.stringify(error), "s3cr3t")
    })
  )

  it.live("fails at its timeout when the receiver never answers", () =>
    Effect.gen(function* () {
      const hook = yield* receiver(() => 0)
      const error = yield* Effect.flip(deliver(hook.url, message, 200))
      assert.strictEqual(error.message, "the receiver did not answer within 200 ms")
      assert.strictEqual(error._tag, "DeliveryFailed")
    })
  )

  it.live("refuses a payload that is no event and sends nothing, wherever the payload points", () =>
    Effect.gen(function* () {
      const hook = yield* receiver(() => 200)
      const error = yield* Effect.flip(
        deliver(hook.url, { ...message, payload: { url: "http://127.0.0.1:1/", body: 1 } })
      )
      assert.strictEqual(error._tag, "DeliveryRefused")
      assert.deepStrictEqual(hook.seen, [])
    })
  )
})
