/**
 * What governs a tool: identity, schemas, side effects, and everything that follows from them. `side_effects` is the
 * one stored fact; category, replay policy, default permission and loss policy are derived from it and may be
 * overridden.
 */
import { Schema } from "effect"
import { Role } from "../Principal.ts"

export const SideEffects = Schema.Literals(["none", "read", "write", "external"])
export type SideEffects = typeof SideEffects.Type

export const ReplayPolicy = Schema.Literals(["must-stub", "fail-loud", "recorded-result"])
export type ReplayPolicy = typeof ReplayPolicy.Type

/** `suggest` is a write that only proposes (`produces: "proposal"`). */
export const ToolCategory = Schema.Literals(["read", "suggest", "mutate"])
export type ToolCategory = typeof ToolCategory.Type

export const Permission = Schema.Literals(["allow", "ask", "deny"])
export type Permission = typeof Permission.Type

/** What a call becomes when its dispatch is lost: sent again with the same key, or unknown until somebody says. */
export const OnLoss = Schema.Literals(["again", "unknown"])
export type OnLoss = typeof OnLoss.Type

const ModelName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { description: "1 to 64 letters, digits, _ or -" })
)

/** The greatest timeout of one attempt: an hour. */
const TimeoutMs = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 }))

export const ToolSpec = Schema.Struct({
  namespace: ModelName,
  name: ModelName,
  version: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9._-]{1,64}$/)),
  description: Schema.String.check(Schema.isMaxLength(4_000)),
  /** JSON Schema (2020-12) of the arguments, as the model sees it. */
  input_schema: Schema.Record(Schema.String, Schema.Json),
  /** JSON Schema of the result; never sent to the model. */
  output_schema: Schema.Record(Schema.String, Schema.Json),
  side_effects: SideEffects,
  replay_policy: ReplayPolicy,
  category: ToolCategory,
  /** `allow`, `ask` or `deny` when the tool itself says so; absent = the category decides (mutate asks). */
  permission: Schema.optionalKey(Permission),
  /** Who may decide when the tool asks; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  /** How long a question waits, in ms; absent = for ever (D5). */
  approval_expires_ms: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** Says to a person what will happen, before the arguments are read. */
  effect_description: Schema.String.check(Schema.isMaxLength(1_000)),
  /** The tool honours the key that the runtime gives it: the same key twice is one effect. */
  idempotent: Schema.Boolean,
  /** The body runs in the journal's transaction and commits with its event; SQL only through the runtime's client. */
  transactional: Schema.Boolean,
  timeout_ms: TimeoutMs,
  /** A result of this tool is the answer: no turn follows the step that it was called in (SM-20). A failure stops nothing. */
  stop_loop: Schema.optionalKey(Schema.Boolean),
  /** The greatest encoded result in bytes; a larger one is refused as terminal. */
  result_bytes_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64_000_000 }))
})
export interface ToolSpec extends Schema.Schema.Type<typeof ToolSpec> {}

/** SemStreams' default for one attempt. */
export const timeout_ms_default = 60_000
/** A transactional body holds the run's head row, so it is bounded more tightly. */
export const transaction_ms_max = 5_000
/** The raw cap of a result (DESIGN 5). */
export const result_bytes_default = 4_000_000
/** What the model sees of a result (SM-94). */
export const model_copy_bytes_max = 32_768

export const keyOf = (spec: Pick<ToolSpec, "namespace" | "name" | "version">): string =>
  `${spec.namespace}.${spec.name}@${spec.version}`

export const replayPolicyOf = (effects: SideEffects): ReplayPolicy =>
  effects === "none" || effects === "read" ? "recorded-result" : "must-stub"

export const categoryOf = (effects: SideEffects, produces?: "proposal"): ToolCategory =>
  effects === "none" || effects === "read" ? "read" : produces === "proposal" ? "suggest" : "mutate"

/** Only a mutation asks, unless the tool says otherwise (SA-23 to SA-25). */
export const permissionOf = (spec: Pick<ToolSpec, "permission" | "category">): Permission =>
  spec.permission ?? (spec.category === "mutate" ? "ask" : "allow")

/** Does a dispatch have to be journaled before the body runs? */
export const isDispatched = (spec: Pick<ToolSpec, "side_effects">): boolean =>
  spec.side_effects === "write" || spec.side_effects === "external"

export const onLossOf = (spec: Pick<ToolSpec, "idempotent">): OnLoss =>
  spec.idempotent ? "again" : "unknown"
