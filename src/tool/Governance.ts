/**
 * What an author declares about a tool, and the complete spec that follows from it. A field that is left out is derived, and a
 * declared one overrides that. An invalid declaration fails the start.
 */
import { Effect, Schema } from "effect"
import type { Requires } from "../capability/Capability.ts"
import { requiredCapabilities } from "../capability/Capability.ts"
import type { CallPermission } from "../permission/Policy.ts"
import type { Role } from "../principal/Principal.ts"
import type { Time, Timed } from "../value/Times.ts"
import { inMilliseconds } from "../value/Times.ts"
import type { Idempotency } from "./Idempotency.ts"
import { argumentsNamed, Idempotency as IdempotencyShape } from "./Idempotency.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared, misdeclaredByIssue } from "./MisdeclaredTool.ts"
import type { RetryConfig } from "./RetryPolicy.ts"
import { retryPolicyOf } from "./RetryPolicy.ts"
import type {
  ApprovalGate,
  Permission,
  ReplayPolicy,
  SideEffects,
  ToolCategory
} from "./SideEffects.ts"
import { replayPolicyOf } from "./SideEffects.ts"
import type { ToolGroup } from "./ToolGroup.ts"
import type { Circuit, RateLimit, ToolExample, ToolSpec } from "./ToolSpec.ts"
import {
  decodeToolSpec,
  holdsKeys,
  idempotencyOnWire,
  isDispatched,
  transaction_ms_max
} from "./ToolSpec.ts"
import { defined } from "../value/PlainObject.ts"

type JsonObject = Readonly<Record<string, unknown>>

/** What an author declares about a tool besides its schemas; `ToolSpec` explains each field. */
export interface Governance {
  /** The first part of its key `namespace.name@version`: 1 to 64 letters, digits, `_` or `-`. */
  readonly namespace: string
  /**
   * The last part of its key: 1 to 64 letters, digits, `.`, `_` or `-`. Two versions of one name stand side by side. Absent =
   * `1`.
   */
  readonly version?: string
  /**
   * What the body changes, the one fact that has to be said: `none`, `read`, `write` (in systems of your own) or `external`.
   * From it follow category, permission, replay and what becomes of a lost call: `none` and `read` run unasked, the others ask a
   * person and are never repeated silently.
   */
  readonly side_effects: SideEffects
  /**
   * What a replay does with its calls: `recorded-result` gives what was recorded and runs a read without it, `must-stub` fails
   * without it, `fail-loud` always fails. Absent = `recorded-result` for `none` and `read`, `must-stub` for `write` and
   * `external`.
   */
  readonly replay_policy?: ReplayPolicy
  /** `proposal` makes the tool a suggestion, which needs no approval. */
  readonly produces?: "proposal"
  /**
   * `read`, `suggest` or `mutate`, by which a call without any permission is allowed or asks. Absent = derived from `produces`
   * and the side effects.
   */
  readonly category?: ToolCategory
  /**
   * The group by which `groups` and `groups_by_role` of agents filter it: a lower-case name, such as `core`, `inspect` or one of
   * the application's own. It grants nothing. Absent = the group that SemStreams has for its name, else `core`.
   */
  readonly group?: ToolGroup
  /**
   * The capabilities that the calling agent must have, all of them: one `name[:scope]`, or at most 32. A call without one is
   * refused, and nobody is asked. Absent = none.
   */
  readonly capabilities?: Requires
  /**
   * `allow`, `ask` or `deny` for every call. It comes before the policy's servers, rules and mode. Absent = these decide, then
   * the category: `mutate` asks.
   */
  readonly permission?: Permission
  /** `true` stands for `permission: "ask"`; beside `deny`, `deny` wins, and beside `allow` it is refused. `false` declares nothing. */
  readonly needs_approval?: boolean
  /** Arguments that a rule of a policy reads together, as words: `["program", "args"]`. Absent = the first text. */
  readonly rule_arguments?: ReadonlyArray<string>
  /**
   * When a mutation is approved: `at-call`, or `at-publication-gate`, where its product is approved later and the call is
   * allowed. Absent = at the call.
   */
  readonly approval?: ApprovalGate
  /** The roles that may decide about its calls; `admin` always may. Absent = any approver or operator. */
  readonly approvers?: ReadonlyArray<Role>
  /**
   * How long a question waits for an answer, in ms or as a text such as `"1 hour"`, more than 0; then the call has the result
   * `Expired`. Absent = it never expires.
   */
  readonly approval_expires_ms?: Time
  /** Tells an approver what a call will do, in at most 1,000 characters. Absent = the tool's description. */
  readonly effect_description?: string
  /**
   * True = the other side honours `call.key`: a lost call is sent again with the same key, at most three times. Absent = whether
   * there is an `idempotency`.
   */
  readonly idempotent?: boolean
  /**
   * Calls with the same key in this scope are one side effect: `{ key: "refund-{order_id}", scope: "tenant" }`. The body runs for
   * the first call, and later ones get its result. `key` is a text with arguments in braces.
   *
   * `scope` says how far that reaches:
   * - `run`: one message. The same wish in a later message runs the body again.
   * - `conversation`: every message of one conversation.
   * - `tenant`: every conversation of the tenant.
   *
   * Beyond a run the key is kept in the store for `holds_ms` (a second to 366 days; absent = 30 days) from the first call's
   * dispatch on, and a call with the same key and other arguments is refused (`KEY_REUSED`). `call.business_key` is the text with
   * its values. Absent = each call is a side effect of its own.
   */
  readonly idempotency?: Timed<Idempotency> | null
  /**
   * The most that one call costs, as a decimal text in the currency of the ledger: `"0.10"`. Budgets of cost reserve it before the
   * body begins, and refuse a call for which they have too little left (`BUDGET`). Absent = unknown: nothing is reserved.
   */
  readonly cost_estimate?: string | null
  /** Examples for the model, at most 16. Absent = none. */
  readonly examples?: ReadonlyArray<ToolExample>
  /** Words to find it by, at most 32 of 64 characters. They grant and change nothing. Absent = none. */
  readonly tags?: ReadonlyArray<string>
  /** True = models are not shown it, but it can be called by its key. Absent = no. */
  readonly deprecated?: boolean
  /**
   * True = the body runs in the transaction of the journal and commits with its result, so exactly once. Not for `external`,
   * within 5 s, with SQL through the runtime's `SqlClient` alone. Absent = no.
   */
  readonly transactional?: boolean
  /** True = the tool's result is the answer of the frame, and the model is not asked again; a failure is not. Absent = no. */
  readonly stop_loop?: boolean
  /** True = texts in the result are shown to the model unescaped, which a file's content needs. Absent = no. */
  readonly text_result?: boolean
  /**
   * The timeout of one attempt, 1 to 3,600,000 ms or a text such as `"5 minutes"`. A read that runs out of it fails as
   * transient, a write may be unknown. Absent = 60,000 ms, or 5,000 ms for a transactional tool, which is its most.
   */
  readonly timeout_ms?: Time
  /**
   * Attempts of one call by the runtime, with backoff. A write needs `idempotency` for it. A member that is left out has
   * SemStreams' default. Absent = one attempt.
   */
  readonly retry?: Timed<RetryConfig>
  /** A bucket of calls for each tenant; beyond it a call is refused as transient (an approved one waits). Absent = no bound. */
  readonly rate_limit?: Timed<RateLimit>
  /** When calls are refused because too many in a row have failed. Absent = calls run no matter how many have failed before. */
  readonly circuit?: Timed<Circuit>
  /** How many calls may run at the same time in one process, 1 to 10,000; others wait. Absent = no limit of the tool's own. */
  readonly concurrency_max?: number
  /** The greatest arguments of a call, as JSON in bytes, 8,000,000 at most; larger ones are refused. Absent = 262,144. */
  readonly arguments_bytes_max?: number
  /** The greatest encoded result, in bytes, 1 to 64,000,000; a larger one is a `ToolTerminalError`. Absent = 4,000,000. */
  readonly result_bytes_max?: number
  /** This schema is shown to models in place of the derived one. Arguments are still decoded by `input`. */
  readonly input_schema?: JsonObject
  /** JSON Schema of the result, for people and programs; models are not sent it. Absent = derived from `output`. */
  readonly output_schema?: JsonObject
}

/** Like `Governance`, but the permission may be a function of a call's decoded arguments. */
export interface CallGovernance<Args = never> extends Omit<Governance, "permission"> {
  /**
   * The permission of every call, or a pure function that decides each by its arguments and its run: `({ amount }) => amount >
   * 100 ? "ask" : "allow"`. Absent = the policy and the category decide.
   */
  readonly permission?: Permission | CallPermission<Args>
}

/** What a tool's declaration says about it without its governance. */
export interface DescribedTool {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
  readonly output_schema: JsonObject
  readonly reconcile: boolean
}

/** The description; without one, the first line of the documentation; without either, the empty text. */
export const descriptionOf = (
  description: string | null | undefined,
  documentation?: string | null
): string => description ?? documentation?.trim().split(/\r?\n/, 1)[0]?.trim() ?? ""

const own_fields = [
  "namespace version side_effects replay_policy produces category group capabilities permission rule_arguments",
  "needs_approval approval approvers approval_expires_ms effect_description idempotent idempotency cost_estimate examples tags deprecated",
  "transactional stop_loop text_result timeout_ms retry rate_limit circuit concurrency_max arguments_bytes_max result_bytes_max input_schema output_schema name description"
]
  .join(" ")
  .split(" ")

/** A contradiction in a declaration. */
type Wrong = readonly [field: string, problem: string, fix: string]

const retryWrong = (spec: ToolSpec): Wrong | undefined => {
  if (spec.retry === undefined || spec.retry.max_attempts === 1 || !isDispatched(spec)) {
    return undefined
  }
  if (spec.transactional) {
    return [
      "retry",
      "a transactional body runs once in its transaction, which is rolled back when it fails",
      "Drop retry, and let the model call again"
    ]
  }
  return spec.idempotent
    ? undefined
    : [
        "retry.max_attempts",
        `a ${spec.side_effects} tool without an idempotency key might act at every attempt`,
        'Declare idempotency (such as { key: "order-{order_id}", scope: "tenant" }) or idempotent, or set max_attempts to 1'
      ]
}

const transactionWrong = (spec: ToolSpec): Wrong | undefined => {
  if (!spec.transactional) return undefined
  if (spec.side_effects === "external") {
    return [
      "transactional",
      "an external effect cannot commit with the journal",
      "Declare side_effects write, or drop transactional"
    ]
  }
  if (spec.circuit !== undefined) {
    return [
      "circuit",
      "a transactional body fails with the journal's own database",
      "Drop circuit, or drop transactional"
    ]
  }
  return spec.timeout_ms > transaction_ms_max
    ? [
        "timeout_ms",
        "a transactional body holds the run's row",
        `Set at most ${transaction_ms_max}, or drop transactional`
      ]
    : undefined
}

const keyWrong = (spec: ToolSpec): Wrong | undefined => {
  const { idempotency } = spec
  if (idempotency === null) return undefined
  if (idempotency.scope === "run" && idempotency.holds_ms !== undefined) {
    const problem = "the keys of a run hold as long as the run"
    return ["idempotency.holds_ms", problem, "Drop it, or set scope to conversation or tenant"]
  }
  if (holdsKeys(spec) && !isDispatched(spec)) {
    const problem = `a tool whose side_effects are ${spec.side_effects} has no effect that a later run could repeat`
    return [
      "idempotency.scope",
      problem,
      "Set scope to run, or declare side_effects write or external"
    ]
  }
  const properties = spec.input_schema["properties"]
  if (typeof properties !== "object" || properties === null) return undefined
  const missing = argumentsNamed(idempotency.key)
    .map((path) => path.replace(/\..*$/, ""))
    .find((name) => !Object.hasOwn(properties, name))
  return missing === undefined
    ? undefined
    : [
        "idempotency.key",
        `the tool has no argument "${missing}"`,
        `Name one of: ${Object.keys(properties).join(", ") || "(it takes none)"}`
      ]
}

const ruleArgumentsWrong = (spec: ToolSpec): Wrong | undefined => {
  const properties = spec.input_schema["properties"]
  const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : []
  const missing = spec.rule_arguments?.find((name) => !names.includes(name))
  return missing === undefined
    ? undefined
    : [
        "rule_arguments",
        `the tool has no argument "${missing}"`,
        `Name some of: ${names.join(", ") || "(it takes none)"}`
      ]
}

const reconcileWrong = (spec: ToolSpec): Wrong | undefined =>
  spec.reconcile && (!isDispatched(spec) || spec.transactional)
    ? [
        "reconcile",
        "only the outcome of a write or an external call can be lost",
        "Drop reconcile, or declare side_effects write or external without transactional"
      ]
    : undefined

/** Fails if two fields contradict each other. */
const consistent = (spec: ToolSpec): Effect.Effect<ToolSpec, MisdeclaredTool> => {
  const wrong =
    transactionWrong(spec) ??
    retryWrong(spec) ??
    keyWrong(spec) ??
    ruleArgumentsWrong(spec) ??
    reconcileWrong(spec)
  return wrong === undefined ? Effect.succeed(spec) : misdeclared(spec.name, ...wrong)
}

/** A tool's spec with the retry policy or timeout that a deployment's configuration sets. */
export const configuredSpec = (
  spec: ToolSpec,
  given: Pick<Partial<ToolSpec>, "retry" | "timeout_ms">
): Effect.Effect<ToolSpec, MisdeclaredTool> => consistent({ ...spec, ...given })

const retryOf = (retry: RetryConfig) => ({ ...retry, ...retryPolicyOf(retry) })

const decodeIdempotency = Schema.decodeUnknownEffect(
  Schema.Struct({ idempotency: Schema.NullOr(IdempotencyShape) }),
  { onExcessProperty: "error" }
)

/** The declared idempotency by the names of the wire, which a declaration does not use. */
const declaredIdempotency = Effect.fnUntraced(function* (tool: string, declared: object) {
  const wire = Object.keys(declared).find((name) => name.startsWith("idempotency_"))
  if (wire !== undefined) {
    const fix =
      'Write idempotency: { key: "order-{order_id}", scope: "run", "conversation" or "tenant" }'
    return yield* misdeclared(tool, wire, "it does not say how far the key reaches", fix)
  }
  const given: unknown = "idempotency" in declared ? declared.idempotency : null
  const { idempotency } = yield* Effect.mapError(
    decodeIdempotency({ idempotency: inMilliseconds(given as object) }),
    (error) => misdeclaredByIssue(tool, error.issue, own_fields)
  )
  return idempotencyOnWire(idempotency)
})

/** Completes the spec of a tool. Fails if a field is invalid, or if two fields contradict each other. */
export const specOf = Effect.fnUntraced(function* (
  described: DescribedTool,
  governance: Governance
): Effect.fn.Return<ToolSpec, MisdeclaredTool> {
  const declared = defined(governance) as Partial<Governance>
  const { name } = described
  const key = yield* declaredIdempotency(name, declared)
  const {
    capabilities,
    circuit,
    idempotency: _,
    rate_limit,
    retry,
    ...rest
  } = inMilliseconds(declared)
  const spec: ToolSpec = yield* decodeToolSpec({
    version: "1",
    replay_policy: replayPolicyOf(governance.side_effects),
    ...described,
    ...rest,
    ...key,
    ...defined({
      rate_limit: rate_limit && inMilliseconds(rate_limit),
      circuit: circuit && inMilliseconds(circuit),
      retry: retry && retryOf(inMilliseconds<RetryConfig>(retry))
    }),
    permissions: requiredCapabilities(capabilities)
  }).pipe(Effect.mapError((error) => misdeclaredByIssue(name, error.issue, own_fields)))
  return yield* consistent(spec)
})
