/**
 * The Operations Agent on failure clusters without a language model: a script over its real tools. It looks at a cluster before it
 * proposes a triage.
 */
import type { Turn } from "../../src/run/RunDecider.ts"
import { call } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Seen, Step } from "../incident/IncidentTranscript.ts"
import { outcomeOf, valueOf } from "../incident/IncidentTranscript.ts"

interface Summary {
  readonly cluster_id: string
  readonly title: string
  readonly severity: string
  readonly status: string
  readonly failures: number
}

/** Words for a triage, and the status that each means. */
const triages: ReadonlyArray<readonly [word: RegExp, status: string]> = [
  [/\backnowledge/i, "acknowledged"],
  [/\b(?:in progress|work on|start)\b/i, "in_progress"],
  [/\b(?:resolve|close)/i, "resolved"],
  [/\bdismiss/i, "dismissed"]
]

const wantsDetail = /\b(?:show|details?|inspect|look at|why|examples?)\b/i
const severityIn = (asked: string): string | undefined =>
  /\b(critical|high|medium|low)\b/i.exec(asked)?.[1]?.toLowerCase()

/** Whether the user speaks of failure clusters. */
export const speaksOfClusters = ({ asked }: Seen): boolean => /\bclusters?\b/i.test(asked)

const lastOf = (steps: ReadonlyArray<Step>, name: string): Step | undefined =>
  steps.findLast((step) => step.name === name)

const clustersIn = (step: Step | undefined): ReadonlyArray<Summary> =>
  step === undefined ? [] : ((valueOf(step)?.["clusters"] ?? []) as ReadonlyArray<Summary>)

const listText = (clusters: ReadonlyArray<Summary>, more: boolean): string =>
  clusters.length === 0
    ? "There is no such failure cluster."
    : [
        ...clusters.map(
          ({ cluster_id, failures, severity, status, title }, i) =>
            `${i + 1}. ${cluster_id} (${severity}, ${status}): ${title}; ${failures} failures in its last scan`
        ),
        ...(more ? ["There are more."] : []),
        'Say "show cluster <id>", or "acknowledge cluster <id>": that needs an approval.'
      ].join("\n")

const list = (seen: Seen): Turn | string => {
  const step = lastOf(seen.now, "list_failure_clusters")
  if (step === undefined) {
    const severity = severityIn(seen.asked)
    const limit = { limit: 10 }
    return call("list_failure_clusters", severity === undefined ? limit : { ...limit, severity })
  }
  const value = valueOf(step)
  return value === undefined
    ? `I could not look: ${outcomeOf(step)}.`
    : listText(clustersIn(step), value["more"] === true)
}

const detailText = (value: Readonly<Record<string, unknown>>): string => {
  const { cluster, failures, triage } = value as unknown as {
    readonly cluster: {
      readonly cluster_id: string
      readonly title: string
      readonly snapshot: {
        readonly failures: number
        readonly share: number
        readonly example: string
      }
    }
    readonly triage: {
      readonly status: string
      readonly notes?: string
      readonly triaged_by?: string
    }
    readonly failures: ReadonlyArray<{ readonly failure_id: string; readonly excerpt: string }>
  }
  const { example, share } = cluster.snapshot
  const by = triage.triaged_by === undefined ? "" : ` (${triage.triaged_by}: ${triage.notes ?? ""})`
  return [
    `${cluster.cluster_id} is ${triage.status}${by}: ${cluster.title}.`,
    `${cluster.snapshot.failures} failures in its last scan, ${Math.round(share * 100)} % of them all. For example: ${example}`,
    ...failures.slice(0, 3).map(({ excerpt, failure_id }) => `- ${failure_id}: ${excerpt}`)
  ].join("\n")
}

/** Looks at the cluster, proposes its triage once, and reports. */
const triage = (seen: Seen, cluster_id: string, status: string): Turn | string => {
  const proposal = lastOf(seen.now, "triage_cluster")
  if (proposal !== undefined) {
    const value = valueOf(proposal)
    return value === undefined
      ? `${cluster_id} was not changed: ${outcomeOf(proposal)}.`
      : `${cluster_id} is ${String(value["status"])} now, approved by ${String(value["triaged_by"])}.`
  }
  const looked = lastOf(seen.now, "get_cluster_detail")
  if (looked === undefined) return call("get_cluster_detail", { cluster_id })
  if (valueOf(looked) === undefined) return `I could not look: ${outcomeOf(looked)}.`
  return call("triage_cluster", {
    cluster_id,
    status,
    notes: `Asked for in the chat: ${seen.asked}`.slice(0, 2_000)
  })
}

/** What to say about failure clusters; a text is an answer. */
export const clusterScript = (seen: Seen): Turn | string => {
  const status = triages.find(([word]) => word.test(seen.asked))?.[1]
  const isDetail = status === undefined && wantsDetail.test(seen.asked)
  const named = /\bcluster\s+([a-z0-9][a-z0-9-]*)/i.exec(seen.asked)?.[1]?.toLowerCase()
  if ((status === undefined && !isDetail) || named === undefined) return list(seen)
  if (status !== undefined) return triage(seen, named, status)
  const step = lastOf(seen.now, "get_cluster_detail")
  if (step === undefined) return call("get_cluster_detail", { cluster_id: named })
  const value = valueOf(step)
  return value === undefined ? `I could not look: ${outcomeOf(step)}.` : detailText(value)
}
