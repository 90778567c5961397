/**
 * The Operations Agent's tool that counts the records of a workspace in each state, without any of their contents.
 */
import { Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import { ChangesetStatus } from "./contracts/Changeset.ts"
import { ClusterSeverity, ClusterStatus } from "./contracts/FailureCluster.ts"
import { ScanStatus } from "./contracts/Scan.ts"
import { DraftStatus } from "./contracts/Draft.ts"

/** Counts by state. Every state is present, even if no record has it. */
const counts = <const L extends string>(states: Schema.Literals<ReadonlyArray<L>>) =>
  Schema.Record(states, Schema.Int)

export const RecordCounts = Schema.Struct({
  scans: counts(ScanStatus),
  changesets: counts(ChangesetStatus),
  clusters: counts(ClusterStatus),
  /** Failure clusters that are neither resolved nor dismissed. */
  open_clusters: counts(ClusterSeverity),
  /** Drafts of rubrics and system cards. */
  drafts: counts(DraftStatus)
})
export interface RecordCounts extends Schema.Schema.Type<typeof RecordCounts> {}

/** The number of records of a kind in one state. */
export type CountedRecords =
  | { readonly kind: "scan"; readonly status: ScanStatus; readonly count: number }
  | { readonly kind: "changeset"; readonly status: ChangesetStatus; readonly count: number }
  | { readonly kind: "draft"; readonly status: DraftStatus; readonly count: number }
  | {
      readonly kind: "cluster"
      readonly status: ClusterStatus
      readonly severity: ClusterSeverity
      readonly count: number
    }

const noneOf = <L extends string>(states: ReadonlyArray<L>) =>
  Object.fromEntries(states.map((state) => [state, 0])) as Record<L, number>

const isOpen = (status: ClusterStatus): boolean => status !== "resolved" && status !== "dismissed"

export const sumOf = (counted: ReadonlyArray<CountedRecords>): RecordCounts => {
  const scans = noneOf(ScanStatus.literals)
  const changesets = noneOf(ChangesetStatus.literals)
  const clusters = noneOf(ClusterStatus.literals)
  const open_clusters = noneOf(ClusterSeverity.literals)
  const drafts = noneOf(DraftStatus.literals)
  for (const each of counted) {
    if (each.kind === "scan") scans[each.status] += each.count
    else if (each.kind === "changeset") changesets[each.status] += each.count
    else if (each.kind === "draft") drafts[each.status] += each.count
    else {
      clusters[each.status] += each.count
      if (isOpen(each.status)) open_clusters[each.severity] += each.count
    }
  }
  return { scans, changesets, clusters, open_clusters, drafts }
}

const GetOperationsSummary = Tool.make("get_operations_summary", {
  description:
    "How many scans, change sets, failure clusters and drafts of the workspace are in each state, and how many clusters of each severity are open: neither resolved nor dismissed. Dead letters are not in it; list_dlq_events lists them.",
  parameters: Schema.Struct({}),
  success: RecordCounts,
  failure: ToolError
})

export const SummaryTools = Toolkit.make(GetOperationsSummary)

export const summaryGovernance = {
  get_operations_summary: { namespace: "operations", side_effects: "read", timeout_ms: 10_000 }
} as const satisfies Record<string, Governance>
