/** What leaves the process in spans: nothing that an error quotes, over JSON and Protocol Buffers, of workers too. */
import { createServer } from "node:http"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace-base"
import { start } from "../../layers/compose/entries/Embed.ts"
import { startWorker } from "../../layers/compose/entries/NodeToolWorker.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import * as OpenTelemetry from "../../layers/telemetry/OpenTelemetry.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { options } from "../process/TracedShop.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { collector, spansIn } from "./Collector.ts"

const secrets = [
  "jane.doe@example.com",
  "sk-live-51H8xkLJ2eZvKYlo2C0aAbCdEf",
  "4111 1111 1111 1111"
]
const pay = { namespace: "shop", name: "pay", side_effects: "read" } as const
const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Pay.", tools: ["pay"] })

/** Breaks, and quotes what it met, in its message and in what caused it, at length. */
const breaks = () => {
  const cause = new Error(`refused: ${secrets[1]}`)
  throw new TypeError(`no mail to ${secrets[0]}, card ${secrets[2]} ${"lorem ".repeat(6_000)}`, {
    cause
  })
}

const model = () =>
  ScriptedModelGateway.layer(({ transcript }) =>
    transcript.some(({ role }) => role === "tool") ? text("done") : call("pay", {})
  )

/** The fields of one message of Protocol Buffers, by number; a number that is no length is skipped over. */
const fieldsOf = (bytes: Buffer): ReadonlyMap<number, ReadonlyArray<Buffer>> => {
  const fields = new Map<number, Array<Buffer>>()
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!
      value += (byte % 128) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const key = varint()
    const [number, wire] = [Math.floor(key / 8), key % 8]
    const length = wire === 2 ? varint() : wire === 1 ? 8 : wire === 5 ? 4 : undefined
    const from = at
    if (length === undefined) varint()
    else at += length
    assert.isAtMost(at, bytes.length)
    fields.set(number, [...(fields.get(number) ?? []), bytes.subarray(from, at)])
  }
  return fields
}

const inside = (messages: ReadonlyArray<Buffer>, number: number): ReadonlyArray<Buffer> =>
  messages.flatMap((message) => fieldsOf(message).get(number) ?? [])

const broken = (endpoint: string, protocol: "http/json" | "http/protobuf") =>
  Effect.promise(async () => {
    const troupe = await start({
      agents: [shop],
      tools: [tool(pay, breaks)],
      model: model(),
      telemetry: { endpoint, protocol, service: "till" }
    })
    await troupe.ask({ agent: "shop", text: "Pay" })
    await troupe.stop()
  })

describe("an exporter", () => {
  it.live(
    "of Protocol Buffers sends what a collector reads: spans with names, ids and events",
    () =>
      Effect.gen(function* () {
        const { posted, url } = yield* collector
        yield* broken(url, "http/protobuf")
        for (const { headers } of posted) {
          assert.strictEqual(headers["content-type"], "application/x-protobuf")
        }
        const paths = new Set(posted.map(({ path }) => path))
        assert.deepStrictEqual([...paths].sort(), ["/v1/logs", "/v1/metrics", "/v1/traces"])
        // ExportTraceServiceRequest.resource_spans, ResourceSpans.scope_spans, ScopeSpans.spans.
        const requests = posted.filter(({ path }) => path === "/v1/traces").map(({ body }) => body)
        const spans = inside(inside(inside(requests, 1), 2), 2).map(fieldsOf)
        const names = spans.map((span) => span.get(5)![0]!.toString())
        for (const name of ["invoke_agent shop", "chat", "execute_tool pay"]) {
          assert.include(names, name)
        }
        const ids = new Set(spans.map((span) => span.get(1)![0]!.toString("hex")))
        assert.lengthOf([...ids], 1)
        assert.match([...ids][0]!, /^[0-9a-f]{32}$/)
        for (const span of spans) assert.lengthOf(span.get(2)![0]!, 8)
        const failed = spans[names.indexOf("execute_tool pay")]!
        const events = (failed.get(11) ?? []).map((event) => fieldsOf(event).get(2)![0]!.toString())
        assert.include(events, "exception")
      }).pipe(Effect.scoped)
  )

  it.live("sends no secret, address or card that an error quotes, and no text without end", () =>
    Effect.gen(function* () {
      for (const protocol of ["http/json", "http/protobuf"] as const) {
        const { posted, url } = yield* collector
        yield* broken(url, protocol)
        const all = posted.map(({ body }) => body.toString("latin1")).join("\n")
        assert.include(all, "no mail to [e-mail], card [card]", protocol)
        for (const secret of secrets) assert.notInclude(all, secret, protocol)
        assert.notInclude(all, "lorem ".repeat(1_334), protocol)
      }
    }).pipe(Effect.scoped)
  )
})

describe("a span of a request", () => {
  it.live("has no query, which names people and files, and no text without end", () =>
    Effect.gen(function* () {
      const { posted, url } = yield* collector
      const token = "0123456789abcdef0123456789abcdef"
      const principal = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
      const troupe = yield* Effect.promise(() =>
        start({
          agents: [shop],
          tools: [tool(pay, () => "paid")],
          model: model(),
          http: { port: 0, tokens: [{ token, principal }] },
          telemetry: { endpoint: url, protocol: "http/json" }
        })
      )
      const headers = { authorization: `Bearer ${token}`, "user-agent": "lorem ".repeat(1_000) }
      const query = `channel=email&address=${encodeURIComponent(secrets[0]!)}`
      const answer = yield* Effect.promise(() =>
        fetch(`${troupe.url}/v1/conversations/c-1/bindings?${query}`, {
          method: "DELETE",
          headers
        })
      )
      assert.strictEqual(answer.status, 404)
      yield* Effect.promise(() => troupe.stop())
      const spans = posted.filter(({ path }) => path === "/v1/traces")
      const all = spans.map(({ body }) => body.toString()).join("\n")
      assert.include(all, '"/v1/conversations/c-1/bindings"')
      assert.include(all, `"${troupe.url}/v1/conversations/c-1/bindings"`)
      assert.include(all, "lorem lorem")
      assert.notInclude(all, "lorem ".repeat(200))
      assert.notInclude(all, "jane.doe")
    }).pipe(Effect.scoped)
  )

  it.live("that a tool sends has no arguments in its URL", () =>
    Effect.gen(function* () {
      const { posted, url } = yield* collector
      const exporters = yield* Effect.promise(() =>
        OpenTelemetry.layer({ endpoint: url, protocol: "http/json" }, {})
      )
      const sent = Effect.andThen(
        HttpClient.get(`${url}/people/${secrets[0]}?card=4111111111111111#jane`),
        // fetch refuses it, after its span has begun.
        Effect.ignore(HttpClient.get("http://olga:s3cr@t@other.test:1/people"))
      )
      yield* Effect.withSpan(sent, "execute_tool pay", { root: true }).pipe(
        Effect.provide(Layer.merge(FetchHttpClient.layer, exporters)),
        Effect.scoped
      )
      const spans = posted.filter(({ path }) => path === "/v1/traces")
      const all = spans.map(({ body }) => body.toString()).join("\n")
      assert.include(all, `"${url}/people/[e-mail]"`)
      assert.include(all, '"http://other.test:1/people"')
      for (const part of ["jane", "4111", '"http://olga']) assert.notInclude(all, part)
    }).pipe(Effect.scoped)
  )
})

/** Takes requests and answers none of them, or begins an answer. */
const hanging = (begins: boolean) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly url: string
      readonly counts: { open: number; most: number; all: number }
      readonly end: () => void
    }>((resume) => {
      const counts = { open: 0, most: 0, all: 0 }
      const server = createServer((request, response) => {
        if (request.url !== "/v1/traces") return void response.end()
        counts.all++
        counts.most = Math.max(counts.most, ++counts.open)
        response.on("close", () => void counts.open--)
        request.resume()
        if (begins) response.write("{")
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const end = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, counts, end }))
      })
    }),
    ({ end }) => Effect.sync(end)
  )

const spansOf = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.withSpan(Effect.void, "sent", { root: true }),
    { discard: true }
  )

describe("a collector that takes nothing", () => {
  it.live.each([
    ["for good", 401, ["Warn the collector does not take traces: it answers 401"]],
    [
      "for a moment",
      503,
      [
        "Warn the collector does not take traces: it answers 503",
        "Info the collector takes traces again"
      ]
    ]
  ] as const)(
    "%s is reported once, without its address, and when it does again",
    ([, first, said]) =>
      Effect.gen(function* () {
        const statuses: Array<number> = [first]
        const server = yield* Effect.acquireRelease(
          Effect.callback<Server>((resume) => {
            const made = createServer((request, response) => {
              request.resume()
              const isOfTraces = request.url?.endsWith("/v1/traces") === true
              response.writeHead(isOfTraces ? (statuses.shift() ?? 200) : 200).end()
            })
            made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
          }),
          (made) => Effect.sync(() => made.close())
        )
        const { port } = server.address() as AddressInfo
        const lines: Array<string> = []
        const logger = Logger.layer([
          Logger.make<unknown, void>(({ logLevel, message }) => {
            lines.push(`${logLevel} ${String(message)}`)
          })
        ])
        const exporters = yield* Effect.promise(() =>
          OpenTelemetry.layer({ endpoint: `http://127.0.0.1:${port}/a-key` }, {})
        )
        yield* Effect.gen(function* () {
          yield* spansOf(1_000)
          yield* eventually(
            Effect.sync(() => lines),
            ({ length }) => length === said.length
          )
          yield* spansOf(1_000)
        }).pipe(Effect.provide(Layer.provide(exporters, logger)), Effect.scoped)
        assert.deepStrictEqual(lines, [...said])
      }).pipe(Effect.scoped)
  )
})

describe("a collector that hangs", () => {
  it.live("holds a bounded number of batches, however many spans there are", () =>
    Effect.gen(function* () {
      const { counts, url } = yield* hanging(false)
      const exporters = yield* Effect.promise(() => OpenTelemetry.layer({ endpoint: url }, {}))
      yield* Effect.gen(function* () {
        // A batch is a thousand.
        for (let batch = 0; batch < 30; batch++) {
          yield* spansOf(1_000)
          yield* Effect.yieldNow
        }
        yield* eventually(
          Effect.sync(() => counts),
          ({ open }) => open >= 8
        )
        // Also when those that were refused are tried again.
        yield* Effect.sleep(1_500)
        assert.strictEqual(counts.most, 8)
      }).pipe(Effect.provide(exporters), Effect.scoped)
    }).pipe(Effect.scoped)
  )

  it.live("keeps a stop for 3 s at most, whatever the variables of its requests say", () =>
    Effect.gen(function* () {
      const { url } = yield* hanging(false)
      const exporters = yield* Effect.promise(() =>
        OpenTelemetry.layer(
          { endpoint: url },
          {
            OTEL_EXPORTER_OTLP_TIMEOUT: "20000",
            OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "20000",
            OTEL_BSP_EXPORT_TIMEOUT: "20000"
          }
        )
      )
      const begun = performance.now()
      yield* Effect.scoped(Effect.provide(spansOf(1), exporters))
      assert.isBelow(performance.now() - begun, 8_000)
    }).pipe(Effect.scoped)
  )

  it.live.each([
    ["before it answers", false],
    ["in the middle of its answer", true]
  ] as const)("%s is given up in time, and its connection closed", ([, begins]) =>
    Effect.gen(function* () {
      const { counts, url } = yield* hanging(begins)
      const exporters = yield* Effect.promise(() =>
        OpenTelemetry.layer({ endpoint: url }, { OTEL_EXPORTER_OTLP_TIMEOUT: "200" })
      )
      yield* Effect.gen(function* () {
        yield* spansOf(1_000)
        yield* eventually(
          Effect.sync(() => counts),
          ({ all, open }) => all >= 1 && open === 0
        )
      }).pipe(Effect.provide(exporters), Effect.scoped)
    }).pipe(Effect.scoped)
  )
})

describe("a worker", () => {
  it.live(
    "tells of the calls that it runs, in the trace of their run and beneath the span that calls",
    () =>
      Effect.gen(function* () {
        const url = yield* EmbeddedPostgres.database
        const spans: Record<"runtime" | "worker", Array<ReadableSpan>> = { runtime: [], worker: [] }
        const keeping = (whose: "runtime" | "worker"): SpanProcessor => ({
          onStart: () => {},
          onEnd: (span) => void spans[whose].push(span),
          forceFlush: () => Promise.resolve(),
          shutdown: () => Promise.resolve()
        })
        const store = { postgres: url }
        const sdkOf = (whose: "runtime" | "worker") => ({
          sdk: () => ({ spanProcessor: keeping(whose) })
        })
        const worker = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startWorker({ tools: [tool(pay, breaks)], store, telemetry: sdkOf("worker") })
          ),
          (made) => Effect.promise(() => made.stop())
        )
        const troupe = yield* Effect.acquireRelease(
          Effect.promise(() =>
            start({
              agents: [shop],
              tools: [remote(pay)],
              model: model(),
              store,
              telemetry: sdkOf("runtime")
            })
          ),
          (made) => Effect.promise(() => made.stop())
        )
        yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay" }))
        yield* Effect.promise(() => worker.stop())
        const calls = (all: ReadonlyArray<ReadableSpan>) =>
          all.filter(({ name }) => name === "execute_tool pay")
        const [calling] = calls(spans.runtime)
        const [ran] = calls(spans.worker)
        assert.isDefined(calling)
        assert.isDefined(ran)
        assert.strictEqual(ran!.spanContext().traceId, calling!.spanContext().traceId)
        assert.strictEqual(ran!.parentSpanContext?.spanId, calling!.spanContext().spanId)
        const all = JSON.stringify(ran!.events)
        assert.include(all, "no mail to [e-mail]")
        for (const secret of secrets) assert.notInclude(all, secret)
      }).pipe(Effect.scoped),
    30_000
  )
})

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const caller = "00f067aa0ba902b7"
const tracestate = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
const message = { agent: "shop", text: "Pay", traceparent: `00-${trace}-${caller}-01`, tracestate }
const olga = new Principal({ id: "olga", tenant: Tenant.make("default"), roles: ["admin"] })
const said = /waiting (\{.*\})/

for (const [engine, home] of Homes.both) {
  it.live(
    `kill -9 on ${engine}: a run that waits for a person goes on in its caller's trace, with the state of that`,
    () =>
      Effect.gen(function* () {
        const store = yield* home
        const sent = yield* collector
        const named = (name: string) => spansIn(sent).filter((span) => span.name.startsWith(name))
        const child = yield* Children.start(
          "test/process/traced.ts",
          [JSON.stringify(store), JSON.stringify(message), sent.url],
          { OTEL_BSP_SCHEDULE_DELAY: "100" }
        )
        yield* child.printed(said)
        const { question, run } = JSON.parse(said.exec(child.text())?.[1] ?? "")
        // The span that sent it reaches the collector before the process is killed.
        yield* eventually(
          Effect.sync(() => named("AgentRuntime.send").length),
          (count) => count === 1
        )
        yield* child.kill
        const before = spansIn(sent).length
        yield* Effect.promise(async () => {
          const troupe = await start({
            ...options(sent.url),
            store: store as { readonly directory: string }
          })
          try {
            await troupe.decide(question, { _tag: "Approve" }, olga)
            assert.strictEqual((await troupe.result(run, olga)).status, "complete")
            const [first] = await troupe.runEvents(run, {}, olga)
            assert.deepInclude(first?.event, { trace_id: trace, tracestate })
          } finally {
            await troupe.stop()
          }
        })
        const all = spansIn(sent)
        const later = all.slice(before)
        for (const name of ["invoke_agent shop", "approval.wait", "execute_tool pay", "chat"]) {
          assert.isTrue(
            later.some((span) => span.name === name),
            name
          )
        }
        for (const { name, traceId } of all) assert.strictEqual(traceId, trace, name)
        assert.strictEqual(named("AgentRuntime.send")[0]?.parentSpanId, caller)
        // What was open in the process that was killed is lost, and nothing of the next one hangs on it.
        const known = all.map(({ spanId }) => spanId)
        for (const { name, parentSpanId } of later) assert.include(known, parentSpanId, name)
        for (const leg of named("invoke_agent")) {
          const values = leg.attributes.flatMap(({ key, value }) =>
            key === "w3c.tracestate" ? [value.stringValue] : []
          )
          assert.deepStrictEqual(values, [tracestate])
        }
      }).pipe(Effect.scoped),
    120_000
  )
}
