/**
 * The Operations Agent's tools for the failure clusters of the run's tenant. Triage uses a port that can set only the fields that
 * operators manage.
 */
import { Effect } from "effect"
import { FailureClusterReader } from "../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { FailureClusterTriage } from "../../../services/spectral/platform/FailureClusterTriage.ts"
import {
  detail_failures_max,
  failureClusterGovernance,
  FailureClusterTools
} from "../../../src/spectral/platform/FailureClusterTools.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { cut, orToolError } from "./RecordFailure.ts"

const handlers = Effect.gen(function* () {
  const reader = yield* FailureClusterReader
  const triage = yield* FailureClusterTriage
  return FailureClusterTools.of({
    list_failure_clusters: Effect.fnUntraced(function* ({ limit, ...query }, context) {
      const found = yield* reader.clusters(callOf(context).tenant, { ...query, limit: limit + 1 })
      const { items, more } = cut(found, limit)
      return {
        clusters: items.map(({ cluster, triage: { status } }) => ({
          cluster_id: cluster.cluster_id,
          title: cluster.title,
          severity: cluster.severity,
          status,
          system_id: cluster.system_id,
          failures: cluster.snapshot.failures,
          last_seen_at: cluster.last_seen_at
        })),
        more
      }
    }, orToolError),
    get_cluster_detail: Effect.fnUntraced(function* ({ cluster_id, failures_after }, context) {
      const { tenant } = callOf(context)
      const record = yield* reader.cluster(tenant, cluster_id)
      const found = yield* reader.failures(tenant, cluster_id, {
        limit: detail_failures_max + 1,
        after: failures_after
      })
      const { items, more } = cut(found, detail_failures_max)
      return { ...record, failures: items, more_failures: more }
    }, orToolError),
    triage_cluster: Effect.fnUntraced(function* ({ cluster_id, notes, status }, context) {
      const { approved_by, principal, tenant } = callOf(context)
      const by = approved_by ?? principal
      yield* triage.triage(tenant, cluster_id, { status, notes: notes.trim(), by })
      return { cluster_id, status, triaged_by: by }
    }, orToolError)
  })
})

/** The tools, for a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  FailureClusterReader | FailureClusterTriage
> = govern(FailureClusterTools, failureClusterGovernance, handlers)
