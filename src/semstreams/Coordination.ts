/**
 * Tools with which a coordinating agent writes to the knowledge graph: `decide` ends its loop with an action that rules can
 * match, and `emit_diagnosis` records a finding with its evidence. The agent's instructions list the valid actions.
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

export const LoopDecision = Schema.Struct({
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
export interface LoopDecision extends Schema.Schema.Type<typeof LoopDecision> {}

const Decide = Tool.make("decide", {
  description:
    "Ends this loop with a decision. Call it once, with an action that your instructions name. The action and its reason become facts about this loop; the whole decision is the loop's result.",
  parameters: LoopDecision,
  /** The arguments as given: they are the loop's answer. */
  success: LoopDecision,
  failure: ToolError
})

const severities = ["info", "warn", "critical"] as const
export type Severity = (typeof severities)[number]

/** An unknown severity becomes `info`, so that a finding is not lost for its label. */
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
    // It writes two facts about its own loop, and a repeated fact is stored once: no approval is needed, and a lost call
    // may run again.
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

const tripleMaker =
  (subject: string, source: string, timestamp: string, confidence: number) =>
  (predicate: string, object: string): Triple => ({
    subject,
    predicate,
    object,
    source,
    timestamp,
    confidence
  })

/** The two facts of a decision, about its loop. */
export const decisionTriples = (
  platform: Platform,
  loop_id: string,
  { action, reason }: LoopDecision,
  timestamp: string
): ReadonlyArray<Triple> => {
  const triple = tripleMaker(loopEntity(platform, loop_id), "coordinator-decide", timestamp, 1)
  return [triple("coordinator.next_action", action), triple("coordinator.decision_reason", reason)]
}

/** The facts of a finding, with its confidence, and a link to the loop that made it. */
export const diagnosisTriples = (
  platform: Platform,
  loop_id: string,
  uuid: string,
  diagnosis: Diagnosis,
  timestamp: string
): ReadonlyArray<Triple> => {
  const { confidence, evidence, finding, observed_role, recommendation } = diagnosis
  const entity = findingEntity(platform, uuid)
  const triple = tripleMaker(entity, "ops-emit-diagnosis", timestamp, confidence)
  return [
    triple("ops.diagnosis.finding", finding),
    triple("ops.diagnosis.recommendation", recommendation),
    triple("ops.diagnosis.confidence", String(confidence)),
    ...evidence.map((entry) => triple("ops.diagnosis.evidence", entry)),
    ...(observed_role === undefined || observed_role === null || observed_role === ""
      ? []
      : [triple("ops.diagnosis.observed_role", observed_role)]),
    triple("ops.diagnosis.severity", severityOf(diagnosis.severity)),
    triple("agent.action.executed_by", loopEntity(platform, loop_id))
  ]
}

/** Refuses an action that is not in the list, and names those that are. Without a list every action is allowed. */
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
