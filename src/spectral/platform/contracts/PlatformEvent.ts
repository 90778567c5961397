/**
 * The events that the platform publishes for other contexts, as messages of the outbox. A message's topic is the event's name,
 * and its id is the event's id, which is the same at every delivery. A payload is what was observed, and contains no state of an
 * agent.
 */
import { Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidInput } from "../../../schema/InvalidInput.ts"
import { inputReader } from "../../../schema/InvalidInput.ts"
import {
  Count,
  Moment,
  Share,
  Text,
  ChangesetId,
  CycleId,
  FrameworkId,
  RecordId,
  ScanId,
  SystemId
} from "./Fact.ts"

/**
 * `observe_only`: no changes are proposed. `propose`: changes wait for a person. `autonomous`: changes of low risk do not wait.
 */
export const AutonomyMode = Schema.Literals(["observe_only", "propose", "autonomous"])
export type AutonomyMode = typeof AutonomyMode.Type

/**
 * How a cycle is going. `ACTIVE`: it improves. `PLATEAU`: it no longer improves. `FRONTIER`: it is at the best result that was
 * seen. `NO_DATA`: there are too few scans to tell.
 */
export const ModeClassification = Schema.Literals(["ACTIVE", "PLATEAU", "FRONTIER", "NO_DATA"])
export type ModeClassification = typeof ModeClassification.Type

export const VerdictOutcome = Schema.Literals(["pass", "warn", "fail"])
export type VerdictOutcome = typeof VerdictOutcome.Type

/** The greatest number of rubrics in one framework. */
export const rubrics_max = 50

/** A scan has ended, with or without a result. */
export const ScanCompleted = Schema.Struct({
  scan_id: ScanId,
  cycle_id: CycleId,
  system_id: SystemId,
  framework_id: FrameworkId,
  status: Schema.Literals(["completed", "failed"]),
  /** How many traces were evaluated, and how many of them failed a rubric. */
  traces: Count,
  failures: Count,
  /** The mean of the rubrics' scores. Absent = the scan failed. */
  score: Schema.optionalKey(Share),
  completed_at: Moment
})
export interface ScanCompleted extends Schema.Schema.Type<typeof ScanCompleted> {}

/** A scan was judged. If it is judged again, there is another verdict about the same scan. */
export const VerdictIssued = Schema.Struct({
  verdict_id: RecordId,
  scan_id: ScanId,
  cycle_id: CycleId,
  system_id: SystemId,
  outcome: VerdictOutcome,
  summary: Text(2_000),
  scores: Schema.Array(
    Schema.Struct({ rubric_id: RecordId, score: Share, threshold: Share })
  ).check(Schema.isMaxLength(rubrics_max)),
  autonomy_mode: AutonomyMode,
  /** The change set that is proposed because of the verdict. Absent = there is none; with `observe_only` there never is. */
  changeset_id: Schema.optionalKey(ChangesetId),
  issued_at: Moment
}).check(
  Schema.makeFilter(({ autonomy_mode, changeset_id }) =>
    autonomy_mode === "observe_only" && changeset_id !== undefined
      ? { path: ["changeset_id"], issue: "Expected no change set with observe_only" }
      : undefined
  )
)
export interface VerdictIssued extends Schema.Schema.Type<typeof VerdictIssued> {}

/** A change set waits for a person's review. That review is not the approval of a call. */
export const ApprovalRequired = Schema.Struct({
  changeset_id: ChangesetId,
  scan_id: ScanId,
  cycle_id: CycleId,
  system_id: SystemId,
  title: Text(200),
  rationale: Text(2_000),
  /** How many settings the change set changes. */
  changes: Count,
  risk: Schema.Literals(["low", "medium", "high"]),
  requested_at: Moment
})
export interface ApprovalRequired extends Schema.Schema.Type<typeof ApprovalRequired> {}

/** What the supervision of a cycle recommends. */
export const SupervisorRecommendationIssued = Schema.Struct({
  recommendation_id: RecordId,
  cycle_id: CycleId,
  system_id: SystemId,
  mode_classification: ModeClassification,
  recommendation: Text(2_000),
  /** The scans on which the recommendation is based, newest first. */
  evidence: Schema.Array(ScanId).check(Schema.isMaxLength(20)),
  issued_at: Moment
})
export interface SupervisorRecommendationIssued extends Schema.Schema.Type<
  typeof SupervisorRecommendationIssued
> {}

/** Each event's payload by its topic. */
export const platform_events = {
  "scan.completed": ScanCompleted,
  "verdict.issued": VerdictIssued,
  "approval.required": ApprovalRequired,
  "supervisor.recommendation.issued": SupervisorRecommendationIssued
} as const

export type PlatformTopic = keyof typeof platform_events

type Payloads = { readonly [T in PlatformTopic]: (typeof platform_events)[T]["Type"] }

export type PayloadOf<T extends PlatformTopic> = Payloads[T]

export type PlatformEvent = {
  readonly [T in PlatformTopic]: { readonly topic: T; readonly payload: Payloads[T] }
}[PlatformTopic]

const readers: {
  readonly [T in PlatformTopic]: (
    value: unknown,
    field: string
  ) => Effect.Effect<Payloads[T], InvalidInput>
} = {
  "scan.completed": inputReader(ScanCompleted),
  "verdict.issued": inputReader(VerdictIssued),
  "approval.required": inputReader(ApprovalRequired),
  "supervisor.recommendation.issued": inputReader(SupervisorRecommendationIssued)
}

/** Decodes the payload of a message with this topic. Fails if it does not fit the topic. */
export const readPlatformEvent = <T extends PlatformTopic>(
  topic: T,
  payload: unknown
): Effect.Effect<Payloads[T], InvalidInput> => readers[topic](payload, "payload")

/**
 * What an event is about: a scan and its verdicts, a change set, or a cycle. It is the key of the event's message, so that events
 * about the same subject are delivered in order.
 */
export const subjectOf = ({ payload, topic }: PlatformEvent): string => {
  switch (topic) {
    case "scan.completed":
    case "verdict.issued":
      return `scan/${payload.scan_id}`
    case "approval.required":
      return `changeset/${payload.changeset_id}`
    case "supervisor.recommendation.issued":
      return `cycle/${payload.cycle_id}`
  }
}
