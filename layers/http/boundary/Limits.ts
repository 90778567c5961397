/**
 * Rate limits, so that one tenant or principal cannot exhaust the service: requests and messages per minute, and open event
 * streams. Each is counted for the principal and for its tenant, in this process.
 */
import { getHeapStatistics } from "node:v8"
import { Context, Effect, Layer, Metric } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Problem } from "../../../src/operation/Problem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { Counts } from "../../../src/value/Counts.ts"
import type { HttpSettings } from "./HttpSettings.ts"
import { HttpSettings as Settings } from "./HttpSettings.ts"
import { refusedUntil } from "./Problems.ts"
import { Shares } from "./Shares.ts"
import type { ShareBounds } from "./Shares.ts"
import { makeSignInTries } from "./SignInTries.ts"
import { TokenBuckets } from "./TokenBuckets.ts"

type Limited = Effect.Effect<void, Problem<429>, HttpServerRequest.HttpServerRequest>

export class Limits extends Context.Service<
  Limits,
  {
    /** Counts an authenticated request. Fails with 429 and the time to wait. */
    request(by: Principal): Limited
    /** Counts a try to sign in, by its address. Fails with 429 and the time to wait. */
    readonly signIn: Limited
    /** Counts a message to an agent. Fails with 429 and the time to wait. */
    message(by: Principal): Limited
    /**
     * Reserves an event stream until the scope closes. Fails with 429 at the bound of the principal or tenant, and with 503 at
     * the bound of the process.
     */
    stream(
      by: Principal
    ): Effect.Effect<
      void,
      Problem<429> | Problem<503>,
      HttpServerRequest.HttpServerRequest | Scope.Scope
    >
    /**
     * Runs the reading and writing of a page, whose number at the same time is bounded. Fails with 503 if no share is free in
     * time.
     */
    page: Shared
    /** Runs the reading of a large body or a file into memory, with the same kind of bound. */
    body: Shared
    upload: Shared
  }
>()("troupe/http/Limits") {}

type Shared = <A, E, R>(
  by: Principal,
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | Problem<503>, R>

/** The `Retry-After` of a refused event stream. It is not known when another stream ends, so clients try again soon. */
const place_wait_s = 5

/** A tenant's name has no space, so that no two owners have the same key. */
const keysOf = ({ id, tenant }: Principal) => ({
  tenant: `tenant ${tenant}`,
  principal: `principal ${tenant} ${id}`
})

type Keys = ReturnType<typeof keysOf>

const whose = { principal: "for one token's owner", tenant: "for one tenant" } as const

/** Two token buckets, of the principal and of its tenant, which refill evenly and hold one minute's tokens. */
const makeRate = (what: string, per_minute: Readonly<Record<keyof Keys, number>>) => {
  const buckets = {
    principal: new TokenBuckets(per_minute.principal),
    tenant: new TokenBuckets(per_minute.tenant)
  }
  return (by: Principal): Limited =>
    Effect.clockWith((clock) => {
      const keys = keysOf(by)
      const now = clock.currentTimeMillisUnsafe()
      for (const whom of ["principal", "tenant"] as const) {
        const wait_ms = buckets[whom].take(keys[whom], now)
        if (wait_ms === 0) continue
        const seconds = Math.ceil(wait_ms / 1_000)
        const detail = `At most ${per_minute[whom]} ${what} a minute are taken ${whose[whom]}. Try again in ${seconds} s.`
        return refusedUntil(seconds, "too-many-requests", `Too many ${what}`, detail)
      }
      return Effect.void
    })
}

const open = Metric.gauge("troupe_event_streams_open", {
  description: "Event streams that are open in this process"
})

/** Counts the open streams of each owner, and in all. */
const makePlaces = (settings: HttpSettings) => {
  const taken = new Counts()
  let all = 0
  const change = (keys: Keys, by: 1 | -1) => {
    for (const key of Object.values(keys)) taken.add(key, by)
    all += by
    return Metric.update(open, all)
  }
  const bounds = {
    principal: settings.streams_principal_max,
    tenant: settings.streams_tenant_max
  }
  const obstacle = (
    keys: Keys
  ):
    | Effect.Effect<never, Problem<429> | Problem<503>, HttpServerRequest.HttpServerRequest>
    | undefined => {
    for (const whom of ["principal", "tenant"] as const) {
      if (taken.of(keys[whom]) < bounds[whom]) continue
      const detail = `At most ${bounds[whom]} are open at the same time ${whose[whom]}. Close one first.`
      return refusedUntil(place_wait_s, "too-many-streams", "Too many event streams", detail)
    }
    if (all < settings.streams_max) return undefined
    const detail = `At most ${settings.streams_max} are open at the same time. Try again later.`
    return Effect.fail(makeProblem(503, "too-many-streams", "Too many event streams", detail))
  }
  return (by: Principal) => {
    const keys = keysOf(by)
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.suspend(() => obstacle(keys) ?? change(keys, 1)),
        () => change(keys, -1)
      )
    )
  }
}

/** No more at the same time than an eighth of V8's heap has room for, where each takes so many bytes; one in any case. */
const fitting = (bounds: ShareBounds, bytes: number): ShareBounds => {
  const room = Math.floor(getHeapStatistics().heap_size_limit / 8 / bytes)
  const most = (share: number, part: number) =>
    Math.max(1, Math.min(share, Math.floor(room * part)))
  return {
    principal: most(bounds.principal, 1 / 4),
    tenant: most(bounds.tenant, 1 / 2),
    all: most(bounds.all, 1),
    wait_ms: bounds.wait_ms
  }
}

/** A page has up to 8 million characters, and a body 2 million bytes; each is there as values and as text. A file is not in the heap. */
const pages = fitting({ principal: 2, tenant: 4, all: 8, wait_ms: 10_000 }, 24_000_000)
const bodies = fitting({ principal: 8, tenant: 32, all: 64, wait_ms: 30_000 }, 6_000_000)
const uploads: ShareBounds = { principal: 2, tenant: 4, all: 8, wait_ms: 30_000 }

const makeShares = (bounds: ShareBounds): Shared => {
  const shares = new Shares(bounds)
  return (by, effect) => shares.hold(keysOf(by), effect)
}

export const layer: Layer.Layer<Limits> = Layer.effect(
  Limits,
  Effect.gen(function* () {
    const settings = yield* Settings
    yield* Metric.modify(open, 0)
    return Limits.of({
      request: makeRate("requests", {
        principal: settings.requests_principal_per_minute,
        tenant: settings.requests_tenant_per_minute
      }),
      message: makeRate("messages", {
        principal: settings.messages_principal_per_minute,
        tenant: settings.messages_tenant_per_minute
      }),
      signIn: makeSignInTries(),
      stream: makePlaces(settings),
      page: makeShares(pages),
      body: makeShares(bodies),
      upload: makeShares(uploads)
    })
  })
)
