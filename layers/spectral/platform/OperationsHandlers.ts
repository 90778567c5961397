/**
 * The Operations Agent's tools over the records of the run's tenant; the model cannot name another one. A triage or publication is
 * recorded under the name of the person who approved it, or of the run's principal if nobody was asked. Triage uses a port that can
 * set only the fields that operators manage.
 */
import { Effect } from "effect"
import { FailureClusterTriage } from "../../../services/spectral/platform/FailureClusterTriage.ts"
import { RecordCounter } from "../../../services/spectral/platform/RecordCounter.ts"
import { DraftStore } from "../../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterReader } from "../../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { record_page_max } from "../../../services/spectral/platform/contracts/RecordPage.ts"
import { DraftTools, draftGovernance } from "../../../src/spectral/platform/DraftTools.ts"
import { distilledPatterns } from "../../../src/spectral/platform/FailurePatterns.ts"
import { targetOf } from "../../../src/spectral/platform/contracts/Draft.ts"
import type { Draft, DraftProposal } from "../../../src/spectral/platform/contracts/Draft.ts"
import type { ClusterRecord } from "../../../src/spectral/platform/contracts/FailureCluster.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import {
  FailureClusterTools,
  PatternTools,
  SummaryTools,
  detail_failures_max,
  distilled_clusters_max,
  failureClusterGovernance,
  isOpen,
  patternGovernance,
  read_clusters_max,
  summaryGovernance
} from "../../../src/spectral/platform/RecordTools.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { cut, forEachPage } from "../../../src/value/Pages.ts"
import type { Enough } from "../../../src/value/Pages.ts"
import { orToolError } from "./RecordFailure.ts"

type Family<R> = Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, R>

/** Who is named for a change. */
const author = ({ approved_by, principal }: CallContext): string => approved_by ?? principal

const summaryHandlers = Effect.gen(function* () {
  const counter = yield* RecordCounter
  return SummaryTools.of({
    get_operations_summary: (_, context) => orToolError(counter.counts(callOf(context).tenant))
  })
})

export const summary: Family<RecordCounter> = govern(
  SummaryTools,
  summaryGovernance,
  summaryHandlers
)

const enough = Effect.succeed<Enough>("enough")

const patternsHandlers = Effect.gen(function* () {
  const reader = yield* FailureClusterReader
  return PatternTools.of({
    distill_failure_patterns: Effect.fnUntraced(function* (
      { include_closed, limit, severity, system_id },
      context
    ) {
      const { tenant } = callOf(context)
      const isWanted = (record: ClusterRecord): boolean =>
        (include_closed || isOpen(record.triage.status)) &&
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

export const patterns: Family<FailureClusterReader> = govern(
  PatternTools,
  patternGovernance,
  patternsHandlers
)

const failureClustersHandlers = Effect.gen(function* () {
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
      const call = callOf(context)
      const by = author(call)
      yield* triage.triage(call.tenant, cluster_id, { status, notes: notes.trim(), by })
      return { cluster_id, status, triaged_by: by }
    }, orToolError)
  })
})

export const failureClusters: Family<FailureClusterReader | FailureClusterTriage> = govern(
  FailureClusterTools,
  failureClusterGovernance,
  failureClustersHandlers
)

const writtenOf = (draft: Draft) => ({
  draft_id: draft.draft_id,
  target_id: targetOf(draft),
  based_on: draft.based_on,
  status: draft.state.status
})

const closing = (call: CallContext, reason: string) => ({ by: author(call), reason: reason.trim() })

const draftsHandlers = Effect.gen(function* () {
  const store = yield* DraftStore
  const write = (proposal: DraftProposal, { call, principal, run, tenant }: CallContext) =>
    store.write(tenant, proposal, { run, call, principal }).pipe(Effect.map(writtenOf), orToolError)
  return DraftTools.of({
    draft_rubric: (proposal, context) => write({ kind: "rubric", ...proposal }, callOf(context)),
    draft_system_card: (proposal, context) =>
      write({ kind: "system_card", ...proposal }, callOf(context)),
    list_drafts: Effect.fnUntraced(function* ({ limit, ...query }, context) {
      const found = yield* store.drafts(callOf(context).tenant, { ...query, limit: limit + 1 })
      const { items, more } = cut(found, limit)
      const drafts = items.map((draft) => ({
        ...writtenOf(draft),
        kind: draft.kind,
        title: draft.title,
        created_at: draft.created_at
      }))
      return { drafts, more }
    }, orToolError),
    get_draft: ({ draft_id }, context) =>
      orToolError(store.draft(callOf(context).tenant, draft_id)),
    withdraw_draft: Effect.fnUntraced(function* ({ draft_id, reason }, context) {
      const call = callOf(context)
      const given = closing(call, reason)
      yield* store.withdraw(call.tenant, draft_id, given)
      return { draft_id, status: "withdrawn" as const, withdrawn_by: given.by }
    }, orToolError),
    publish_draft: Effect.fnUntraced(function* (
      { based_on, draft_id, reason, target_id },
      context
    ) {
      const call = callOf(context)
      const given = { ...closing(call, reason), based_on, target_id }
      const revision = yield* store.publish(call.tenant, draft_id, given)
      return { draft_id, status: "published" as const, revision, published_by: given.by }
    }, orToolError)
  })
})

export const drafts: Family<DraftStore> = govern(DraftTools, draftGovernance, draftsHandlers)
