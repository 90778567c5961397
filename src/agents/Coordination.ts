/**
 * What a coordinating agent says to the graph: `decide` ends its loop with an action that rules can match, and
 * `emit_diagnosis` leaves a finding with its evidence. Which actions there are is said by the agent's instructions.
 */
import { Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError, ToolUserError } from "../error/ToolError.ts"
import type { Governance } from "../tool/GovernedTool.ts"
import type { Platform, Triple } from "./Triple.ts"
import { findingEntity, loopEntity } from "./Triple.ts"

export const semstreams_namespace = "semstreams"

const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(16_384))
const Entry = Schema.String.check(Schema.isMaxLength(2_000))
const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

export const Decision = Schema.Struct({
  action: Text.annotate({ description: "The decision; your instructions name the valid ones." }),
  reason: Text.annotate({ description: "Why, in a sentence or two." }),
  subtopics: optional(
    Schema.Array(Entry)
      .check(Schema.isMaxLength(200))
      .annotate({ description: "Separate targets, where the decision has several." })
  ),
  retry_hint: optional(
    Schema.String.check(Schema.isMaxLength(16_384)).annotate({
      description: "Guidance for whoever goes on from here."
    })
  )
})
export interface Decision extends Schema.Schema.Type<typeof Decision> {}

const Decide = Tool.make("decide", {
  description:
    "Ends this loop with a decision. Call it once, with an action that your instructions name. The action and its reason become facts about this loop; the whole decision is the loop's result.",
  parameters: Decision,
  /** The arguments as they were given: they are the loop's answer. */
  success: Decision,
  failure: ToolError
})

const severities = ["info", "warn", "critical"] as const
export type Severity = (typeof severities)[number]

/** A severity that nobody knows is `info`: a finding is worth more than its label (SM-69). */
export const severityOf = (given: string | null | undefined): Severity =>
  severities.find((severity) => severity === given) ?? "info"

const Diagnosis = Schema.Struct({
  finding: Text.annotate({ description: "What was found, short." }),
  recommendation: Text.annotate({ description: "The next step that you propose." }),
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({
    description: "From 0 (speculation) to 1 (certain)."
  }),
  evidence: Schema.Array(Entry)
    .check(Schema.isMinLength(1), Schema.isMaxLength(200))
    .annotate({ description: "Ids of the loops or entities that show it; at least one." }),
  observed_role: optional(
    Entry.annotate({ description: "The agent role that it is about, if it is about one." })
  ),
  severity: optional(
    Schema.String.check(Schema.isMaxLength(2_000)).annotate({
      description: "info, warn or critical; info if left out."
    })
  )
})
export interface Diagnosis extends Schema.Schema.Type<typeof Diagnosis> {}

const EmitDiagnosis = Tool.make("emit_diagnosis", {
  description:
    "Records one finding with its evidence in the knowledge graph. Call it once for each finding; the loop goes on.",
  parameters: Diagnosis,
  success: Schema.Struct({
    entity_id: Schema.String,
    finding: Schema.String,
    recommendation: Schema.String,
    confidence: Schema.Finite,
    evidence: Schema.Array(Schema.String),
    observed_role: Schema.optionalKey(Schema.String),
    severity: Schema.Literals(severities)
  }),
  failure: ToolError
})

export const CoordinationTools = Toolkit.make(Decide, EmitDiagnosis)

export const coordinationGovernance = {
  decide: {
    namespace: semstreams_namespace,
    side_effects: "write",
    // It writes two facts about its own loop, and the same twice is one: nobody needs to be asked, and a crash may redo it.
    permission: "allow",
    idempotent: true,
    stop_loop: true,
    timeout_ms: 15_000,
    effect_description: "Ends the agent's loop and records its decision in the knowledge graph."
  },
  emit_diagnosis: {
    namespace: semstreams_namespace,
    side_effects: "write",
    produces: "proposal",
    idempotent: true,
    timeout_ms: 15_000,
    effect_description: "Records a finding and a recommendation in the knowledge graph."
  }
} as const satisfies Record<string, Governance>

const saying =
  (subject: string, source: string, timestamp: string, confidence: number) =>
  (predicate: string, object: string): Triple => ({
    subject,
    predicate,
    object,
    source,
    timestamp,
    confidence
  })

/** The two facts of a decision, about its loop (SM-62). */
export const decisionTriples = (
  platform: Platform,
  loop_id: string,
  { action, reason }: Decision,
  timestamp: string
): ReadonlyArray<Triple> => {
  const say = saying(loopEntity(platform, loop_id), "coordinator-decide", timestamp, 1)
  return [say("coordinator.next_action", action), say("coordinator.decision_reason", reason)]
}

/** The facts of a finding, which carry its confidence, and a link to the loop that made it (SM-68). */
export const diagnosisTriples = (
  platform: Platform,
  loop_id: string,
  uuid: string,
  diagnosis: Diagnosis,
  timestamp: string
): ReadonlyArray<Triple> => {
  const { confidence, evidence, finding, observed_role, recommendation } = diagnosis
  const say = saying(findingEntity(platform, uuid), "ops-emit-diagnosis", timestamp, confidence)
  return [
    say("ops.diagnosis.finding", finding),
    say("ops.diagnosis.recommendation", recommendation),
    say("ops.diagnosis.confidence", String(confidence)),
    ...evidence.map((entry) => say("ops.diagnosis.evidence", entry)),
    ...(observed_role === undefined || observed_role === null || observed_role === ""
      ? []
      : [say("ops.diagnosis.observed_role", observed_role)]),
    say("ops.diagnosis.severity", severityOf(diagnosis.severity)),
    say("agent.action.executed_by", loopEntity(platform, loop_id))
  ]
}

/** Refuses an action that this task does not allow, and names those that it does (SM-67). Nothing is said without a list. */
export const actionRefusal = (
  action: string,
  allowed: ReadonlyArray<string> | undefined
): ToolUserError | undefined =>
  allowed === undefined || allowed.includes(action)
    ? undefined
    : new ToolUserError({
        kind: "invalid_args",
        reason: "ACTION_NOT_ALLOWED",
        message: `action ${JSON.stringify(action.slice(0, 200))} is not valid here; valid are: ${allowed.join(", ")}`
      })
