/**
 * The configuration of SemStreams' tool component, with its names and defaults. Here it sets which tools run, which of them a
 * person approves first, and how long and how often a call may try. Settings of another transport (ports, streams, buckets) are
 * accepted, as SemStreams accepts them, but nothing is connected by them.
 */
import { Effect, Result, Schema } from "effect"
import type { Policy } from "../permission/Policy.ts"
import { configuredSpec } from "../tool/Governance.ts"
import type { GovernedTool, MisdeclaredTool } from "../tool/GovernedTool.ts"
import { RetryPolicy, retryPolicyOf } from "../tool/RetryPolicy.ts"
import { read_only_groups } from "../tool/ToolGroup.ts"
import type { ToolGroup } from "../tool/ToolGroup.ts"
import { timeoutMs } from "./ToolTimeout.ts"
import { timeout_ms_default } from "../tool/ToolSpec.ts"
import { consumerNameForSubject } from "../queue/CallMessage.ts"

const Port = Schema.Struct({
  name: Schema.NonEmptyString,
  subjects: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1)),
  stream_name: Schema.optionalKey(Schema.String)
})

/** A component with an empty direction would receive no calls, or publish no results. */
const Direction = Schema.Array(Port).check(
  Schema.isMinLength(1, { expected: "at least one port; leave ports out to have the defaults" })
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

const { retry_on_kinds } = RetryPolicy.fields

const Count = Schema.Int.check(Schema.isLessThanOrEqualTo(100))
const Milliseconds = Schema.Int.check(Schema.isLessThanOrEqualTo(3_600_000))

/** `max_attempts` below 1 counts as 1, and a wait that is not positive counts as the default. */
const Retries = Schema.Record(
  Schema.String,
  Schema.Struct({
    max_attempts: Schema.optionalKey(Count),
    backoff_initial_ms: Schema.optionalKey(Milliseconds),
    backoff_max_ms: Schema.optionalKey(Milliseconds),
    retry_on_kinds: Schema.optionalKey(retry_on_kinds)
  })
)

const otherwise = <S extends Schema.Top & Schema.WithoutConstructorDefault>(
  schema: S,
  value: S["Encoded"]
) => schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(value)))

const Names = Schema.Array(Schema.NonEmptyString)

export const ComponentConfig = Schema.Struct({
  ports: otherwise(Ports, ports_default),
  stream_name: otherwise(Schema.String, "AGENT"),
  consumer_name_suffix: otherwise(Schema.String, ""),
  delete_consumer_on_stop: otherwise(Schema.Boolean, false),
  /** The timeout of one attempt, as a Go duration. */
  timeout: otherwise(Timeout, "60s"),
  /** The tools that may run. Null and an empty list allow every tool. */
  allowed_tools: otherwise(Schema.NullOr(Names), null),
  approval_required: otherwise(Names, []),
  enable_categories: otherwise(Schema.Boolean, false),
  loops_bucket: otherwise(Schema.String, "AGENT_LOOPS"),
  tool_retries: otherwise(Retries, {})
})
export interface ComponentConfig extends Schema.Schema.Type<typeof ComponentConfig> {}

/** Decodes a configuration. Fails with the issue of each wrong field; an unknown field is refused. */
export const decodeComponentConfig = Schema.decodeUnknownEffect(ComponentConfig, {
  onExcessProperty: "error",
  errors: "all"
})

/** The tools that a component runs, by plain name or key; undefined = all of them. */
export const allowedTools = ({
  allowed_tools
}: ComponentConfig): ReadonlyArray<string> | undefined =>
  allowed_tools === null || allowed_tools.length === 0 ? undefined : allowed_tools

/** The policy, with the tools in the configuration's `approval_required` added to its own: they ask a person too. */
export const withApprovals = (config: ComponentConfig, policy: Policy): Policy =>
  config.approval_required.length === 0
    ? policy
    : {
        ...policy,
        approval_required: [...policy.approval_required, ...config.approval_required]
      }

/** The timeout of one attempt for tools that declare none, in ms. */
const timeoutOf = ({ timeout }: ComponentConfig): number =>
  Result.getOrElse(timeoutMs(timeout), () => timeout_ms_default)

/**
 * A tool with the component's retry policy and timeout. A tool that declares a timeout other than the default keeps it. Fails if
 * the policy would repeat a side effect.
 */
export const configuredTool = <R>(
  config: ComponentConfig,
  tool: GovernedTool<R>
): Effect.Effect<GovernedTool<R>, MisdeclaredTool> => {
  const { name, timeout_ms } = tool.spec
  const retry = Object.hasOwn(config.tool_retries, name) ? config.tool_retries[name] : undefined
  const given = {
    ...(timeout_ms === timeout_ms_default ? { timeout_ms: timeoutOf(config) } : undefined),
    ...(retry === undefined ? undefined : { retry: retryPolicyOf(retry) })
  }
  return Effect.map(configuredSpec(tool.spec, given), (spec) => ({ ...tool, spec }))
}

/** The names of the consumers of the component's input subjects. */
export const consumersOf = ({ consumer_name_suffix, ports }: ComponentConfig) =>
  ports.inputs.flatMap(({ subjects }) =>
    subjects.map((subject) => consumerNameForSubject(subject, consumer_name_suffix))
  )

/** The `groups` of an agent that only explores; absent unless `enable_categories` is set. */
export const exploringGroups = ({
  enable_categories
}: ComponentConfig): { readonly groups?: ReadonlyArray<ToolGroup> } =>
  enable_categories ? { groups: read_only_groups } : {}
