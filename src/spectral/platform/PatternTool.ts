/**
 * The Operations Agent's tool that finds patterns in failure clusters. It only reads; its results may be used in a draft.
 */
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import { ClusterSeverity } from "./contracts/FailureCluster.ts"
import { SystemId } from "./contracts/RecordId.ts"
import { FailurePattern } from "./FailurePatterns.ts"

/** The most clusters that are examined, the most severe first. */
export const distilled_clusters_max = 2_000
/** The most clusters that are read to find those. Closed clusters and those of other systems are read too, and left out. */
export const read_clusters_max = 20_000

const patterns_max = 15

const DistillFailurePatterns = Tool.make("distill_failure_patterns", {
  description:
    "What the failure clusters have in common: patterns with their counts, shares and examples, the most frequent first. Without arguments it looks at all open clusters: those that are neither resolved nor dismissed.",
  parameters: Schema.Struct({
    system_id: Schema.optionalKey(
      SystemId.annotate({ description: "Only clusters of this system." })
    ),
    severity: Schema.optionalKey(
      ClusterSeverity.annotate({ description: "Only clusters of this severity." })
    ),
    include_closed: Schema.Boolean.annotate({
      description: "Resolved and dismissed clusters too; false if left out."
    }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: patterns_max }))
      .annotate({ description: `At most so many patterns, 1 to ${patterns_max}; 5 if left out.` })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed(5)))
  }),
  success: Schema.Struct({
    /** How many clusters were examined, and the failures in their last snapshots. */
    clusters: Schema.Int,
    failures: Schema.Int,
    patterns: Schema.Array(FailurePattern),
    /** True = there are more patterns than were returned. */
    more: Schema.Boolean,
    /** True = there may be more clusters, less severe ones, than were examined. */
    more_clusters: Schema.Boolean
  }),
  failure: ToolError
})

export const PatternTools = Toolkit.make(DistillFailurePatterns)

export const patternGovernance = {
  distill_failure_patterns: { namespace: "operations", side_effects: "read", timeout_ms: 10_000 }
} as const satisfies Record<string, Governance>
