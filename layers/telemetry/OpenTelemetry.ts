/**
 * Traces, metrics and logs by OpenTelemetry: through the processors of an SDK that the application has, or over OTLP/HTTP
 * without one. Neither is loaded unless it is asked for, and a collector that is away costs no run anything.
 */
import { ConfigProvider, Effect, Layer, Option, Tracer } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { redactSpan } from "./RedactedSpans.ts"

/** Parts of an OpenTelemetry SDK; needs `@effect/opentelemetry` and the SDK's packages. What is left out is not told. */
export interface SdkParts {
  readonly spanProcessor?: object | ReadonlyArray<object>
  readonly metricReader?: object | ReadonlyArray<object>
  readonly logRecordProcessor?: object | ReadonlyArray<object>
}

/** What is left out is what the standard variables say (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME` and the like). */
export interface Telemetry {
  /** Of an OTLP/HTTP collector; `/v1/traces`, `/v1/metrics` and `/v1/logs` are put behind it. */
  readonly endpoint?: string
  /** Sent with each request, such as a key. Never logged. */
  readonly headers?: Readonly<Record<string, string>>
  readonly protocol?: "http/protobuf" | "http/json"
  /** The service's name; `troupe` where nobody says. */
  readonly service?: string
  /** Of the resource. */
  readonly attributes?: Readonly<Record<string, string>>
  readonly sdk?: () => SdkParts
}

type Env = Readonly<Record<string, string | undefined>>

const signals = ["TRACES", "METRICS", "LOGS"] as const

const listOf = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join(",")

/** The standard variables, with what was given in their place; undefined = nothing is to be sent anywhere. */
export const exporterVariables = (
  given: boolean | Telemetry | undefined,
  env: Env
): Env | undefined => {
  if (given === false || env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return undefined
  const own = typeof given === "object" ? given : {}
  const all: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    // An empty variable is one that is not set.
    if (name.startsWith("OTEL_") && value !== undefined && value.trim() !== "") all[name] = value
  }
  if (own.endpoint !== undefined) all["OTEL_EXPORTER_OTLP_ENDPOINT"] = own.endpoint
  if (own.headers !== undefined) all["OTEL_EXPORTER_OTLP_HEADERS"] = listOf(own.headers)
  if (own.protocol !== undefined) all["OTEL_EXPORTER_OTLP_PROTOCOL"] = own.protocol
  if (own.service !== undefined) all["OTEL_SERVICE_NAME"] = own.service
  if (own.attributes !== undefined) all["OTEL_RESOURCE_ATTRIBUTES"] = listOf(own.attributes)
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

/** A span that nobody hears of, and that none of its children is heard of either. */
const isUnheard = (span: Tracer.AnySpan): boolean => span.sampled === false

/**
 * Begins a trace where somebody asks for something: a request, a message that is sent, a span that says so itself. What a
 * runtime does for itself, such as sweeps and leases, is part of no trace, so that an idle process has none. What errors say
 * is redacted.
 */
export const withRootSpans = (tracer: Tracer.Tracer): Tracer.Tracer => ({
  ...tracer,
  span: (options) => {
    const isHeard = Option.match(options.parent, {
      onNone: () => options.root || options.kind === "server" || options.kind === "producer",
      onSome: (parent) => !isUnheard(parent)
    })
    return isHeard
      ? redactSpan(tracer.span(options))
      : new Tracer.NativeSpan({ ...options, sampled: false })
  }
})

const rootedOver = <A, E>(layer: Layer.Layer<A, E>): Layer.Layer<never, E> =>
  Layer.unwrap(
    Effect.withFiber((fiber) =>
      Effect.succeed(
        fiber.cache.tracer === undefined
          ? Layer.empty
          : Layer.succeed(Tracer.Tracer, withRootSpans(fiber.cache.tracer))
      )
    )
  ).pipe(Layer.provideMerge(layer)) as Layer.Layer<never, E>

/** Over OTLP/HTTP. What the variables say wrongly is said in the log, and nothing is sent. */
const otlp = async (env: Env): Promise<Layer.Layer<never>> => {
  const { Otlp, OtlpSerialization } = await import("effect/observability")
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
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(
      ConfigProvider.layer(ConfigProvider.fromEnv({ env: env as Record<string, string> }))
    ),
    // Not its text: a variable may hold a key.
    Layer.catchCause(() =>
      Layer.effectDiscard(
        Effect.logWarning(
          "telemetry is off: a variable whose name begins with OTEL_ cannot be read"
        )
      )
    )
  )
  return Layer.merge(rootedOver(exporters), said)
}

/** Through an SDK's own parts. */
const sdk = async (parts: () => SdkParts, env: Env): Promise<Layer.Layer<never>> => {
  const NodeSdk = await import("@effect/opentelemetry/NodeSdk")
  const serviceName = env["OTEL_SERVICE_NAME"] ?? "troupe"
  const configured = NodeSdk.layer(() => ({
    loggerMergeWithExisting: true,
    resource: { serviceName },
    ...(parts() as object)
  }))
  return rootedOver(configured)
}

/** Does the application have a tracer provider of its own, which everybody in the process shares? */
const hasGlobal = async (): Promise<boolean> => {
  const api = await import("@opentelemetry/api").catch(() => undefined)
  const provider = api?.trace.getTracerProvider()
  if (api === undefined || provider === undefined) return false
  const given = provider instanceof api.ProxyTracerProvider ? provider.getDelegate() : provider
  return given.constructor.name !== "NoopTracerProvider"
}

/**
 * What is told, and to whom: the SDK's parts that were given; else, where anything was given, the provider that the
 * application registered, for its traces; else the collector that was given or that the variables name; else nobody.
 */
export const layer = async (
  given: boolean | Telemetry | undefined,
  env: Env
): Promise<Layer.Layer<never>> => {
  const told = exporterVariables(given, env)
  if (told === undefined) return Layer.empty
  if (typeof given === "object" && given.sdk !== undefined) return sdk(given.sdk, told)
  const isGiven = typeof given === "object" && given.endpoint !== undefined
  if (given !== undefined && !isGiven && (await hasGlobal())) {
    const { layerGlobal } = await import("@effect/opentelemetry/OtelTracer")
    const traces = rootedOver(layerGlobal)
    // Its metrics and logs have no place where others can put theirs.
    const isNamed = exporterVariables(undefined, env) !== undefined
    return isNamed
      ? Layer.merge(traces, await otlp({ ...told, OTEL_TRACES_EXPORTER: "none" }))
      : traces
  }
  return otlp(told)
}
