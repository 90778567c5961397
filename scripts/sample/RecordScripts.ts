/**
 * The Operations Agent on the records of a workspace without a language model: scripts over its real tools. It looks at a cluster
 * before it proposes a triage, and reads a draft before it proposes its publication.
 */
import type { RecordCounts } from "../../src/spectral/platform/RecordTools.ts"
import type { Draft } from "../../src/spectral/platform/contracts/Draft.ts"
import { targetOf } from "../../src/spectral/platform/contracts/Draft.ts"
import type { FailurePattern } from "../../src/spectral/platform/FailurePatterns.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Seen } from "../incident/IncidentTranscript.ts"
import { lastOf, once } from "../incident/IncidentTranscript.ts"

const percent = (part: number): string => `${Math.round(part * 100)} %`

const countLine = (name: string, counts: Readonly<Record<string, number>>): string => {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return `${name}: ${some.length === 0 ? "none" : some.map(([state, count]) => `${count} ${state}`).join(", ")}`
}

const summary = (seen: Seen): Turn | string =>
  once(seen, "get_operations_summary", {}, (value) => {
    const { changesets, clusters, drafts, open_clusters, scans } = value as unknown as RecordCounts
    return [
      countLine("Scans", scans),
      countLine("Change sets", changesets),
      countLine("Failure clusters", clusters),
      countLine("Open failure clusters", open_clusters),
      countLine("Drafts", drafts)
    ].join("\n")
  })

interface ClusterSummary {
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

const clusterLine = (
  { cluster_id, failures, severity, status, title }: ClusterSummary,
  i: number
): string =>
  `${i + 1}. ${cluster_id} (${severity}, ${status}): ${title}; ${failures} failures in its last scan`

const listClusters = (seen: Seen): Turn | string => {
  const severity = /\b(critical|high|medium|low)\b/i.exec(seen.asked)?.[1]?.toLowerCase()
  const args = { limit: 10, ...(severity === undefined ? undefined : { severity }) }
  return once(seen, "list_failure_clusters", args, ({ clusters = [], more }) => {
    const found = clusters as ReadonlyArray<ClusterSummary>
    if (found.length === 0) return "There is no such failure cluster."
    return [
      ...found.map(clusterLine),
      ...(more === true ? ["There are more."] : []),
      'Say "show cluster <id>", or "acknowledge cluster <id>": that needs an approval.'
    ].join("\n")
  })
}

const clusterText = (value: Readonly<Record<string, unknown>>): string => {
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
    `${cluster.snapshot.failures} failures in its last scan, ${percent(share)} of them all. For example: ${example}`,
    ...failures.slice(0, 3).map(({ excerpt, failure_id }) => `- ${failure_id}: ${excerpt}`)
  ].join("\n")
}

/** Looks at the cluster, proposes its triage once, and reports. */
const triage = (seen: Seen, cluster_id: string, status: string): Turn | string => {
  const notes = `Asked for in the chat: ${seen.asked}`.slice(0, 2_000)
  const propose = () =>
    once(
      seen,
      "triage_cluster",
      { cluster_id, status, notes },
      (value) =>
        `${cluster_id} is ${String(value["status"])} now, approved by ${String(value["triaged_by"])}.`,
      `${cluster_id} was not changed`
    )
  return lastOf(seen, "triage_cluster") === undefined
    ? once(seen, "get_cluster_detail", { cluster_id }, propose)
    : propose()
}

const clusters = (seen: Seen): Turn | string => {
  const status = triages.find(([word]) => word.test(seen.asked))?.[1]
  const cluster_id = /\bcluster\s+([a-z0-9][a-z0-9-]*)/i.exec(seen.asked)?.[1]?.toLowerCase()
  if (cluster_id !== undefined && status !== undefined) return triage(seen, cluster_id, status)
  return cluster_id !== undefined && wantsDetail.test(seen.asked)
    ? once(seen, "get_cluster_detail", { cluster_id }, clusterText)
    : listClusters(seen)
}

/** Patterns that a drafted card names. */
const drafted_max = 3

const systemIn = (asked: string): string | undefined =>
  /\b(?:card|system|patterns?) (?:of|for) (?:system )?([a-z0-9][a-z0-9-]*)/i
    .exec(asked)?.[1]
    ?.toLowerCase()

const patternText = (
  { clusters, examples, failures, severity, share, systems, title }: FailurePattern,
  i: number
): string =>
  `${i + 1}. ${title} (${severity}): ${failures} failures, ${percent(share)}, in ${clusters} ${clusters === 1 ? "cluster" : "clusters"} of ${systems.join(", ")}. For example: ${examples[0] ?? "none"}`

/** What the clusters have in common, of one system if one is named; `none` is the answer where there are none. */
const distil = (
  seen: Seen,
  system_id: string | undefined,
  none: string,
  then: (found: ReadonlyArray<FailurePattern>) => Turn | string
): Turn | string =>
  once(
    seen,
    "distill_failure_patterns",
    system_id === undefined ? {} : { system_id },
    ({ patterns }) => {
      const found = patterns as ReadonlyArray<FailurePattern>
      return found.length === 0 ? none : then(found)
    }
  )

const patterns = (seen: Seen): Turn | string =>
  distil(seen, systemIn(seen.asked), "There is no open failure cluster.", (found) =>
    [
      ...found.map(patternText),
      'Say "draft the card of <system>": I add the largest of its patterns to its known limits.'
    ].join("\n")
  )

/** Distils the failures of one system into a draft of its card. */
const draftCard = (seen: Seen, system_id: string): Turn | string =>
  distil(seen, system_id, `${system_id} has no open failure cluster.`, (found) => {
    const add_limits = found.slice(0, drafted_max).map((pattern) => pattern.summary)
    const title = `Known limits of ${system_id}, from its failure clusters`
    return once(
      seen,
      "draft_system_card",
      { system_id, title, add_limits },
      (value) => {
        const id = String(value["draft_id"])
        return `${id} is written: the card of ${system_id} with ${add_limits.length} more limits. It changes nothing yet. Say "show ${id}" or "publish ${id}": that needs an approval.`
      },
      "I could not write it"
    )
  })

const line = (text: string): string => `- ${text}`

const contentText = (draft: Draft): ReadonlyArray<string> =>
  draft.kind === "rubric"
    ? [`Threshold ${draft.content.threshold}. Criteria:`, ...draft.content.criteria.map(line)]
    : [`${draft.content.purpose} Limits:`, ...draft.content.limits.map(line)]

const stateOf = (status: string): string => (status === "draft" ? "waiting" : status)

const draftText = (draft: Draft): string =>
  [
    `${draft.draft_id} is ${stateOf(draft.state.status)}: ${draft.title}. It is of ${targetOf(draft)}, revision ${draft.based_on}.`,
    ...contentText(draft)
  ].join("\n")

const readDraft = (seen: Seen, draft_id: string, then: (draft: Draft) => Turn | string) =>
  once(seen, "get_draft", { draft_id }, (value) => then(value as unknown as Draft))

/** Reads the draft, proposes once what becomes of it, and reports. */
const close = (seen: Seen, draft_id: string, verb: "publish" | "withdraw"): Turn | string => {
  const done = verb === "publish" ? "published" : "withdrawn"
  const reason = `Asked for in the chat: ${seen.asked}`.slice(0, 1_000)
  const propose = (about: Readonly<Record<string, string | number>>) =>
    once(
      seen,
      `${verb}_draft`,
      { draft_id, ...about, reason },
      (value) => `${draft_id} is ${done} now, approved by ${String(value[`${done}_by`])}.`,
      `${draft_id} was not ${done}`
    )
  if (lastOf(seen, `${verb}_draft`) !== undefined) return propose({})
  return readDraft(seen, draft_id, (draft) =>
    propose(verb === "withdraw" ? {} : { target_id: targetOf(draft), based_on: draft.based_on })
  )
}

const listDrafts = (seen: Seen): Turn | string =>
  once(seen, "list_drafts", { limit: 10 }, (value) => {
    const drafts = value["drafts"] as ReadonlyArray<{
      readonly draft_id: string
      readonly status: string
      readonly target_id: string
      readonly title: string
    }>
    return drafts.length === 0
      ? 'There are no drafts. Say "draft the card of support-bot".'
      : drafts
          .map(
            ({ draft_id, status, target_id, title }) =>
              `${draft_id} of ${target_id} (${stateOf(status)}): ${title}`
          )
          .join("\n")
  })

const drafts = (seen: Seen): Turn | string => {
  const { asked } = seen
  const named = /\bdraft-\d+/i.exec(asked)?.[0].toLowerCase()
  const verb = /\bpublish/i.test(asked)
    ? "publish"
    : /\bwithdraw/i.test(asked)
      ? "withdraw"
      : undefined
  if (named !== undefined) {
    return verb === undefined ? readDraft(seen, named, draftText) : close(seen, named, verb)
  }
  const system = systemIn(asked)
  if (verb === undefined && system !== undefined && /\bdraft\b/i.test(asked)) {
    return draftCard(seen, system)
  }
  return /\b(?:patterns?|distil)/i.test(asked) ? patterns(seen) : listDrafts(seen)
}

/** What to say where the user speaks of records, and the agent has the tool; a text is an answer. */
export const recordScripts: ReadonlyArray<{
  readonly speaks: RegExp
  readonly tool: string
  readonly script: (seen: Seen) => Turn | string
}> = [
  { speaks: /\b(?:summary|overview)\b/i, tool: "get_operations_summary", script: summary },
  {
    speaks: /\b(?:drafts?|patterns?|distil|publish|withdraw)/i,
    tool: "publish_draft",
    script: drafts
  },
  { speaks: /\bclusters?\b/i, tool: "triage_cluster", script: clusters }
]
