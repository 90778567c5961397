/**
 * The HTTP client of the exporters. A collector that takes requests and answers none costs a bounded time and a bounded number
 * of batches: the exporters themselves wait for ever, and send the next batch beside the ones that wait.
 */
import { Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import type { HttpClientRequest } from "effect/http"

/** Requests to one URL at the same time; each holds up to a thousand spans or lines. */
const requests_max = 8
/** OpenTelemetry's own default. */
const timeout_ms_default = 10_000

/** `OTEL_EXPORTER_OTLP_TIMEOUT`, in ms. Absent, or no number of them = 10,000. */
export const timeoutOf = (variable: string | undefined): number =>
  /^[1-9]\d{0,8}$/.test(variable ?? "") ? Number(variable) : timeout_ms_default

const failure = (request: HttpClientRequest.HttpClientRequest, description: string) =>
  new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({ request, description })
  })

/** Traces, metrics or logs. The rest of the URL is not logged: it may hold a key. */
const signalOf = (url: string): string => /(traces|metrics|logs)\/?$/.exec(url)?.[1] ?? "telemetry"

/** Says once that a collector does not take what it is sent, and that it does again. */
const makeReport = () => {
  const refused = new Set<string>()
  return (url: string, why: string | undefined) =>
    Effect.suspend(() => {
      if (why === undefined) {
        return refused.delete(url)
          ? Effect.logInfo(`the collector takes ${signalOf(url)} again`)
          : Effect.void
      }
      if (refused.has(url)) return Effect.void
      refused.add(url)
      return Effect.logWarning(`the collector does not take ${signalOf(url)}: ${why}`)
    })
}

const bounded = (client: HttpClient.HttpClient, timeout_ms: number): HttpClient.HttpClient => {
  // Only the status is of use: the scope gives the connection back without the body, however long that is.
  const scoped = HttpClient.withScope(client)
  const report = makeReport()
  const open = new Map<string, number>()
  const change = (url: string, by: 1 | -1) =>
    Effect.sync(() => void open.set(url, (open.get(url) ?? 0) + by))
  return HttpClient.transform(client, (_, request) =>
    Effect.suspend(() => {
      const { url } = request
      if ((open.get(url) ?? 0) >= requests_max) {
        return failure(request, "the collector does not keep up")
      }
      const answer = Effect.map(Effect.scoped(scoped.execute(request)), ({ headers, status }) =>
        HttpClientResponse.fromWeb(request, new Response(null, { status, headers }))
      ).pipe(
        Effect.tap(({ status }) =>
          report(url, status >= 200 && status < 300 ? undefined : `it answers ${status}`)
        ),
        Effect.tapError(() => report(url, "it cannot be reached"))
      )
      const inTime = Effect.timeoutOrElse(answer, {
        duration: timeout_ms,
        orElse: () =>
          Effect.andThen(
            report(url, `it does not answer within ${timeout_ms} ms`),
            failure(request, "the collector did not answer in time")
          )
      })
      return Effect.acquireUseRelease(
        change(url, 1),
        () => inTime,
        () => change(url, -1)
      )
    })
  )
}

export const layer = (timeout_ms: number): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) => bounded(client, timeout_ms))
  ).pipe(Layer.provide(FetchHttpClient.layer))
