/**
 * The facts that govern a tool: its identity, schemas and side effects, and what follows from these. `side_effects` is the one
 * stored fact; values that are derived from it may be overridden. The names on the wire are Stargraph's: its `permissions` are
 * `capabilities` in this code, where `permission` means allow, ask or deny.
 */
import { Effect, Result, Schema, SchemaTransformation } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { RequestedCapability } from "../capability/Capability.ts"
import { CheckedJsonObject, JsonObject } from "../value/JsonObject.ts"
import { Role } from "../principal/Principal.ts"
import { Idempotency, IdempotencyKey, IdempotencyScope, KeyHoldsMs } from "./Idempotency.ts"
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
import { between, textUpTo } from "../value/Bounds.ts"
import { defined } from "../value/PlainObject.ts"

/**
 * What happens to a call that was dispatched and whose outcome was lost. `again`: it is sent again with the same key. `ask`: its
 * tool is asked for the outcome. `unknown`: an operator has to settle it.
 */
export const OnLoss = Schema.Literals(["again", "ask", "unknown"])
export type OnLoss = typeof OnLoss.Type

/** The longest name of a tool that model providers accept, in characters. */
export const model_name_max = 64

const ModelName = Schema.String.check(
  Schema.isPattern(new RegExp(`^[A-Za-z0-9_-]{1,${model_name_max}}$`), {
    description: "1 to 64 letters, digits, _ or -"
  })
)

/** The greatest timeout of one attempt: an hour. */
const TimeoutMs = between(1, 3_600_000)

/** An exact amount, never a binary float: the text is kept as it was written, `0.10` as `0.10`. */
export const CostEstimate = Schema.String.check(
  Schema.isPattern(/^\d{1,18}(?:\.\d{1,18})?$/, { description: 'a decimal text such as "0.10"' })
)

/** A token bucket for each tenant: `calls_max` calls at once, refilled evenly over each `window_ms`. */
export class RateLimit extends Schema.Opaque<RateLimit>()(
  Schema.Struct({
    /** Calls at once, 1 to 1,000,000. */
    calls_max: between(1, 1_000_000),
    /** In which time as many are refilled, in ms, 1 to a day. */
    window_ms: between(1, 86_400_000)
  })
) {}

/** After `failures_max` failures in a row calls are refused for `open_ms`; then one call probes the tool. */
export class Circuit extends Schema.Opaque<Circuit>()(
  Schema.Struct({
    /** Failures in a row, 1 to 1,000. */
    failures_max: between(1, 1_000),
    /** How long calls are refused then, in ms, 1 to an hour. */
    open_ms: between(1, 3_600_000)
  })
) {}

/** An example for the model: arguments, and the result of a call with them. */
export class ToolExample extends Schema.Opaque<ToolExample>()(
  Schema.Struct({
    /** The arguments, as JSON. */
    input: JsonObject,
    /** The result of a call with them. Absent = not shown. */
    output: Schema.optionalKey(Schema.Json),
    /** What it shows, in at most 1,000 characters. Absent = none. */
    note: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1_000)))
  })
) {}

const RuleArguments = Schema.Array(textUpTo(200)).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(16)
)

const Text = (most: number) => Schema.String.check(Schema.isMaxLength(most))
const Tag = Schema.String.check(Schema.isPattern(/^\S{1,64}$/, { description: "a word" }))

/** SemStreams' default for one attempt. */
export const timeout_ms_default = 60_000
/** The greatest timeout of a transactional tool. It is short because the body holds a lock on the run's row while it runs. */
export const transaction_ms_max = 5_000
/** The greatest encoded result, in bytes; a tool may declare another bound. */
export const result_bytes_default = 4_000_000
/** How much of a result a model is shown at most, in bytes. */
export const model_copy_bytes_max = 32_768
/** The most bytes of a call's arguments, where a tool does not say it. */
export const arguments_bytes_default = 262_144

const fields = {
  /** The first part of the key: 1 to 64 letters, digits, `_` or `-`. */
  namespace: ModelName,
  /** The name that models use: 1 to 64 letters, digits, `_` or `-`. */
  name: ModelName,
  /** A free tag without an order: two versions of one name stand side by side. */
  version: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9._-]{1,64}$/, { description: "1 to 64 letters, digits, . _ or -" })
  ),
  /** What the model reads, at most 4,000 characters. */
  description: Text(4_000),
  /** JSON Schema (2020-12) of the arguments, as the model sees it. */
  input_schema: JsonObject,
  /** JSON Schema of the result; never sent to the model. */
  output_schema: JsonObject,
  /** What a call does to the world: its other rules follow from this. */
  side_effects: SideEffects,
  /** What a replay does instead of a call. Follows from `side_effects` unless it is given. */
  replay_policy: ReplayPolicy,
  /** The capabilities that the calling agent must have, all of them. On the wire this field is `permissions`. */
  capabilities: Schema.Array(RequestedCapability).check(Schema.isMaxLength(32)),
  /**
   * Two calls with the same key in its scope are one side effect; null = each call is its own. On the wire it is
   * `idempotency_key`, `idempotency_scope` and `idempotency_holds_ms`.
   */
  idempotency: Schema.NullOr(Idempotency),
  /** The estimated cost of one call, in the currency of the ledger; null = unknown. */
  cost_estimate: Schema.NullOr(CostEstimate),
  /** Calls with their results, which are checked at the start; at most 16. */
  examples: Schema.Array(ToolExample).check(Schema.isMaxLength(16)),
  /** Words to find it by, at most 32. */
  tags: Schema.Array(Tag).check(Schema.isMaxLength(32)),
  /** A deprecated tool is not listed, but it can still be called by its key. */
  deprecated: Schema.Boolean,
  /** How Spectral classifies it. Follows from `side_effects` and `produces`. */
  category: ToolCategory,
  /** `proposal` makes the tool a suggestion, which needs no approval. */
  produces: Schema.optionalKey(Schema.Literal("proposal")),
  /** Absent = at the call. */
  approval: Schema.optionalKey(ApprovalGate),
  /** Absent = the category decides: `mutate` asks, any other is allowed. */
  permission: Schema.optionalKey(Permission),
  /** The arguments that a rule of a policy reads, joined as words: texts and lists of texts. Absent = the first text. */
  rule_arguments: Schema.optionalKey(RuleArguments),
  /** The roles that may decide on a call's approval; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  /** How long an approval of a call may wait for an answer, in ms. Absent = it does not expire. */
  approval_expires_ms: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** Tells an approver what a call will do. */
  effect_description: Text(1_000),
  /** The group by which an agent's tools are filtered. A group grants nothing. */
  group: Schema.optionalKey(ToolGroup),
  /** True = the tool honours the idempotency key of a call: two executions with the same key are one side effect. */
  idempotent: Schema.Boolean,
  /**
   * True = the body runs in the journal's transaction and commits together with the event of its result. It may use SQL only
   * through the runtime's client.
   */
  transactional: Schema.Boolean,
  /** True = the tool can be asked for the outcome of a lost call. */
  reconcile: Schema.Boolean,
  /** The longest time of one attempt, in ms. */
  timeout_ms: TimeoutMs,
  /** Absent = one attempt. */
  retry: Schema.optionalKey(RetryPolicy),
  /** How many calls may begin in a time. Absent = no limit. */
  rate_limit: Schema.optionalKey(RateLimit),
  /** When failures stop further calls for a while. Absent = never. */
  circuit: Schema.optionalKey(Circuit),
  /** How many calls may run at the same time in one process; others wait. Absent = only the run's own limit applies. */
  concurrency_max: Schema.optionalKey(between(1, 10_000)),
  /**
   * True = the tool's result is the run's answer: no model turn follows the step in which it was called. A failed call does not
   * stop the loop.
   */
  stop_loop: Schema.optionalKey(Schema.Boolean),
  /** True = the texts in the result are plain text, such as a file's content, and the model reads them without escaped markup. */
  text_result: Schema.optionalKey(Schema.Boolean),
  /** The greatest arguments of a call, as JSON in bytes; larger ones are refused. Absent = 262,144. */
  arguments_bytes_max: Schema.optionalKey(between(1, 8_000_000)),
  /** The greatest encoded result in bytes; a larger one is a terminal failure. */
  result_bytes_max: between(1, 64_000_000)
} as const

const Complete = Schema.Struct(fields)

const { capabilities, idempotency: _idempotency, ...sameNames } = fields

/** The defaults of fields that a record leaves out. A declaration in code derives more of them (`Governance.ts`). */
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

/** Whether a record says how far a key reaches, and no key. */
const hasScopeAlone = (wire: {
  readonly idempotency_key: string | null
  readonly idempotency_scope?: unknown
  readonly idempotency_holds_ms?: unknown
}): boolean =>
  wire.idempotency_key === null &&
  (wire.idempotency_scope !== undefined || wire.idempotency_holds_ms !== undefined)

/** The record as it is on the wire, with the defaults of its optional fields. */
const Wire = Schema.Struct({
  ...sameNames,
  permissions: orElse(capabilities, defaults.permissions),
  replay_policy: orElse(ReplayPolicy, defaults.replay_policy),
  idempotency_key: orElse(Schema.NullOr(IdempotencyKey), defaults.idempotency_key),
  /** Absent = `run`, as in Stargraph. */
  idempotency_scope: Schema.optionalKey(IdempotencyScope),
  idempotency_holds_ms: Schema.optionalKey(KeyHoldsMs),
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
  ),
  Schema.makeFilter(
    (wire) => !hasScopeAlone(wire) || { path: ["idempotency_key"], issue: "a scope without a key" }
  )
)
type Wire = typeof Wire.Type

const effect_description_max = 1_000

const completed = ({
  idempotency_holds_ms: holds_ms,
  idempotency_key: key,
  idempotency_scope: scope = "run",
  needs_approval,
  permissions,
  ...wire
}: Wire) => ({
  ...wire,
  idempotency: key === null ? null : { key, scope, ...defined({ holds_ms }) },
  ...(needs_approval === true ? { permission: wire.permission ?? "ask" } : undefined),
  capabilities: permissions,
  category: wire.category ?? categoryOf(wire.side_effects, wire.produces),
  effect_description:
    wire.effect_description ?? truncateUnits(wire.description, effect_description_max),
  idempotent: wire.idempotent ?? key !== null,
  timeout_ms: wire.timeout_ms ?? (wire.transactional ? transaction_ms_max : timeout_ms_default)
})

/** A tool's idempotency by the names of the wire; the scope `run` is left out, for readers that know no other. */
export const idempotencyOnWire = (
  idempotency: Idempotency | null
): Pick<Wire, "idempotency_key" | "idempotency_scope" | "idempotency_holds_ms"> =>
  idempotency === null
    ? { idempotency_key: null }
    : {
        idempotency_key: idempotency.key,
        ...(idempotency.scope === "run" ? undefined : { idempotency_scope: idempotency.scope }),
        ...defined({ idempotency_holds_ms: idempotency.holds_ms })
      }

/** A tool's complete specification. Seven fields of the record are required, as in Stargraph; decoding fills in the others. */
export const ToolSpec = Wire.pipe(
  Schema.decodeTo(
    Schema.toType(Complete),
    SchemaTransformation.transform({
      decode: (wire) => completed(wire),
      encode: ({ capabilities, idempotency, ...spec }) => ({
        ...spec,
        permissions: capabilities,
        ...idempotencyOnWire(idempotency)
      })
    })
  )
)
export interface ToolSpec extends Schema.Schema.Type<typeof Complete> {}

const decode = Schema.decodeUnknownEffect(ToolSpec, { onExcessProperty: "error", errors: "all" })

/** A complete record without examples, restricted to types that one compiled function can decode. */
const Plain = Schema.Struct({
  ...fields,
  input_schema: CheckedJsonObject,
  output_schema: CheckedJsonObject,
  examples: Schema.Tuple([])
})
const decodePlain = Schema.decodeUnknownResult(Plain, { onExcessProperty: "error" })
/** Fields that are derived if they are absent. The full decoder accepts null for none of them. */
const derived = [
  "category",
  "effect_description",
  "idempotent",
  "permission",
  "timeout_ms"
] as const

/**
 * Decodes a record with one compiled function, with the same result as `decode` (bench row `calls`). Undefined = the record is
 * invalid, or it needs the full decoder.
 */
const plainSpec = (record: unknown): ToolSpec | undefined => {
  if (typeof record !== "object" || record === null) return undefined
  if ("capabilities" in record || "idempotency" in record) return undefined
  if (Object.getPrototypeOf(record) !== Object.prototype) return undefined
  if (Object.values(record).includes(undefined)) return undefined
  const wire = { ...defaults, ...(record as Wire) }
  const { description, needs_approval = false, permission } = wire
  const isRefused = (needs_approval && permission === "allow") || hasScopeAlone(wire)
  if (typeof needs_approval !== "boolean" || isRefused) return undefined
  if (typeof description !== "string" || derived.some((name) => wire[name] === null)) {
    return undefined
  }
  return Result.getOrUndefined(decodePlain(completed(wire)))
}

/** Decodes a record from outside. Fails with all issues; unknown fields are refused. */
export const decodeToolSpec = (record: unknown): Effect.Effect<ToolSpec, Schema.SchemaError> =>
  Effect.suspend(() => {
    const spec = plainSpec(record)
    return spec === undefined ? decode(record) : Effect.succeed(spec)
  })

/** Encodes a spec as a record with the names of the wire, which are Stargraph's. */
export const encodeToolSpec = Schema.encodeEffect(ToolSpec)

export const toolKeyOf = (spec: Pick<ToolSpec, "namespace" | "name" | "version">): string =>
  `${spec.namespace}.${spec.name}@${spec.version}`

/** Whether a dispatch is journaled before the tool's body runs: it is for writes and external side effects. */
export const isDispatched = (spec: Pick<ToolSpec, "side_effects">): boolean =>
  spec.side_effects === "write" || spec.side_effects === "external"

/** Whether a call may be run again after a loss: it changes nothing outside, or only once for one key. */
export const isRepeatable = (spec: Pick<ToolSpec, "side_effects" | "idempotent">): boolean =>
  !isDispatched(spec) || spec.idempotent

/** Whether the tool's key reaches beyond a run, so that it is kept in the store. */
export const holdsKeys = ({ idempotency }: Pick<ToolSpec, "idempotency">): boolean =>
  idempotency !== null && idempotency.scope !== "run"

export const onLossOf = (spec: Pick<ToolSpec, "idempotent" | "reconcile">): OnLoss =>
  spec.idempotent ? "again" : spec.reconcile ? "ask" : "unknown"
