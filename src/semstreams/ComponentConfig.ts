/**
 * The configuration of SemStreams' tool component, with its names and its defaults, and what of it a worker here needs.
 * What belongs to another transport (ports and streams) is read and checked, so that a file that is right there is right
 * here.
 */
import { Effect, Result, Schema } from "effect"
import { RetryPolicy } from "../tool/RetryPolicy.ts"
import { timeoutMs } from "../tool/ToolTimeout.ts"

const Port = Schema.Struct({
  name: Schema.NonEmptyString,
  subjects: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1)),
  stream_name: Schema.optionalKey(Schema.String)
})

/** A direction that is left empty would start a component that hears nothing, or that nobody hears. */
const Direction = Schema.Array(Port).check(
  Schema.isMinLength(1, { description: "at least one port; leave ports out to have the defaults" })
)

const Ports = Schema.Struct({ inputs: Direction, outputs: Direction })

const ports_default: typeof Ports.Type = {
  inputs: [{ name: "tool.execute", subjects: ["tool.execute.>"], stream_name: "AGENT" }],
  outputs: [{ name: "tool.result", subjects: ["tool.result.*"], stream_name: "AGENT" }]
}

const Timeout = Schema.String.check(
  Schema.makeFilter((text) => {
    const read = timeoutMs(text)
    return Result.isSuccess(read) || read.failure
  })
)

const { backoff_initial_ms, backoff_max_ms, max_attempts, retry_on_kinds } = RetryPolicy.fields

const Retries = Schema.Record(
  Schema.String,
  Schema.Struct({
    max_attempts: Schema.optionalKey(max_attempts),
    backoff_initial_ms: Schema.optionalKey(backoff_initial_ms),
    backoff_max_ms: Schema.optionalKey(backoff_max_ms),
    retry_on_kinds: Schema.optionalKey(retry_on_kinds)
  })
)

const otherwise = <S extends Schema.Top & Schema.WithoutConstructorDefault>(
  schema: S,
  value: S["Encoded"]
) => schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(value)))

const Names = Schema.Array(Schema.NonEmptyString)

export const SemStreamsConfig = Schema.Struct({
  ports: otherwise(Ports, ports_default),
  stream_name: otherwise(Schema.String, "AGENT"),
  consumer_name_suffix: otherwise(Schema.String, ""),
  delete_consumer_on_stop: otherwise(Schema.Boolean, false),
  /** Of one attempt, as a Go duration. */
  timeout: otherwise(Timeout, "60s"),
  /** Null and empty allow every tool. */
  allowed_tools: otherwise(Schema.NullOr(Names), null),
  approval_required: otherwise(Names, []),
  enable_categories: otherwise(Schema.Boolean, false),
  loops_bucket: otherwise(Schema.String, "AGENT_LOOPS"),
  tool_retries: otherwise(Retries, {})
})
export interface SemStreamsConfig extends Schema.Schema.Type<typeof SemStreamsConfig> {}

/** Fails with what is wrong of each field; a field that there is not is refused. */
export const decodeSemStreamsConfig = Schema.decodeUnknownEffect(SemStreamsConfig, {
  onExcessProperty: "error",
  errors: "all"
})

/** For `ToolWorker.layer`: which tools it runs, and the suffix of its consumers' names. */
export const workerOf = (
  config: SemStreamsConfig
): { readonly serve?: ReadonlyArray<string>; readonly consumer_name_suffix: string } => {
  const { allowed_tools, consumer_name_suffix } = config
  return {
    consumer_name_suffix,
    ...(allowed_tools === null || allowed_tools.length === 0 ? undefined : { serve: allowed_tools })
  }
}
