/** Adapters of channels: what stops a start, and what counts as a failed delivery. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as EmailChannel from "../../layers/channel/EmailChannel.ts"
import * as NotificationService from "../../layers/channel/NotificationService.ts"
import * as SlackChannel from "../../layers/channel/slack/SlackChannel.ts"
import type { ChannelAdapter } from "../../layers/channel/NotificationService.ts"
import * as PooledRandom from "../../layers/compose/assembly/PooledRandom.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import * as S from "./Service.ts"

const email = ChannelName.make("email")

it.effect("an adapter that throws, or never answers, has failed", () =>
  Effect.gen(function* () {
    const address = { address: "a", recipient: "olga" }
    const content = { kind: "answer", conversation: "c", agent: "spectral", text: "Hi" } as const
    const delivery = Effect.fnUntraced(function* (deliver: ChannelAdapter["deliver"]) {
      const handlers = yield* NotificationService.handlers([
        Effect.succeed({ name: email, deliver })
      ])
      const [, handler] = handlers.find(([topic]) => topic === "channel.email")!
      const message = { payload: { ...address, contents: [content] }, attempts: 2 } as never
      const failed = yield* Effect.forkChild(Effect.flip(handler(message)))
      yield* TestClock.adjust("29 seconds")
      return yield* Fiber.join(failed)
    })
    for (const [deliver, message] of [
      [() => Effect.die(new Error("ECONNRESET")), "the adapter threw: ECONNRESET"],
      [() => Effect.promise(() => Promise.reject(new Error("503"))), "the adapter threw: 503"],
      [() => Effect.never, "no answer within 25000 ms"]
    ] as const) {
      // So it is tried for twenty minutes, where the relay alone would for seconds.
      const expected = { _tag: "DeliveryFailed", message, retry_after_ms: 60_000 } as const
      assert.deepInclude(yield* delivery(deliver), expected)
    }
  }).pipe(Effect.provide(Layer.merge(Stores.ephemeral, PooledRandom.layer)))
)

it.effect("what is no adapter, and a mail server that is not named, stop the start", () =>
  Effect.gen(function* () {
    for (const given of [undefined, { name: "email" }, { name: "No Name", deliver: () => {} }]) {
      const handlers = NotificationService.handlers([Effect.succeed(given as never)])
      const error = yield* Effect.flip(handlers)
      assert.deepInclude(error, { _tag: "InvalidInput", field: "channels.0" })
    }
    const config = { host: "smtp.example.com", port: 587, from: "troupe@example.com" }
    for (const wrong of [{ host: "" }, { port: 0 }, { from: "Troupe" }]) {
      const adapter = EmailChannel.adapter.pipe(
        Effect.provideService(EmailChannel.EmailConfig, { ...config, ...wrong })
      )
      const error = yield* Effect.flip(adapter)
      assert.deepInclude(error, { _tag: "EmailMisconfigured", field: Object.keys(wrong).join() })
    }
  }).pipe(Effect.provide(Layer.merge(Stores.ephemeral, PooledRandom.layer)))
)

it.effect("a token that is empty stops the start, because no message would arrive", () =>
  Effect.gen(function* () {
    const config = Layer.succeed(SlackChannel.SlackConfig, {
      token: Redacted.make(" "),
      signing_secret: Redacted.make("secret"),
      team: "T1",
      tenant: S.acme,
      people: []
    })
    const built = SlackChannel.adapter.pipe(Effect.provide(config))
    const error = yield* Effect.flip(Effect.provide(built, S.service()))
    assert.deepInclude(error, { _tag: "SlackMisconfigured", field: "token" })
  })
)
