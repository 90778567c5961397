/**
 * Metrics in Prometheus' text format. They name tools and models and show what tenants do, so they need a token of staff, unless
 * the settings allow access without one.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { Credentials, Unauthorized } from "../../../services/Credentials.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { rightRefusal } from "../../../src/principal/Rights.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { invalidRequest, issuesIn, noParameters } from "../boundary/Parameters.ts"
import { forbidden, problemOf, respond } from "../boundary/Problems.ts"
import { metrics_path } from "../boundary/Routes.ts"

/** How long a token that was good at its last check reads metrics while the store of tokens is away, in ms. */
const remembered_ms = 3_600_000
const remembered_max = 100
/** A longer one is verified, and not remembered: no such token is good. */
const token_length_max = 1_000

const isStaff = (principal: Principal): boolean => rightRefusal(principal, "inspect") === undefined

/** Verifies tokens. While their store is away, those that were good before are: metrics are needed most then. */
const makeCheck = (credentials: Credentials["Service"]) => {
  const good = new Map<string, { readonly principal: Principal; readonly at: number }>()
  const remember = (digest: string, principal: Principal, at: number): void => {
    if (!isStaff(principal)) return
    if (good.size >= remembered_max && !good.has(digest)) good.clear()
    good.set(digest, { principal, at })
  }
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const token = /^Bearer +(\S.*)$/i.exec(request.headers["authorization"] ?? "")?.[1]
    if (token === undefined) return yield* new Unauthorized()
    const verified = credentials.verify(Redacted.make(token))
    if (token.length > token_length_max) return yield* verified
    const now = yield* Clock.currentTimeMillis
    const digest = createHash("sha256").update(token).digest("hex")
    return yield* verified.pipe(
      Effect.tap((principal) => Effect.sync(() => remember(digest, principal, now))),
      Effect.tapErrorTag("Unauthorized", () => Effect.sync(() => good.delete(digest))),
      Effect.catchTag("StoreError", (error) => {
        const known = good.get(digest)
        return known !== undefined && now - known.at < remembered_ms
          ? Effect.succeed(known.principal)
          : Effect.fail(error)
      })
    )
  })
}

export const layer: Layer.Layer<never, never, Credentials | HttpRouter.HttpRouter> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const check = makeCheck(yield* Credentials)
    const { metrics_open } = yield* HttpSettings
    const text = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const issues = issuesIn(url, noParameters)
      if (issues.length > 0) return respond(invalidRequest(issues))
      return HttpServerResponse.text(yield* PrometheusMetrics.format(), {
        contentType: "text/plain; version=0.0.4; charset=utf-8"
      })
    })
    const guarded = Effect.gen(function* () {
      const principal = yield* check(yield* HttpServerRequest.HttpServerRequest)
      if (isStaff(principal)) return yield* text
      return respond(forbidden("Metrics are for staff."))
    }).pipe(Effect.catch((error) => Effect.succeed(respond(problemOf(error)))))
    yield* router.add("GET", metrics_path, metrics_open ? text : guarded)
  })
)
