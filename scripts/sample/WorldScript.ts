/**
 * A world's agent without a language model: a script over its real tools. It says where the world is thin, and proposes a rule
 * candidate for the first topic that nothing tests, where it is asked to. A pure function of the request.
 */
import type { ModelRequest } from "../../services/ModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Seen, Step } from "../incident/IncidentTranscript.ts"
import { lastOf, listIn, read, valueOf } from "../incident/IncidentTranscript.ts"

interface Gap {
  readonly topic: string
  readonly rules: number
  readonly cases: number
  readonly kind: string
}

interface Weak {
  readonly rule_id: string
  readonly support: string
}

const wantsProposal = /\b(?:propose|suggest|draft|candidate)\b/i

const cardText = (step: Step | undefined): string => {
  const card = step === undefined ? undefined : valueOf(step)
  if (card === undefined) return "I could not read the world's card."
  const covered = Math.round(Number(card["coverage"]) * 100)
  return `${String(card["name"])}, version ${String(card["version"])}: ${String(card["rules"])} rules in ${String(card["topics"])} topics, ${String(card["cases"])} evaluation cases; ${covered} % of the topics have enough of them.`
}

const gapsText = (gaps: ReadonlyArray<Gap>): string =>
  gaps.length === 0
    ? "Every topic has enough cases."
    : `Thin coverage: ${gaps.map(({ cases, kind, rules, topic }) => `${topic} (${kind}: ${rules} rules, ${cases} cases)`).join("; ")}.`

const weakText = (rules: ReadonlyArray<Weak>): string =>
  rules.length === 0
    ? "Every rule has moderate or strong support."
    : `Weak provenance: ${rules.map(({ rule_id, support }) => `${rule_id} (${support})`).join(", ")}.`

const report = (seen: Seen): Turn => {
  const card = lastOf(seen, "get_world_model_card")
  if (card === undefined) {
    return calls([
      call("get_world_model_card"),
      call("list_coverage_gaps", { limit: 10 }),
      call("list_weak_provenance", { limit: 10 })
    ])
  }
  return text(
    [
      cardText(card),
      gapsText(listIn(lastOf(seen, "list_coverage_gaps"), "gaps")),
      weakText(listIn(lastOf(seen, "list_weak_provenance"), "rules"))
    ].join("\n")
  )
}

const proposal = (seen: Seen): Turn => {
  const looked = lastOf(seen, "list_coverage_gaps")
  if (looked === undefined) {
    return calls([
      call("list_coverage_gaps", { limit: 1 }),
      call("list_rule_candidates", { limit: 100 })
    ])
  }
  const [gap] = listIn<Gap>(looked, "gaps")
  if (gap === undefined) return text("Every topic has enough cases: I propose nothing.")
  const title = `${gap.topic}: cases before rules`
  const waiting = listIn<{ readonly title: string }>(
    lastOf(seen, "list_rule_candidates"),
    "candidates"
  )
  if (waiting.some((candidate) => candidate.title === title)) {
    return text(`A candidate for ${gap.topic} waits for a decision already.`)
  }
  const made = lastOf(seen, "propose_rule_candidate")
  if (made !== undefined) {
    const candidate = valueOf(made)
    return text(
      candidate === undefined
        ? "The candidate could not be proposed."
        : `I proposed "${title}" (${String(candidate["candidate_id"])}). People decide about it; no rule has changed.`
    )
  }
  return call("propose_rule_candidate", {
    topic: gap.topic,
    title,
    body: `No verdict on ${gap.topic} is given before at least five cases with known verdicts exist.`,
    rationale: `The topic is ${gap.kind}: ${gap.rules} rules and ${gap.cases} cases.`,
    evidence: ["basics"]
  })
}

/** What the agent of a world says to this request. */
export const worldScript = (request: ModelRequest): Turn => {
  const seen = read(request)
  if (request.tools.length === 0) return text("I have to stop here: I may use no more tools.")
  return wantsProposal.test(seen.asked) ? proposal(seen) : report(seen)
}
