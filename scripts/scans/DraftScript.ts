/**
 * The Operations Agent on failure patterns and drafts without a language model: a script over its real tools. It reads a draft
 * before it proposes its publication.
 */
import { call } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Draft } from "../../src/spectral/platform/contracts/Draft.ts"
import { targetOf } from "../../src/spectral/platform/contracts/Draft.ts"
import type { FailurePattern } from "../../src/spectral/platform/FailurePatterns.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Seen, Step } from "../incident/IncidentTranscript.ts"
import { outcomeOf, valueOf } from "../incident/IncidentTranscript.ts"

/** Patterns that a drafted card names. */
const drafted_max = 3

/** Whether the user speaks of what failures have in common, or of drafts. */
export const speaksOfDrafts = ({ asked }: Seen): boolean =>
  /\b(?:drafts?|patterns?|distil|publish|withdraw)/i.test(asked)

const lastOf = (steps: ReadonlyArray<Step>, ...names: ReadonlyArray<string>): Step | undefined =>
  steps.findLast((step) => names.includes(step.name))

const systemIn = (asked: string): string | undefined =>
  /\b(?:card|system|patterns?) (?:of|for) (?:system )?([a-z0-9][a-z0-9-]*)/i
    .exec(asked)?.[1]
    ?.toLowerCase()

const share = (part: number): string => `${Math.round(part * 100)} %`

const patternText = (
  { clusters, examples, failures, severity, share: part, systems, title }: FailurePattern,
  i: number
): string =>
  `${i + 1}. ${title} (${severity}): ${failures} failures, ${share(part)}, in ${clusters} ${clusters === 1 ? "cluster" : "clusters"} of ${systems.join(", ")}. For example: ${examples[0] ?? "none"}`

/** What the clusters have in common, of one system if one is named. */
const distil = (
  seen: Seen,
  system_id: string | undefined
): Turn | readonly FailurePattern[] | string => {
  const step = lastOf(seen.now, "distill_failure_patterns")
  if (step === undefined) {
    return call("distill_failure_patterns", system_id === undefined ? {} : { system_id })
  }
  const value = valueOf(step)
  return value === undefined
    ? `I could not look: ${outcomeOf(step)}.`
    : (value["patterns"] as ReadonlyArray<FailurePattern>)
}

const isPatterns = (found: ReturnType<typeof distil>): found is ReadonlyArray<FailurePattern> =>
  Array.isArray(found)

const patterns = (seen: Seen): Turn | string => {
  const found = distil(seen, systemIn(seen.asked))
  if (!isPatterns(found)) return found
  if (found.length === 0) return "There is no open failure cluster."
  return [
    ...found.map(patternText),
    'Say "draft the card of <system>": I add the largest of its patterns to its known limits.'
  ].join("\n")
}

/** Distils the failures of one system into a draft of its card. */
const draftCard = (seen: Seen, system_id: string): Turn | string => {
  const found = distil(seen, system_id)
  if (!isPatterns(found)) return found
  if (found.length === 0) return `${system_id} has no open failure cluster.`
  const step = lastOf(seen.now, "draft_system_card")
  if (step === undefined) {
    const add_limits = found.slice(0, drafted_max).map(({ summary }) => summary)
    const title = `Known limits of ${system_id}, from its failure clusters`
    return call("draft_system_card", { system_id, title, add_limits })
  }
  const value = valueOf(step)
  return value === undefined
    ? `I could not write it: ${outcomeOf(step)}.`
    : `${String(value["draft_id"])} is written: the card of ${system_id} with ${Math.min(found.length, drafted_max)} more limits. It changes nothing yet. Say "show ${String(value["draft_id"])}" or "publish ${String(value["draft_id"])}": that needs an approval.`
}

const contentText = (draft: Draft): ReadonlyArray<string> =>
  draft.kind === "rubric"
    ? [`Threshold ${draft.content.threshold}. Criteria:`, ...draft.content.criteria.map(line)]
    : [`${draft.content.purpose} Limits:`, ...draft.content.limits.map(line)]

const line = (text: string): string => `- ${text}`

const draftText = (draft: Draft): string =>
  [
    `${draft.draft_id} is ${draft.state.status === "draft" ? "waiting" : draft.state.status}: ${draft.title}. It is of ${targetOf(draft)}, revision ${draft.based_on}.`,
    ...contentText(draft)
  ].join("\n")

/** Reads the draft, proposes once what becomes of it, and reports. */
const close = (seen: Seen, draft_id: string, verb: "publish" | "withdraw"): Turn | string => {
  const done = verb === "publish" ? "published" : "withdrawn"
  const proposal = lastOf(seen.now, `${verb}_draft`)
  if (proposal !== undefined) {
    const value = valueOf(proposal)
    return value === undefined
      ? `${draft_id} was not ${done}: ${outcomeOf(proposal)}.`
      : `${draft_id} is ${done} now, approved by ${String(value[`${done}_by`])}.`
  }
  const looked = lastOf(seen.now, "get_draft")
  if (looked === undefined) return call("get_draft", { draft_id })
  const draft = valueOf(looked) as Draft | undefined
  if (draft === undefined) return `I could not look: ${outcomeOf(looked)}.`
  const reason = `Asked for in the chat: ${seen.asked}`.slice(0, 1_000)
  return verb === "withdraw"
    ? call("withdraw_draft", { draft_id, reason })
    : call("publish_draft", {
        draft_id,
        target_id: targetOf(draft),
        based_on: draft.based_on,
        reason
      })
}

const list = (seen: Seen): Turn | string => {
  const step = lastOf(seen.now, "list_drafts")
  if (step === undefined) return call("list_drafts", { limit: 10 })
  const drafts = valueOf(step)?.["drafts"] as
    | ReadonlyArray<{
        readonly draft_id: string
        readonly status: string
        readonly target_id: string
        readonly title: string
      }>
    | undefined
  if (drafts === undefined) return `I could not look: ${outcomeOf(step)}.`
  return drafts.length === 0
    ? 'There are no drafts. Say "draft the card of support-bot".'
    : drafts
        .map(
          ({ draft_id, status, target_id, title }) =>
            `${draft_id} of ${target_id} (${status === "draft" ? "waiting" : status}): ${title}`
        )
        .join("\n")
}

const show = (seen: Seen, draft_id: string): Turn | string => {
  const step = lastOf(seen.now, "get_draft")
  if (step === undefined) return call("get_draft", { draft_id })
  const draft = valueOf(step) as Draft | undefined
  return draft === undefined ? `I could not look: ${outcomeOf(step)}.` : draftText(draft)
}

/** What to say about patterns and drafts; a text is an answer. */
export const draftScript = (seen: Seen): Turn | string => {
  const { asked } = seen
  const named = /\bdraft-\d+/i.exec(asked)?.[0].toLowerCase()
  const verb = /\bpublish/i.test(asked)
    ? "publish"
    : /\bwithdraw/i.test(asked)
      ? "withdraw"
      : undefined
  if (named !== undefined) return verb === undefined ? show(seen, named) : close(seen, named, verb)
  const system = systemIn(asked)
  if (verb === undefined && system !== undefined && /\bdraft\b/i.test(asked)) {
    return draftCard(seen, system)
  }
  return /\b(?:patterns?|distil)/i.test(asked) ? patterns(seen) : list(seen)
}
