/** Who reads metrics while the store of tokens is away. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import * as Metrics from "../../layers/http/server/Metrics.ts"
import { Credentials, Unauthorized } from "../../services/Credentials.ts"
import { StoreError } from "../../services/StoreError.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

const hour_ms = 3_600_000
const principalOf = (role: "viewer" | "customer") =>
  new Principal({ id: role, tenant: Tenant.make("acme"), roles: [role] })

/** Tokens are the names of roles, until the store goes away. */
const makeStore = () => {
  const store = { isAway: false, deleted: false }
  const verify = (given: Redacted.Redacted) =>
    Effect.suspend((): Effect.Effect<Principal, StoreError | Unauthorized> => {
      if (store.isAway) return Effect.fail(new StoreError({ message: "away" }))
      const token = Redacted.value(given)
      return !store.deleted && (token === "viewer" || token === "customer")
        ? Effect.succeed(principalOf(token))
        : Effect.fail(new Unauthorized())
    })
  return {
    store,
    credentials: Layer.succeed(
      Credentials,
      Credentials.of({ verify, verifyDigest: () => Effect.die("unused") })
    )
  }
}

/** The status of an answer to a token. */
const makeService = Effect.gen(function* () {
  const { credentials, store } = makeStore()
  const handler = yield* HttpRouter.toHttpEffect(Metrics.layer.pipe(Layer.provide(credentials)))
  const scrape = (token: string) => {
    const request = new Request("http://localhost/metrics", {
      headers: { authorization: `Bearer ${token}` }
    })
    return Effect.map(
      Effect.provideService(
        handler,
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(request)
      ),
      ({ status }) => status
    )
  }
  return { store, scrape }
})

it.effect("a token that was good reads metrics for an hour while the store of tokens is away", () =>
  Effect.gen(function* () {
    const { scrape, store } = yield* makeService
    assert.strictEqual(yield* scrape("viewer"), 200)
    store.isAway = true
    yield* TestClock.adjust(hour_ms - 1)
    assert.strictEqual(yield* scrape("viewer"), 200)
    yield* TestClock.adjust(1)
    assert.strictEqual(yield* scrape("viewer"), 503)
    store.isAway = false
    assert.strictEqual(yield* scrape("viewer"), 200)
    store.isAway = true
    assert.strictEqual(yield* scrape("viewer"), 200)
  }).pipe(Effect.scoped)
)

it.effect("a token that is a customer's, wrong or deleted reads none while the store is away", () =>
  Effect.gen(function* () {
    const { scrape, store } = yield* makeService
    assert.strictEqual(yield* scrape("customer"), 403)
    assert.strictEqual(yield* scrape("wrong"), 401)
    assert.strictEqual(yield* scrape("viewer"), 200)
    store.isAway = true
    assert.strictEqual(yield* scrape("customer"), 503)
    assert.strictEqual(yield* scrape("wrong"), 503)
    store.isAway = false
    store.deleted = true
    assert.strictEqual(yield* scrape("viewer"), 401)
    store.isAway = true
    assert.strictEqual(yield* scrape("viewer"), 503)
  }).pipe(Effect.scoped)
)
