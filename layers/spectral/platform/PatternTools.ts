/**
 * The Operations Agent's tool that finds patterns in the failure clusters of the run's tenant.
 */
import { Effect } from "effect"
import { FailureClusterReader } from "../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { record_page_max } from "../../../services/spectral/platform/contracts/RecordPage.ts"
import type { ClusterRecord } from "../../../src/spectral/platform/contracts/FailureCluster.ts"
import type { Enough } from "../../../src/value/Pages.ts"
import { forEachPage } from "../../../src/value/Pages.ts"
import { distilledPatterns } from "../../../src/spectral/platform/FailurePatterns.ts"
import {
  distilled_clusters_max,
  patternGovernance,
  PatternTools,
  read_clusters_max
} from "../../../src/spectral/platform/PatternTool.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { cut, orToolError } from "./RecordFailure.ts"

const isOpen = ({ triage: { status } }: ClusterRecord): boolean =>
  status !== "resolved" && status !== "dismissed"

const enough = Effect.succeed<Enough>("enough")

const handlers = Effect.gen(function* () {
  const reader = yield* FailureClusterReader
  return PatternTools.of({
    distill_failure_patterns: Effect.fnUntraced(function* (
      { include_closed, limit, severity, system_id },
      context
    ) {
      const { tenant } = callOf(context)
      const isWanted = (record: ClusterRecord): boolean =>
        (include_closed || isOpen(record)) &&
        (system_id === undefined || record.cluster.system_id === system_id)
      const wanted: Array<ClusterRecord> = []
      let read = 0
      yield* forEachPage(
        record_page_max,
        (last: ClusterRecord | undefined) =>
          reader.clusters(tenant, {
            severity,
            limit: record_page_max,
            after: last?.cluster.cluster_id
          }),
        (page) => {
          read += page.length
          wanted.push(...page.filter(isWanted))
          const isEnough = wanted.length > distilled_clusters_max || read > read_clusters_max
          return isEnough ? enough : undefined
        }
      )
      const { items: clusters, more } = cut(wanted, distilled_clusters_max)
      const distilled = distilledPatterns(
        clusters.map(({ cluster }) => cluster),
        limit
      )
      return { ...distilled, more_clusters: more || read > read_clusters_max }
    }, orToolError)
  })
})

/** The tools, for a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  FailureClusterReader
> = govern(PatternTools, patternGovernance, handlers)
