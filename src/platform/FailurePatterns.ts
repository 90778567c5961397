/**
 * What failure clusters have in common: those with one title and one rubric are one pattern, whatever their systems. The same
 * clusters give the same patterns, in whatever order they come.
 */
import { Schema } from "effect"
import { cutText } from "../CutText.ts"
import { Count, Share } from "./contracts/Fact.ts"
import type { ClusterRecord } from "./contracts/FailureCluster.ts"
import { ClusterSeverity, severityRank } from "./contracts/FailureCluster.ts"
import { ClusterId, RecordId, SystemId } from "./contracts/RecordId.ts"

/** Ids, terms and examples of one pattern. */
const named_max = 5
const examples_max = 2
const example_units_max = 200
const summary_units_max = 400

export const FailurePattern = Schema.Struct({
  title: Schema.String,
  rubric_id: RecordId,
  /** The worst of its clusters. */
  severity: ClusterSeverity,
  /** How many there are, and the largest of them. */
  clusters: Count,
  cluster_ids: Schema.Array(ClusterId),
  systems: Schema.Array(SystemId),
  /** Of the last snapshots of its clusters, and their share of those of all clusters that were looked at. */
  failures: Count,
  share: Share,
  /** The most frequent first. */
  terms: Schema.Array(Schema.String),
  /** Each of another cluster, the largest first. */
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

/** Words by the failures of the clusters that have them. */
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
  /** Clusters that were looked at, and the failures of their last snapshots. */
  readonly clusters: number
  readonly failures: number
  readonly patterns: ReadonlyArray<FailurePattern>
  /** There are more patterns than were asked for. */
  readonly more: boolean
}

/** The patterns with the most failures first, and of as many failures the more severe one; at most `limit`. */
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
