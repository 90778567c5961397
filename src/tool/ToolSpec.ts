/**
 * What governs a tool: identity, schemas, side effects, and what follows from them. `side_effects` is the one stored fact;
 * what is derived from it may be overridden. Names on the wire are Stargraph's: its `permissions` are `capabilities` here,
 * because a `permission` is allow, ask or deny.
 */
import { Effect, Result, Schema, SchemaTransformation } from "effect"
import { truncateUnits } from "../CutText.ts"
import { RequestedCapability } from "../capability/Capability.ts"
import { CheckedJsonObject, JsonObject } from "../entry/JsonObject.ts"
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
 * What happens to a call whose dispatch is lost: `again` sends it with the same key, `ask` asks its tool, `unknown` leaves it
 * to an operator.
 */
export const OnLoss = Schema.Literals(["again", "ask", "unknown"])
export type OnLoss = typeof OnLoss.Type

/** What providers take as the name of a tool, in characters. */
export const model_name_max = 64

const ModelName = Schema.String.check(
  Schema.isPattern(new RegExp(`^[A-Za-z0-9_-]{1,${model_name_max}}$`), {
    description: "1 to 64 letters, digits, _ or -"
  })
)

/** The greatest timeout of one attempt: an hour. */
const TimeoutMs = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 }))

/** An exact amount, never a binary float: the text is kept as it was written, `0.10` as `0.10`. */
export const CostEstimate = Schema.String.check(
  Schema.isPattern(/^\d{1,18}(?:\.\d{1,18})?$/, { description: 'a decimal text such as "0.10"' })
)

/** A token bucket for each tenant: `calls_max` calls at once, refilled evenly over each `window_ms`. */
export const RateLimit = Schema.Struct({
  calls_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
  window_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400_000 }))
})
export interface RateLimit extends Schema.Schema.Type<typeof RateLimit> {}

/** After `failures_max` failures in a row calls are refused for `open_ms`; then one call probes the tool. */
export const Circuit = Schema.Struct({
  failures_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  open_ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600_000 }))
})
export interface Circuit extends Schema.Schema.Type<typeof Circuit> {}

/** Arguments as a model would give them, and the result that they have. */
export const ToolExample = Schema.Struct({
  input: JsonObject,
  output: Schema.optionalKey(Schema.Json),
  note: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1_000)))
})
export interface ToolExample extends Schema.Schema.Type<typeof ToolExample> {}

const RuleArguments = Schema.Array(
  Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
).check(Schema.isMinLength(1), Schema.isMaxLength(16))

const Text = (most: number) => Schema.String.check(Schema.isMaxLength(most))
const Tag = Schema.String.check(Schema.isPattern(/^\S{1,64}$/, { description: "a word" }))

/** SemStreams' default for one attempt. */
export const timeout_ms_default = 60_000
/** A transactional body holds the row of the run's head, so that its timeout is shorter. */
export const transaction_ms_max = 5_000
/** The greatest encoded result, in bytes; a tool may declare another bound. */
export const result_bytes_default = 4_000_000
/** The greatest part of a result that a model sees, in bytes. */
export const model_copy_bytes_max = 32_768

const fields = {
  namespace: ModelName,
  name: ModelName,
  /** A free tag without an order: two versions of one name stand side by side. */
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
  /** Two calls of a run with the same key are one side effect (`IdempotencyKey.ts`); null = each call is its own. */
  idempotency_key: Schema.NullOr(IdempotencyKey),
  /** Of one call, in the currency of the ledger; null = unknown. */
  cost_estimate: Schema.NullOr(CostEstimate),
  examples: Schema.Array(ToolExample).check(Schema.isMaxLength(16)),
  tags: Schema.Array(Tag).check(Schema.isMaxLength(32)),
  /** Not listed; it can still be called by its key. */
  deprecated: Schema.Boolean,
  category: ToolCategory,
  /** `proposal` makes the tool a suggestion, which needs no approval. */
  produces: Schema.optionalKey(Schema.Literal("proposal")),
  /** Absent = at the call. */
  approval: Schema.optionalKey(ApprovalGate),
  /** Absent = the category decides: `mutate` asks, any other is allowed. */
  permission: Schema.optionalKey(Permission),
  /** The arguments that a rule of a policy reads, joined as words: texts and lists of texts. Absent = the first text. */
  rule_arguments: Schema.optionalKey(RuleArguments),
  /** The roles that may decide; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  /** How long a question waits, in ms. Absent = it does not expire. */
  approval_expires_ms: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** Tells an approver what a call will do. */
  effect_description: Text(1_000),
  /** By which an agent's tools are filtered; it grants nothing. */
  group: Schema.optionalKey(ToolGroup),
  /** The tool honours the key of its call: the same key twice is one side effect. */
  idempotent: Schema.Boolean,
  /** The body runs in the journal's transaction and commits with its event. It may use SQL only through the runtime's client. */
  transactional: Schema.Boolean,
  /** The tool can be asked what became of a lost call. */
  reconcile: Schema.Boolean,
  timeout_ms: TimeoutMs,
  /** Absent = one attempt. */
  retry: Schema.optionalKey(RetryPolicy),
  rate_limit: Schema.optionalKey(RateLimit),
  circuit: Schema.optionalKey(Circuit),
  /** Bodies that run at the same time in one process; others wait. Absent = only the run's own limit. */
  concurrency_max: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))
  ),
  /** Its result is the answer: no turn follows the step in which it was called. A failure does not stop the loop. */
  stop_loop: Schema.optionalKey(Schema.Boolean),
  /** The texts in its result are plain texts, such as a file's: the model reads them without escaped markup. */
  text_result: Schema.optionalKey(Schema.Boolean),
  /** The greatest encoded result in bytes; a larger one is a terminal failure. */
  result_bytes_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64_000_000 }))
}

const Complete = Schema.Struct(fields)

const { capabilities, ...sameNames } = fields

/** What a record has for fields that it leaves out; a declaration derives more (`Governance.ts`). */
const defaults = {
  permissions: [],
  replay_policy: "must-stub",
  idempotency_key: null,
  cost_estimate: null,
  examples: [],
  tags: [],
  deprecated: false,
  approvers: [],
  transactional: false,
  reconcile: false,
  result_bytes_max: result_bytes_default
} as const

const orElse = <S extends Schema.Constraint>(schema: S, value: NoInfer<S["Encoded"]>) =>
  Schema.withDecodingDefaultKey<S>(Effect.succeed(value))(schema)

/** The record with its own defaults. */
const Wire = Schema.Struct({
  ...sameNames,
  permissions: orElse(capabilities, defaults.permissions),
  replay_policy: orElse(ReplayPolicy, defaults.replay_policy),
  idempotency_key: orElse(fields.idempotency_key, defaults.idempotency_key),
  cost_estimate: orElse(fields.cost_estimate, defaults.cost_estimate),
  examples: orElse(fields.examples, defaults.examples),
  tags: orElse(fields.tags, defaults.tags),
  deprecated: orElse(Schema.Boolean, defaults.deprecated),
  category: Schema.optionalKey(ToolCategory),
  effect_description: Schema.optionalKey(fields.effect_description),
  approvers: orElse(fields.approvers, defaults.approvers),
  idempotent: Schema.optionalKey(Schema.Boolean),
  transactional: orElse(Schema.Boolean, defaults.transactional),
  reconcile: orElse(Schema.Boolean, defaults.reconcile),
  /** `true` stands for the permission `ask`, as other configurations write it; a `deny` wins. Never encoded. */
  needs_approval: Schema.optionalKey(Schema.Boolean),
  timeout_ms: Schema.optionalKey(TimeoutMs),
  result_bytes_max: orElse(fields.result_bytes_max, defaults.result_bytes_max)
}).check(
  Schema.makeFilter(
    ({ needs_approval, permission }) =>
      !(needs_approval === true && permission === "allow") || {
        path: ["needs_approval"],
        issue: "the permission allow says that nobody is asked"
      }
  )
)
type Wire = typeof Wire.Type

const effect_description_max = 1_000

const completed = ({ needs_approval, permissions, ...wire }: Wire) => ({
  ...wire,
  ...(needs_approval === true ? { permission: wire.permission ?? "ask" } : undefined),
  capabilities: permissions,
  category: wire.category ?? categoryOf(wire.side_effects, wire.produces),
  effect_description:
    wire.effect_description ?? truncateUnits(wire.description, effect_description_max),
  idempotent: wire.idempotent ?? wire.idempotency_key !== null,
  timeout_ms: wire.timeout_ms ?? (wire.transactional ? transaction_ms_max : timeout_ms_default)
})

/** Seven fields are required, as in Stargraph; decoding completes a record that has only those. */
export const ToolSpec = Wire.pipe(
  Schema.decodeTo(
    Schema.toType(Complete),
    SchemaTransformation.transform({
      decode: (wire) => completed(wire),
      encode: ({ capabilities, ...spec }) => ({ ...spec, permissions: capabilities })
    })
  )
)
export interface ToolSpec extends Schema.Schema.Type<typeof Complete> {}

const decode = Schema.decodeUnknownEffect(ToolSpec, { onExcessProperty: "error", errors: "all" })

/** A complete record without examples, of nothing but what one compiled function can decode. */
const Plain = Schema.Struct({
  ...fields,
  input_schema: CheckedJsonObject,
  output_schema: CheckedJsonObject,
  examples: Schema.Tuple([])
})
const decodePlain = Schema.decodeUnknownResult(Plain, { onExcessProperty: "error" })
/** Fields that are derived where they are absent; `decode` takes null for none of them. */
const derived = [
  "category",
  "effect_description",
  "idempotent",
  "permission",
  "timeout_ms"
] as const

/**
 * What `decode` makes of a record, by one compiled function (bench row `calls`). Undefined = it is not right, or no plain
 * record.
 */
const plainSpec = (record: unknown): ToolSpec | undefined => {
  if (typeof record !== "object" || record === null || "capabilities" in record) return undefined
  if (Object.getPrototypeOf(record) !== Object.prototype) return undefined
  if (Object.values(record).includes(undefined)) return undefined
  const wire = { ...defaults, ...(record as Wire) }
  const { description, needs_approval = false, permission } = wire
  const isRefused = needs_approval && permission === "allow"
  if (typeof needs_approval !== "boolean" || isRefused) return undefined
  if (typeof description !== "string" || derived.some((name) => wire[name] === null)) {
    return undefined
  }
  return Result.getOrUndefined(decodePlain(completed(wire)))
}

/** Decodes a record from outside. Fails with all issues; a field that no tool has is refused. */
export const decodeToolSpec = (record: unknown): Effect.Effect<ToolSpec, Schema.SchemaError> =>
  Effect.suspend(() => {
    const spec = plainSpec(record)
    return spec === undefined ? decode(record) : Effect.succeed(spec)
  })

/** The record with the names of the wire, which are Stargraph's. */
export const encodeToolSpec = Schema.encodeEffect(ToolSpec)

export const toolKeyOf = (spec: Pick<ToolSpec, "namespace" | "name" | "version">): string =>
  `${spec.namespace}.${spec.name}@${spec.version}`

/** Is a dispatch journaled before the body runs? */
export const isDispatched = (spec: Pick<ToolSpec, "side_effects">): boolean =>
  spec.side_effects === "write" || spec.side_effects === "external"

export const onLossOf = (spec: Pick<ToolSpec, "idempotent" | "reconcile">): OnLoss =>
  spec.idempotent ? "again" : spec.reconcile ? "ask" : "unknown"
