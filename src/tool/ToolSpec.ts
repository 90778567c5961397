/**
 * What governs a tool: identity, schemas, side effects, and everything that follows from them. `side_effects` is the one
 * stored fact; what is derived from it may be overridden. Names on the wire are Stargraph's, whose `permissions` are our
 * `capabilities`, because `permission` is the answer allow, ask or deny.
 */
import { Effect, Schema, SchemaTransformation } from "effect"
import { RequestedCapability } from "../capability/Capability.ts"
import { Role } from "../Principal.ts"
import { IdempotencyKey } from "./IdempotencyKey.ts"
import { RetryPolicy } from "./RetryPolicy.ts"
import {
  ApprovalGate,
  categoryOf,
  Permission,
  ReplayPolicy,
  SideEffects,
  ToolCategory
} from "./SideEffects.ts"
import { ToolGroup } from "./ToolGroup.ts"

/**
 * What a call becomes when its dispatch is lost: sent again with the same key, what its tool says when it is asked, or
 * unknown until somebody says.
 */
export const OnLoss = Schema.Literals(["again", "ask", "unknown"])
export type OnLoss = typeof OnLoss.Type

const ModelName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { description: "1 to 64 letters, digits, _ or -" })
)

/** The greatest timeout of one attempt: an hour. */
const TimeoutMs = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 }))

/** An exact amount, never a binary float: the text is kept as it was written, `0.10` as `0.10`. */
export const CostEstimate = Schema.String.check(
  Schema.isPattern(/^\d{1,18}(?:\.\d{1,18})?$/, { description: 'a decimal text such as "0.10"' })
)

/** `calls_max` calls of the tool by one tenant at once, and as many again evenly over each `window_ms`. */
export const RateLimit = Schema.Struct({
  calls_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
  window_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400_000 }))
})
export interface RateLimit extends Schema.Schema.Type<typeof RateLimit> {}

/** After `failures_max` failures in a row the tool is left alone for `open_ms`; then one call tries it. */
export const Circuit = Schema.Struct({
  failures_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  open_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 }))
})
export interface Circuit extends Schema.Schema.Type<typeof Circuit> {}

/** Arguments as a model would give them, and the result that they have. */
export const ToolExample = Schema.Struct({
  input: Schema.Record(Schema.String, Schema.Json),
  output: Schema.optionalKey(Schema.Json),
  note: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1_000)))
})
export interface ToolExample extends Schema.Schema.Type<typeof ToolExample> {}

const RuleArguments = Schema.Array(
  Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
).check(Schema.isMinLength(1), Schema.isMaxLength(16))

const JsonObject = Schema.Record(Schema.String, Schema.Json)
const Text = (most: number) => Schema.String.check(Schema.isMaxLength(most))
const Tag = Schema.String.check(Schema.isPattern(/^\S{1,64}$/, { description: "a word" }))

/** SemStreams' default for one attempt. */
export const timeout_ms_default = 60_000
/** A transactional body holds the run's head row, so it is bounded more tightly. */
export const transaction_ms_max = 5_000
/** The raw cap of a result (DESIGN 5). */
export const result_bytes_default = 4_000_000
/** What the model sees of a result (SM-94). */
export const model_copy_bytes_max = 32_768

const fields = {
  namespace: ModelName,
  name: ModelName,
  /** A free tag, no order is read into it: two versions of one name stand side by side. */
  version: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9._-]{1,64}$/, { description: "1 to 64 letters, digits, . _ or -" })
  ),
  description: Text(4_000),
  /** JSON Schema (2020-12) of the arguments, as the model sees it. */
  input_schema: JsonObject,
  /** JSON Schema of the result; never sent to the model. */
  output_schema: JsonObject,
  side_effects: SideEffects,
  replay_policy: ReplayPolicy,
  /** What the caller must hold, all of them; on the wire `permissions`. */
  capabilities: Schema.Array(RequestedCapability).check(Schema.isMaxLength(32)),
  /** The same text from two calls of one run is one effect (`IdempotencyKey.ts`); null = each call is its own. */
  idempotency_key: Schema.NullOr(IdempotencyKey),
  /** Of one call, in the currency of the ledger; null = nothing is known. */
  cost_estimate: Schema.NullOr(CostEstimate),
  examples: Schema.Array(ToolExample).check(Schema.isMaxLength(16)),
  tags: Schema.Array(Tag).check(Schema.isMaxLength(32)),
  /** Not shown to those who choose tools; whoever names its key may still call it. */
  deprecated: Schema.Boolean,
  category: ToolCategory,
  /** `proposal` makes the tool a suggestion, which asks nobody. */
  produces: Schema.optionalKey(Schema.Literal("proposal")),
  /** Absent = at the call. */
  approval: Schema.optionalKey(ApprovalGate),
  /** `allow`, `ask` or `deny` when the tool itself says so; absent = the category decides (mutate asks). */
  permission: Schema.optionalKey(Permission),
  /** What a rule of a policy reads together, as words: texts and lists of texts. Absent = the first text alone. */
  rule_arguments: Schema.optionalKey(RuleArguments),
  /** Who may decide when the tool asks; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  /** How long a question waits, in ms; absent = for ever (D5). */
  approval_expires_ms: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** Says to a person what will happen, before the arguments are read. */
  effect_description: Text(1_000),
  /** By what an agent's tools are filtered; it grants nothing. */
  group: Schema.optionalKey(ToolGroup),
  /** The tool honours the key that the runtime gives it: the same key twice is one effect. */
  idempotent: Schema.Boolean,
  /** The body runs in the journal's transaction and commits with its event; SQL only through the runtime's client. */
  transactional: Schema.Boolean,
  /** The tool can be asked what became of a call that was lost. */
  reconcile: Schema.Boolean,
  timeout_ms: TimeoutMs,
  /** Absent = one attempt. */
  retry: Schema.optionalKey(RetryPolicy),
  rate_limit: Schema.optionalKey(RateLimit),
  circuit: Schema.optionalKey(Circuit),
  /** Bodies of the tool that run at the same time in one process; the others wait. Absent = only the run's own bound. */
  concurrency_max: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))
  ),
  /** A result of this tool is the answer: no turn follows the step that it was called in (SM-20). A failure stops nothing. */
  stop_loop: Schema.optionalKey(Schema.Boolean),
  /** The texts in its result are of their own, such as a file's: the model reads them as they are, without markup escaped. */
  text_result: Schema.optionalKey(Schema.Boolean),
  /** The greatest encoded result in bytes; a larger one is refused as terminal. */
  result_bytes_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64_000_000 }))
}

const Complete = Schema.Struct(fields)

const { capabilities, ...sameNames } = fields

/** What the record alone stands for where a field is left out; a declaration derives more (`Governance.ts`). */
const Wire = Schema.Struct({
  ...sameNames,
  permissions: capabilities.pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  replay_policy: ReplayPolicy.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("must-stub" as const))
  ),
  idempotency_key: fields.idempotency_key.pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  cost_estimate: fields.cost_estimate.pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  examples: fields.examples.pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  tags: fields.tags.pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  deprecated: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  category: Schema.optionalKey(ToolCategory),
  effect_description: Schema.optionalKey(fields.effect_description),
  approvers: fields.approvers.pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  idempotent: Schema.optionalKey(Schema.Boolean),
  transactional: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  reconcile: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  /** `true` is the permission `ask`, in the words of other configurations; a `deny` stands. It is never written back. */
  needs_approval: Schema.optionalKey(Schema.Boolean),
  timeout_ms: Schema.optionalKey(TimeoutMs),
  result_bytes_max: fields.result_bytes_max.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(result_bytes_default))
  )
}).check(
  Schema.makeFilter(
    ({ needs_approval, permission }) =>
      !(needs_approval === true && permission === "allow") || {
        path: ["needs_approval"],
        issue: "the permission allow says that nobody is asked"
      }
  )
)

const effect_description_max = 1_000

/** Seven fields are required, as in Stargraph; a record without the others is complete when it is decoded. */
export const ToolSpec = Wire.pipe(
  Schema.decodeTo(
    Schema.toType(Complete),
    SchemaTransformation.transform({
      decode: ({ needs_approval, permissions, ...wire }) => ({
        ...wire,
        ...(needs_approval === true ? { permission: wire.permission ?? "ask" } : undefined),
        capabilities: permissions,
        category: wire.category ?? categoryOf(wire.side_effects, wire.produces),
        effect_description:
          wire.effect_description ?? wire.description.slice(0, effect_description_max),
        idempotent: wire.idempotent ?? wire.idempotency_key !== null,
        timeout_ms:
          wire.timeout_ms ?? (wire.transactional ? transaction_ms_max : timeout_ms_default)
      }),
      encode: ({ capabilities, ...spec }) => ({ ...spec, permissions: capabilities })
    })
  )
)
export interface ToolSpec extends Schema.Schema.Type<typeof Complete> {}

/** A record from outside. Fails with what is wrong of each field; a field that no tool has is refused. */
export const decodeToolSpec = Schema.decodeUnknownEffect(ToolSpec, {
  onExcessProperty: "error",
  errors: "all"
})

/** The record as the wire has it, Stargraph's names in it. */
export const encodeToolSpec = Schema.encodeEffect(ToolSpec)

export const keyOf = (spec: Pick<ToolSpec, "namespace" | "name" | "version">): string =>
  `${spec.namespace}.${spec.name}@${spec.version}`

/** Does a dispatch have to be journaled before the body runs? */
export const isDispatched = (spec: Pick<ToolSpec, "side_effects">): boolean =>
  spec.side_effects === "write" || spec.side_effects === "external"

export const onLossOf = (spec: Pick<ToolSpec, "idempotent" | "reconcile">): OnLoss =>
  spec.idempotent ? "again" : spec.reconcile ? "ask" : "unknown"
