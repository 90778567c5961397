/** A collector of OTLP over HTTP on this machine that keeps what it is sent. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { Scope } from "effect"

export interface Posted {
  readonly path: string
  readonly headers: NodeJS.Dict<string | Array<string>>
  readonly body: Buffer
}

export interface Collector {
  readonly posted: ReadonlyArray<Posted>
  readonly url: string
}

export const collector: Effect.Effect<Collector, never, Scope.Scope> = Effect.acquireRelease(
  Effect.callback<Collector & { readonly end: () => void }>((resume) => {
    const posted: Array<Posted> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        posted.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks) })
        response.end()
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const end = () => void server.close()
      resume(Effect.succeed({ posted, url: `http://127.0.0.1:${port}`, end }))
    })
  }),
  ({ end }) => Effect.sync(end)
)

/** What a span says in `http/json`. */
export interface SentSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<{
    readonly key: string
    readonly value: { readonly stringValue?: string }
  }>
}

/** The spans that came so far, in `http/json`. */
export const spansIn = ({ posted }: Collector): ReadonlyArray<SentSpan> =>
  posted
    .filter(({ path }) => path === "/v1/traces")
    .flatMap(({ body }) => JSON.parse(body.toString()).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }): ReadonlyArray<SentSpan> => spans)
