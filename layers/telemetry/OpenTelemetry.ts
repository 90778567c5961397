/**
 * Traces, metrics and logs by OpenTelemetry: through the processors of an SDK that the application has, or over OTLP/HTTP
 * without one. Neither is loaded unless it is asked for, and a collector that is away costs no run anything.
 */
import { Cause, ConfigProvider, Effect, Exit, Layer, Option, Tracer } from "effect"
import { defined } from "../../src/value/PlainObject.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import type { Exception } from "../../src/error/Exception.ts"
import { exceptionFrom, unreadableException } from "../../src/error/Exception.ts"
import { redact } from "../../src/error/Redaction.ts"

/** The bound on a logged line or cause in a span's event, in UTF-16 units. */
const line_max = 2_000
const cause_max = 8_000

/** The bound on a text of an attribute: some are whatever a client or a provider sends. */
const attribute_max = 1_000

const quotes = (name: string): boolean => name === "effect.cause" || name.startsWith("exception.")

const exceptionOrUnreadable = (cause: Cause.Cause<unknown>): Exception => {
  try {
    return exceptionFrom(cause)
  } catch {
    return unreadableException
  }
}

/** An interruption has no text; other causes become one error whose stack has the chain of causes. */
const redactedExit = <A, E>(exit: Exit.Exit<A, E>): Exit.Exit<A, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const { message, stacktrace, type } = exceptionOrUnreadable(exit.cause)
  const error = new Error(message)
  error.name = type
  error.stack = stacktrace
  return Exit.fail(error)
}

const redactedAttributes = (
  attributes: Record<string, unknown> | undefined
): Record<string, unknown> | undefined =>
  attributes === undefined
    ? undefined
    : Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [
          name,
          quotes(name) && typeof value === "string"
            ? truncateUnits(redact(truncateUnits(value, cause_max)), cause_max)
            : value
        ])
      )

const redactedPath = (path: string): string => redact(truncateUnits(path, attribute_max))

/** The URL up to its query, without a user. Its host and port stay: an address there is a service's, not a person's. */
const redactedUrl = (url: string): string => {
  const [, scheme = "", host = "", path = ""] =
    /^(?:([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?([^/?#]*))?([^?#]*)/i.exec(url) ?? []
  return scheme + host + redactedPath(path)
}

const boundedValue = (name: string, value: unknown): unknown => {
  if (typeof value !== "string") return value
  if (name === "url.path") return redactedPath(value)
  return truncateUnits(name === "url.full" ? redactedUrl(value) : value, attribute_max)
}

/** As the log: exporters write the message and stack of a failed span, which may quote anything. No query of a URL is kept. */
const redactSpan = <Span extends Tracer.Span>(span: Span): Span => {
  const attribute = span.attribute.bind(span)
  span.attribute = (name, value) => {
    if (name !== "url.query") attribute(name, boundedValue(name, value))
  }
  const end = span.end.bind(span)
  const event = span.event.bind(span)
  span.end = (at, exit) => end(at, redactedExit(exit))
  span.event = (name, at, attributes) =>
    event(
      truncateUnits(redact(truncateUnits(name, line_max)), line_max),
      at,
      redactedAttributes(attributes)
    )
  return span
}

/**
 * Parts of an OpenTelemetry SDK; needs `@effect/opentelemetry` and the SDK's packages. Signals that are left out are
 * not exported.
 */
export interface SdkParts {
  readonly spanProcessor?: object | ReadonlyArray<object>
  readonly metricReader?: object | ReadonlyArray<object>
  readonly logRecordProcessor?: object | ReadonlyArray<object>
}

/** Absent members are read from the standard variables (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME` and so on). */
export interface Telemetry {
  /**
   * The base URL of an OTLP/HTTP collector; `/v1/traces`, `/v1/metrics` and `/v1/logs` are appended. Absent =
   * `OTEL_EXPORTER_OTLP_ENDPOINT`.
   */
  readonly endpoint?: string
  /** Sent with each request, such as a key. Never logged. Absent = `OTEL_EXPORTER_OTLP_HEADERS`. */
  readonly headers?: Readonly<Record<string, string>>
  /** How it is encoded. Absent = `OTEL_EXPORTER_OTLP_PROTOCOL`. */
  readonly protocol?: "http/protobuf" | "http/json"
  /** The service's name. Absent = `OTEL_SERVICE_NAME`, else `troupe`. */
  readonly service?: string
  /** Attributes of the resource. Absent = `OTEL_RESOURCE_ATTRIBUTES`. */
  readonly attributes?: Readonly<Record<string, string>>
  /** Parts of an OpenTelemetry SDK that the application has, in place of OTLP over HTTP. Absent = OTLP. */
  readonly sdk?: () => SdkParts
  /** Whether each SQL statement and transaction has a span, with the statement's text and no values. Absent = false. */
  readonly sql?: boolean
}

type Env = Readonly<Record<string, string | undefined>>

const signals = ["TRACES", "METRICS", "LOGS"] as const

const listOf = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join(",")

/** The standard variables, overridden by the options; undefined = nothing is exported. */
export const exporterVariables = (
  given: boolean | Telemetry | undefined,
  env: Env
): Env | undefined => {
  if (given === false || env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return undefined
  const own: Telemetry = typeof given === "object" ? given : {}
  const all: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    // A blank variable counts as absent.
    if (name.startsWith("OTEL_") && value !== undefined && value.trim() !== "") all[name] = value
  }
  const { attributes, endpoint, headers, protocol, service } = own
  const options = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: headers && listOf(headers),
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_SERVICE_NAME: service,
    OTEL_RESOURCE_ATTRIBUTES: attributes && listOf(attributes)
  }
  Object.assign(all, defined(options))
  const isNamed = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    ...signals.map((signal) => `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`)
  ].some((name) => all[name] !== undefined)
  if (!isNamed && given === undefined) return undefined
  // OpenTelemetry's own defaults.
  if (!isNamed) all["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://localhost:4318"
  for (const signal of signals) all[`OTEL_${signal}_EXPORTER`] ??= "otlp"
  if (!/(^|,)\s*service\.name=/.test(all["OTEL_RESOURCE_ATTRIBUTES"] ?? "")) {
    all["OTEL_SERVICE_NAME"] ??= "troupe"
  }
  return all
}

const isUnheard = (span: Tracer.AnySpan): boolean => span.sampled === false

/** By the names of `effect/sql`: a statement's is what the stores give as `db.system.name`. */
const isSql = ({ kind, name }: { readonly kind: Tracer.SpanKind; readonly name: string }) =>
  name === "sql.transaction" || (name === "postgresql" && kind === "client")

const nothing = { value: () => {} }

/** The parent in place of a span that is left out: what is below has the parent that it would have without the span. */
const leftOut = (parent: Tracer.AnySpan): Tracer.Span =>
  Object.create(parent, {
    // Spans of OTLP draw their ids when these are read first, each object its own.
    traceId: { value: parent.traceId },
    spanId: { value: parent.spanId },
    end: nothing,
    attribute: nothing,
    event: nothing,
    addLinks: nothing
  })

/** Begins traces at requests, sent messages and spans that ask for a root. The runtime's own work, such as sweeps, has no trace. */
const withRootSpans = (tracer: Tracer.Tracer, sql: boolean): Tracer.Tracer => ({
  ...tracer,
  span: (options) => {
    const parent = Option.getOrUndefined(options.parent)
    const isHeard =
      parent === undefined
        ? options.root || options.kind === "server" || options.kind === "producer"
        : !isUnheard(parent)
    if (!isHeard) return new Tracer.NativeSpan({ ...options, sampled: false })
    if (!sql && parent !== undefined && isSql(options)) return leftOut(parent)
    return redactSpan(tracer.span(options))
  }
})

const rootedOver = <A, E>(layer: Layer.Layer<A, E>, sql: boolean): Layer.Layer<never, E> =>
  Layer.unwrap(
    Effect.withFiber((fiber) =>
      Effect.succeed(
        fiber.cache.tracer === undefined
          ? Layer.empty
          : Layer.succeed(Tracer.Tracer, withRootSpans(fiber.cache.tracer, sql))
      )
    )
  ).pipe(Layer.provideMerge(layer)) as Layer.Layer<never, E>

const variablesOf = (env: Env): Layer.Layer<never> =>
  ConfigProvider.layer(ConfigProvider.fromEnv({ env: env as Record<string, string> }))

/** They are about one request, which `CollectorClient` bounds; the exporters would wait so long at a stop. */
const withoutTimeouts = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.endsWith("_TIMEOUT")))

/** The variable that cannot be read, if it is an address; never its value. */
const unreadableVariable = (env: Env): string =>
  Object.keys(env).find((name) => name.endsWith("_ENDPOINT") && !URL.canParse(env[name] ?? "")) ??
  "a variable whose name begins with OTEL_"

/** Exports over OTLP/HTTP. Variables that cannot be read are reported in the log, and nothing is exported. */
const otlp = async (env: Env, sql: boolean): Promise<Layer.Layer<never>> => {
  const { Otlp, OtlpSerialization } = await import("effect/observability")
  const CollectorClient = await import("./CollectorClient.ts")
  const protocol = env["OTEL_EXPORTER_OTLP_PROTOCOL"] ?? "http/protobuf"
  const serialization =
    protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  const said =
    protocol === "http/json" || protocol === "http/protobuf"
      ? Layer.empty
      : Layer.effectDiscard(
          Effect.logWarning("OTEL_EXPORTER_OTLP_PROTOCOL is not supported: http/protobuf is used")
        )
  const exporters = Otlp.layerFromConfig({ loggerMergeWithExisting: true }).pipe(
    Layer.provide(serialization),
    Layer.provide(
      CollectorClient.layer(CollectorClient.timeoutOf(env["OTEL_EXPORTER_OTLP_TIMEOUT"]))
    ),
    Layer.provide(variablesOf(withoutTimeouts(env))),
    // The error's text is not logged: a variable may hold a key.
    Layer.catchCause(() =>
      Layer.effectDiscard(
        Effect.logWarning(`telemetry is off: ${unreadableVariable(env)} cannot be read`)
      )
    )
  )
  return Layer.merge(rootedOver(exporters, sql), said)
}

const sdk = async (parts: () => SdkParts, env: Env, sql: boolean): Promise<Layer.Layer<never>> => {
  const NodeSdk = await import("@effect/opentelemetry/NodeSdk")
  // The resource is that of the variables.
  const configured = NodeSdk.layer(() => ({
    loggerMergeWithExisting: true,
    ...(parts() as object)
  }))
  return rootedOver(Layer.provide(configured, variablesOf(env)), sql)
}

const hasGlobal = async (): Promise<boolean> => {
  const api = await import("@opentelemetry/api").catch(() => undefined)
  const provider = api?.trace.getTracerProvider()
  if (api === undefined || provider === undefined) return false
  const given = provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider
  return given.constructor.name !== "NoopTracerProvider"
}

/**
 * The exporters: the SDK's parts that were given; else, where any option was given, the provider that the application
 * registered, for traces; else the collector of the options or the variables; else none.
 */
export const layer = async (
  given: boolean | Telemetry | undefined,
  env: Env
): Promise<Layer.Layer<never>> => {
  const variables = exporterVariables(given, env)
  if (variables === undefined) return Layer.empty
  const own: Telemetry = typeof given === "object" ? given : {}
  const { sql = false } = own
  if (own.sdk !== undefined) return sdk(own.sdk, variables, sql)
  const isGiven = own.endpoint !== undefined
  if (given !== undefined && !isGiven && (await hasGlobal())) {
    const { layerGlobal } = await import("@effect/opentelemetry/OtelTracer")
    const traces = rootedOver(layerGlobal, sql)
    // The application's provider takes traces only, so metrics and logs go to the collector.
    const isNamed = exporterVariables(undefined, env) !== undefined
    return isNamed
      ? Layer.merge(traces, await otlp({ ...variables, OTEL_TRACES_EXPORTER: "none" }, sql))
      : traces
  }
  return otlp(variables, sql)
}
