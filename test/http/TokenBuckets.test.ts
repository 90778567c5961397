import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { defaults, HttpSettings } from "../../layers/http/boundary/HttpSettings.ts"
import * as Limits from "../../layers/http/boundary/Limits.ts"
import { TokenBuckets } from "../../layers/http/boundary/TokenBuckets.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

const minute_ms = 60_000

describe("a token bucket", () => {
  it("gives a minute's tokens at once, and then says how long the next one takes", () => {
    const buckets = new TokenBuckets(3)
    assert.deepStrictEqual(
      [1, 2, 3, 4].map(() => buckets.take("a", 0)),
      [0, 0, 0, 20_000]
    )
    assert.strictEqual(buckets.take("a", 15_000), 5_000)
    assert.strictEqual(buckets.take("a", 20_000), 0)
    assert.strictEqual(buckets.take("a", 20_000), 20_000)
  })

  it("is of one key", () => {
    const buckets = new TokenBuckets(1)
    assert.strictEqual(buckets.take("a", 0), 0)
    assert.strictEqual(buckets.take("b", 0), 0)
    assert.strictEqual(buckets.take("a", 0), minute_ms)
  })

  it("holds no more than a minute's tokens, however long nobody takes one", () => {
    const buckets = new TokenBuckets(2)
    buckets.take("a", 0)
    assert.deepStrictEqual(
      [1, 2, 3].map(() => buckets.take("a", 100 * minute_ms)),
      [0, 0, 30_000]
    )
  })

  it("refills nothing when the clock is set back, and goes on from there", () => {
    const buckets = new TokenBuckets(1)
    buckets.take("a", 10 * minute_ms)
    assert.strictEqual(buckets.take("a", 0), minute_ms)
    assert.strictEqual(buckets.take("a", minute_ms), 0)
  })

  it("is forgotten when it is full again, and not before", () => {
    const buckets = new TokenBuckets(2)
    for (let key = 0; key < 1_023; key++) buckets.take(`early ${key}`, 0)
    for (let times = 0; times < 2; times++) buckets.take("late", minute_ms)
    buckets.take("another", minute_ms + 15_000)
    assert.strictEqual(buckets.size, 2)
    assert.strictEqual(buckets.take("late", minute_ms + 15_000), 15_000)
  })

  it("is kept beside many others as long as it is not full", () => {
    const buckets = new TokenBuckets(1)
    for (let key = 0; key < 5_000; key++) buckets.take(`${key}`, 0)
    assert.strictEqual(buckets.size, 5_000)
    assert.strictEqual(buckets.take("0", 0), minute_ms)
  })
})

describe("the limit of a token's owner", () => {
  const limits = Limits.layer.pipe(
    Layer.provide(
      Layer.succeed(HttpSettings, {
        ...defaults,
        messages_principal_per_minute: 1,
        messages_tenant_per_minute: 2
      })
    )
  )
  const owner = (tenant: string, id: string) =>
    new Principal({ id, tenant: Tenant.make(tenant), roles: ["operator"] })
  const isTaken = (by: Principal) =>
    Limits.Limits.use((each) => Effect.isSuccess(each.message(by))).pipe(
      Effect.provideService(
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(new Request("http://localhost/"))
      )
    )

  it.effect("is not that of one with this name in another tenant", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* isTaken(owner("a", "olga")))
      assert.isTrue(yield* isTaken(owner("b", "olga")))
    }).pipe(Effect.provide(limits))
  )
})
