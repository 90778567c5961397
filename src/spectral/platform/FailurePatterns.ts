/**
 * Finds patterns in failure clusters: clusters with the same title and the same rubric are one pattern, whatever their systems.
 * The same clusters give the same patterns, in any order.
 */
import { Schema } from "effect"
import { cutText } from "../../value/CutText.ts"
import { Count, Share, ClusterId, RecordId, SystemId } from "./contracts/Fact.ts"
import type { ClusterRecord } from "./contracts/FailureCluster.ts"
import { ClusterSeverity, severityRank } from "./contracts/FailureCluster.ts"

/** The greatest numbers of ids and terms, and of examples, in one pattern. */
const named_max = 5
const examples_max = 2
const example_units_max = 200
const summary_units_max = 400

export const FailurePattern = Schema.Struct({
  title: Schema.String,
  rubric_id: RecordId,
  /** The severity of the pattern's worst cluster. */
  severity: ClusterSeverity,
  /** How many clusters the pattern has, and the ids of the largest ones. */
  clusters: Count,
  cluster_ids: Schema.Array(ClusterId),
  systems: Schema.Array(SystemId),
  /** The failures in the last snapshots of its clusters, and their share of those in all examined clusters. */
  failures: Count,
  share: Share,
  /** The terms of the clusters with the most failures first, at most 5. */
  terms: Schema.Array(Schema.String),
  /** At most 2 examples from different clusters, the largest cluster first. */
  examples: Schema.Array(Schema.String),
  /** A sentence that may stand in a system card as a known limit. */
  summary: Schema.String
})
export interface FailurePattern extends Schema.Schema.Type<typeof FailurePattern> {}

type Cluster = ClusterRecord["cluster"]

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const largestFirst = (a: Cluster, b: Cluster): number =>
  b.snapshot.failures - a.snapshot.failures || compare(a.cluster_id, b.cluster_id)

const distinct = <A>(all: ReadonlyArray<A>, most: number): ReadonlyArray<A> =>
  [...new Set(all)].slice(0, most)

/** The clusters' terms, ordered by the failures of the clusters that have them. */
const termsOf = (clusters: ReadonlyArray<Cluster>): ReadonlyArray<string> => {
  const weights = new Map<string, number>()
  for (const { snapshot } of clusters) {
    for (const term of snapshot.terms) {
      weights.set(term, (weights.get(term) ?? 0) + snapshot.failures)
    }
  }
  return [...weights]
    .toSorted(([a, m], [b, n]) => n - m || compare(a, b))
    .slice(0, named_max)
    .map(([term]) => term)
}

const patternOf = (group: ReadonlyArray<Cluster>, total: number): FailurePattern => {
  const clusters = group.toSorted(largestFirst)
  const [{ rubric_id, title }] = clusters as [Cluster]
  const failures = clusters.reduce((sum, { snapshot }) => sum + snapshot.failures, 0)
  const { severity } = clusters.reduce((worst, each) =>
    severityRank(each.severity) < severityRank(worst.severity) ? each : worst
  )
  const systems = distinct(clusters.map(({ system_id }) => system_id).toSorted(compare), named_max)
  const share = total === 0 ? 0 : Math.round((failures / total) * 10_000) / 10_000
  const counted = `${failures} ${failures === 1 ? "failure" : "failures"}`
  return {
    title,
    rubric_id,
    severity,
    clusters: clusters.length,
    cluster_ids: clusters.slice(0, named_max).map(({ cluster_id }) => cluster_id),
    systems,
    failures,
    share,
    terms: termsOf(clusters),
    examples: distinct(
      clusters.map(({ snapshot }) => cutText(snapshot.example, example_units_max)),
      examples_max
    ),
    summary: cutText(
      `Known failure, ${severity}: ${title} (${rubric_id}, ${counted} when last looked at)`,
      summary_units_max
    )
  }
}

export interface Distilled {
  /** How many clusters were examined, and the failures in their last snapshots. */
  readonly clusters: number
  readonly failures: number
  readonly patterns: ReadonlyArray<FailurePattern>
  /** True = there are more patterns than were requested. */
  readonly more: boolean
}

/** At most `limit` patterns: those with the most failures first, and among equal ones the more severe first. */
export const distilledPatterns = (clusters: ReadonlyArray<Cluster>, limit: number): Distilled => {
  const groups = new Map<string, Array<Cluster>>()
  for (const cluster of clusters) {
    const key = `${cluster.rubric_id} ${cluster.title}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [cluster])
    else group.push(cluster)
  }
  const failures = clusters.reduce((sum, { snapshot }) => sum + snapshot.failures, 0)
  const patterns = [...groups.values()]
    .map((group) => patternOf(group, failures))
    .toSorted(
      (a, b) =>
        b.failures - a.failures ||
        severityRank(a.severity) - severityRank(b.severity) ||
        compare(a.rubric_id, b.rubric_id) ||
        compare(a.title, b.title)
    )
  return {
    clusters: clusters.length,
    failures,
    patterns: patterns.slice(0, limit),
    more: patterns.length > limit
  }
}
