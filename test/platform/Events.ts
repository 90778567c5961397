/** One event of each topic of the platform. */
import {
  ApprovalRequired,
  ScanCompleted,
  SupervisorRecommendationIssued,
  VerdictIssued
} from "../../src/spectral/platform/contracts/PlatformEvent.ts"
import {
  ChangesetId,
  CycleId,
  FrameworkId,
  ScanId,
  SystemId
} from "../../src/spectral/platform/contracts/Fact.ts"

const about = {
  scan_id: ScanId.make("scan-7"),
  cycle_id: CycleId.make("cycle-2"),
  system_id: SystemId.make("support-bot")
}

export const scanCompleted = ScanCompleted.make({
  ...about,
  framework_id: FrameworkId.make("support"),
  status: "completed",
  traces: 400,
  failures: 31,
  score: 0.82,
  completed_at: 1_770_000_000_000
})

export const verdictIssued = VerdictIssued.make({
  ...about,
  verdict_id: "verdict-7",
  outcome: "warn",
  summary: "Answers without a source became more frequent.",
  scores: [{ rubric_id: "groundedness", score: 0.71, threshold: 0.8 }],
  autonomy_mode: "propose",
  changeset_id: ChangesetId.make("change-3"),
  issued_at: 1_770_000_060_000
})

export const approvalRequired = ApprovalRequired.make({
  ...about,
  changeset_id: ChangesetId.make("change-3"),
  title: "Ask for a source in each answer",
  rationale: "Groundedness is below its threshold since three scans.",
  changes: 2,
  risk: "low",
  requested_at: 1_770_000_060_000
})

export const recommendationIssued = SupervisorRecommendationIssued.make({
  recommendation_id: "recommendation-2",
  cycle_id: about.cycle_id,
  system_id: about.system_id,
  mode_classification: "PLATEAU",
  recommendation: "Change the retrieval before the prompt.",
  evidence: [about.scan_id],
  issued_at: 1_770_000_120_000
})
