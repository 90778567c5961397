/**
 * Metrics in Prometheus' text format. They name tools and models and show what tenants do, so they need a token of staff, unless
 * the settings allow access without one.
 */
import { Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse, ProblemDetails } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { Credentials, Unauthorized } from "../../services/Credentials.ts"
import { staff_roles } from "../../src/api/Boundary.ts"
import { principalHasRole } from "../../src/Principal.ts"
import { HttpSettings } from "./HttpSettings.ts"
import { invalidRequest, issuesIn, noParameters } from "./Parameters.ts"
import { forbidden, problemOf } from "./Problems.ts"
import { metrics_path } from "./Routes.ts"

const check = Effect.fnUntraced(function* (
  credentials: Credentials["Service"],
  request: HttpServerRequest.HttpServerRequest
) {
  const token = /^Bearer +(\S.*)$/i.exec(request.headers["authorization"] ?? "")?.[1]
  if (token === undefined) return yield* new Unauthorized()
  return yield* credentials.verify(Redacted.make(token))
})

export const layer: Layer.Layer<never, never, Credentials | HttpRouter.HttpRouter> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const credentials = yield* Credentials
    const { metrics_open } = yield* HttpSettings
    const text = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const issues = issuesIn(url, noParameters)
      if (issues.length > 0) return ProblemDetails.toResponse({ ...invalidRequest(issues) })
      return HttpServerResponse.text(yield* PrometheusMetrics.format(), {
        contentType: "text/plain; version=0.0.4; charset=utf-8"
      })
    })
    const guarded = Effect.gen(function* () {
      const principal = yield* check(credentials, yield* HttpServerRequest.HttpServerRequest)
      if (principalHasRole(principal, staff_roles)) return yield* text
      return ProblemDetails.toResponse({ ...forbidden("Metrics are for staff.") })
    }).pipe(
      Effect.catch((error) => Effect.succeed(ProblemDetails.toResponse({ ...problemOf(error) })))
    )
    yield* router.add("GET", metrics_path, metrics_open ? text : guarded)
  })
)
