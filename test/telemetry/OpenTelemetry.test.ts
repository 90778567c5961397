/** What leaves the process by OpenTelemetry: one tree of spans for a run, and three signals at a collector. */
import { assert, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { InMemoryLogRecordExporter, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs"
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader
} from "@opentelemetry/sdk-metrics"
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Logger } from "effect"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as OpenTelemetry from "../../layers/telemetry/OpenTelemetry.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { InvalidInput } from "../../src/schema/InvalidInput.ts"
import * as Homes from "../process/Homes.ts"
import { inLongForm } from "../InLongForm.ts"

const pay = tool({ namespace: "shop", name: "pay", side_effects: "external" }, () => "paid")
const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Pay.", tools: ["pay"] })
const boss = new Principal({ id: "boss", tenant: service_principal.tenant, roles: ["approver"] })

const model = () =>
  ScriptedModelGateway.layer(({ transcript }) =>
    transcript.some(({ role }) => role === "tool") ? text("done") : call("pay", {})
  )

/** Spans that have ended, kept for longer than an SDK. */
const keeping = () => {
  const spans: Array<ReadableSpan> = []
  const processor: SpanProcessor = {
    onStart: () => {},
    onEnd: (span) => void spans.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve()
  }
  return { spans, processor }
}

const started = (options: Partial<Options>) =>
  Effect.acquireRelease(
    Effect.promise(() => start({ agents: [shop], tools: [pay], model: model(), ...options })),
    (troupe) => Effect.promise(() => troupe.stop())
  )

/** Waits for the question of a conversation, or for its end. */
const until = (
  troupe: Effect.Success<ReturnType<typeof started>>,
  conversation: string,
  tag: string
) =>
  Effect.promise(async () => {
    for await (const item of troupe.watch(conversation)) {
      if (item._tag === "Event" && item.entry.event._tag === tag) return
    }
  })

describe("spans", () => {
  inLongForm(
    "of a run that waits for a person over a restart are one tree, whose root is who sent it",
    () =>
      Effect.gen(function* () {
        const store = yield* Homes.durable
        const { processor, spans } = keeping()
        const options = {
          store,
          telemetry: { sdk: () => ({ spanProcessor: processor }) }
        }
        const first = yield* Effect.promise(() =>
          start({ agents: [shop], tools: [pay], model: model(), ...options })
        )
        const { conversation, run } = yield* Effect.promise(() =>
          first.send({ agent: "shop", text: "Pay" })
        )
        yield* until(first, conversation, "ApprovalRequested")
        yield* Effect.promise(() => first.stop())
        const second = yield* started(options)
        const [asked] = yield* Effect.promise(() => second.pending(boss))
        yield* Effect.promise(() => second.decide(asked!.id, { _tag: "Approve" }, boss))
        yield* until(second, conversation, "RunEnded")
        yield* Effect.promise(() => second.stop())

        const item = spans.find(({ name }) => name === "AgentRuntime.send")
        assert.isDefined(item)
        assert.isUndefined(item!.parentSpanContext)
        const { traceId } = item!.spanContext()
        const known = new Map(spans.map((span) => [span.spanContext().spanId, span]))
        for (const span of spans) {
          const parent = span.parentSpanContext?.spanId
          if (span !== item) assert.isDefined(parent, `${span.name} has no parent`)
          if (parent !== undefined) assert.isTrue(known.has(parent), `${span.name} has a phantom`)
          assert.strictEqual(span.spanContext().traceId, traceId, span.name)
        }
        const named = (prefix: string) => spans.filter(({ name }) => name.startsWith(prefix))
        const legs = named("invoke_agent shop")
        assert.isAtLeast(legs.length, 2)
        const ids = legs.map((leg) => leg.spanContext().spanId)
        for (const leg of legs) {
          assert.strictEqual(leg.parentSpanContext?.spanId, item!.spanContext().spanId)
          assert.strictEqual(leg.attributes["troupe.run_id"], run)
        }
        assert.strictEqual(named("chat").length, 2)
        assert.strictEqual(named("execute_tool pay").length, 1)
        assert.strictEqual(named("approval.wait").length, 1)
        for (const span of [
          ...named("chat"),
          ...named("execute_tool"),
          ...named("approval.wait")
        ]) {
          assert.include(ids, span.parentSpanContext?.spanId, span.name)
        }
        assert.strictEqual(named("approval.wait")[0]?.attributes["gen_ai.tool.name"], "pay")
      }).pipe(Effect.scoped)
  )

  it.live("of an idle process there are none", () =>
    Effect.gen(function* () {
      const { processor, spans } = keeping()
      const troupe = yield* started({ telemetry: { sdk: () => ({ spanProcessor: processor }) } })
      yield* Effect.promise(() => troupe.stop())
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        []
      )
    }).pipe(Effect.scoped)
  )

  it.live("have the service and the attributes that the option names, through an SDK too", () =>
    Effect.gen(function* () {
      const { processor, spans } = keeping()
      const troupe = yield* started({
        telemetry: {
          service: "till",
          attributes: { "deployment.environment.name": "the shop, 2nd floor" },
          sdk: () => ({ spanProcessor: processor })
        }
      })
      yield* Effect.promise(() => troupe.send({ agent: "shop", text: "Pay" }))
      yield* Effect.promise(() => troupe.stop())
      assert.deepInclude(spans[0]?.resource.attributes, {
        "service.name": "till",
        "deployment.environment.name": "the shop, 2nd floor"
      })
    }).pipe(Effect.scoped)
  )

  it.live("of a tool that breaks have its exception", () =>
    Effect.gen(function* () {
      const { processor, spans } = keeping()
      const bad = tool({ namespace: "shop", name: "pay", side_effects: "read" }, () => {
        throw new TypeError("the till is jammed")
      })
      const troupe = yield* started({
        tools: [bad],
        telemetry: { sdk: () => ({ spanProcessor: processor }) }
      })
      yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay" }))
      const span = spans.find(({ name }) => name === "execute_tool pay")
      const event = span?.events.find(({ name }) => name === "exception")
      assert.strictEqual(event?.attributes?.["exception.message"], "the till is jammed")
    }).pipe(Effect.scoped)
  )

  it.live("go with metrics and logs to the parts of an SDK", () =>
    Effect.gen(function* () {
      const { processor, spans } = keeping()
      const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
      const logs = new InMemoryLogRecordExporter()
      const reader = new PeriodicExportingMetricReader({
        exporter: metrics,
        exportIntervalMillis: 3_600_000
      })
      const bad = tool({ namespace: "shop", name: "pay", side_effects: "read" }, () => {
        throw new TypeError("the till is jammed")
      })
      const troupe = yield* started({
        tools: [bad],
        telemetry: {
          sdk: () => ({
            spanProcessor: processor,
            metricReader: reader,
            logRecordProcessor: new SimpleLogRecordProcessor(logs)
          })
        }
      })
      yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay" }))
      assert.isNotEmpty(spans)
      const said = logs.getFinishedLogRecords().map(({ body }) => String(body))
      assert.include(said, "a tool broke")
      yield* Effect.promise(() => reader.forceFlush())
      const names = metrics
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
        .map(({ descriptor }) => descriptor.name)
      assert.include(names, "troupe_outbox_delivered_total")
    }).pipe(Effect.scoped)
  )
})

/** What a collector reads of a span. */
interface Sent {
  readonly name: string
  readonly spanId: string
  readonly parentSpanId?: string
}

interface Posted {
  readonly path: string
  readonly key: string | undefined
  readonly body: string
}

/** A collector on this machine that keeps what it is sent. */
const collector = Effect.acquireRelease(
  Effect.callback<{
    readonly posted: Array<Posted>
    readonly url: string
    readonly end: () => void
  }>((resume) => {
    const posted: Array<Posted> = []
    const server = createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => (body += String(chunk)))
      request.on("end", () => {
        posted.push({ path: request.url!, key: request.headers["x-key"] as string, body })
        response.end("{}")
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

describe("a collector", () => {
  it.effect("whose address is none is named by its variable in the log, without the value", () => {
    const said: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void said.push(String(message)))
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "a key" }
    return Effect.gen(function* () {
      yield* Layer.build(yield* Effect.promise(() => OpenTelemetry.layer(undefined, env)))
      assert.deepStrictEqual(said, ["telemetry is off: OTEL_EXPORTER_OTLP_ENDPOINT cannot be read"])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.live(
    "gets a run's spans, metrics and logs when the runtime has stopped, with the headers",
    () =>
      Effect.gen(function* () {
        const { posted, url } = yield* collector
        const bad = tool({ namespace: "shop", name: "pay", side_effects: "read" }, () => {
          throw new TypeError("the till is jammed")
        })
        const troupe = yield* started({
          tools: [bad],
          telemetry: {
            endpoint: url,
            headers: { "x-key": "a key" },
            protocol: "http/json",
            service: "till"
          }
        })
        yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay" }))
        yield* Effect.promise(() => troupe.stop())
        const of = (path: string) =>
          posted
            .filter((each) => each.path === path)
            .map(({ body }) => body)
            .join()
        assert.include(of("/v1/traces"), "invoke_agent shop")
        assert.include(of("/v1/traces"), '"till"')
        assert.include(of("/v1/logs"), "a tool broke")
        assert.include(of("/v1/metrics"), "troupe_outbox_delivered_total")
        for (const { key } of posted) assert.strictEqual(key, "a key")
        // The key went with the requests, and is in none of them.
        assert.notInclude(posted.map(({ body }) => body).join(), "a key")
      }).pipe(Effect.scoped)
  )

  it.live(
    "gets statements of SQL only where `sql` is true, and else what is below them from above",
    () =>
      Effect.gen(function* () {
        const store = yield* Homes.durable
        const book = tool(
          {
            namespace: "shop",
            name: "pay",
            side_effects: "write",
            transactional: true,
            permission: "allow"
          },
          // As a transaction of `effect/sql` that the body makes.
          () =>
            Effect.succeed("paid").pipe(Effect.withSpan("book"), Effect.withSpan("sql.transaction"))
        )
        /** The spans of a run in a trace of its own, by an endpoint or an SDK. */
        const spansOf = Effect.fnUntraced(function* (through: "otlp" | "sdk", sql?: boolean) {
          const { posted, url } = yield* collector
          const { processor, spans } = keeping()
          const where =
            through === "sdk"
              ? { sdk: () => ({ spanProcessor: processor }) }
              : ({ endpoint: url, protocol: "http/json" } as const)
          const troupe = yield* started({
            store,
            tools: [book],
            telemetry: { ...where, ...(sql === undefined ? {} : { sql }) }
          })
          yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay" }))
          yield* Effect.promise(() => troupe.stop())
          const kept = spans.map((span): Sent => {
            const parent = span.parentSpanContext?.spanId
            const { spanId } = span.spanContext()
            return { name: span.name, spanId, ...(parent && { parentSpanId: parent }) }
          })
          const read = posted
            .filter(({ path }) => path === "/v1/traces")
            .flatMap(({ body }) => JSON.parse(body).resourceSpans)
            .flatMap(({ scopeSpans }) => scopeSpans)
            .flatMap(({ spans }): ReadonlyArray<Sent> => spans)
          const all = [...kept, ...read]
          const known = new Map(all.map((span) => [span.spanId, span.name]))
          return all.map(({ name, parentSpanId }) =>
            parentSpanId === undefined ? name : `${known.get(parentSpanId)} > ${name}`
          )
        })
        for (const through of ["otlp", "sdk"] as const) {
          for (const off of [undefined, false]) {
            assert.sameMembers(yield* spansOf(through, off), [
              "AgentRuntime.send",
              "AgentRuntime.send > TaskStore.accept",
              "AgentRuntime.send > invoke_agent shop",
              "invoke_agent shop > chat",
              "invoke_agent shop > chat",
              "invoke_agent shop > execute_tool pay",
              "execute_tool pay > book"
            ])
          }
          const all = yield* spansOf(through, true)
          assert.include(all, "sql.transaction > book")
          assert.include(all, "invoke_agent shop > postgresql")
        }
      }).pipe(Effect.scoped)
  )

  it.live("that is away costs no run anything", () =>
    Effect.gen(function* () {
      const read = tool({ namespace: "shop", name: "pay", side_effects: "read" }, () => "paid")
      const troupe = yield* started({
        tools: [read],
        telemetry: { endpoint: "http://127.0.0.1:1" }
      })
      const ended = yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay" }))
      assert.strictEqual(ended.status, "complete")
    }).pipe(Effect.scoped)
  )

  it.live("with a malformed endpoint in a variable does not keep the service from running", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "nowhere"
        }),
        () =>
          Effect.sync(() => {
            delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]
          })
      )
      const troupe = yield* started({})
      assert.isDefined(yield* Effect.promise(() => troupe.runs()))
    }).pipe(Effect.scoped)
  )

  it.live("with a malformed endpoint as an option is refused at the start", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(
        Effect.tryPromise({
          try: () =>
            start({
              agents: [shop],
              tools: [pay],
              model: model(),
              telemetry: { endpoint: "nowhere" }
            }),
          catch: (error) => error as InvalidInput
        })
      )
      assert.strictEqual(refused._tag, "InvalidInput")
      assert.match(refused.field, /^telemetry/)
    })
  )
})

describe("the standard variables", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }

  it("name a collector, or nothing is sent", () => {
    assert.isUndefined(OpenTelemetry.exporterVariables(undefined, {}))
    assert.isUndefined(OpenTelemetry.exporterVariables(undefined, { OTEL_SERVICE_NAME: "till" }))
    assert.isUndefined(
      OpenTelemetry.exporterVariables(undefined, { OTEL_EXPORTER_OTLP_ENDPOINT: " " })
    )
    assert.isDefined(OpenTelemetry.exporterVariables(undefined, endpoint))
    assert.isDefined(
      OpenTelemetry.exporterVariables(undefined, { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://c/l" })
    )
  })

  it("turn it off, as the option does", () => {
    assert.isUndefined(
      OpenTelemetry.exporterVariables(undefined, { ...endpoint, OTEL_SDK_DISABLED: "TRUE" })
    )
    assert.isUndefined(
      OpenTelemetry.exporterVariables(true, { ...endpoint, OTEL_SDK_DISABLED: "true" })
    )
    assert.isUndefined(OpenTelemetry.exporterVariables(false, endpoint))
  })

  it("have the defaults of OpenTelemetry, and a signal of its own may be none", () => {
    const all = OpenTelemetry.exporterVariables(true, { OTEL_LOGS_EXPORTER: "none", SECRET: "s" })
    assert.deepStrictEqual(all, {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318",
      OTEL_LOGS_EXPORTER: "none",
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_SERVICE_NAME: "troupe"
    })
    const named = OpenTelemetry.exporterVariables(undefined, {
      ...endpoint,
      OTEL_RESOURCE_ATTRIBUTES: "service.name=till"
    })
    assert.notProperty(named, "OTEL_SERVICE_NAME")
  })
})
