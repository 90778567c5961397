/**
 * The keeper without a language model: a script over its configured tools. It reads its workflow before it proposes a change
 * of it. A pure function of the request.
 */
import { call, text } from "../../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../../services/ModelGateway.ts"
import type { Json } from "../../../src/value/Canonical.ts"
import { isJsonObject } from "../../../src/call/BodyPath.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import type { Seen, Step } from "../../../scripts/incident/IncidentTranscript.ts"
import { jsonOf, read, valueOf } from "../../../scripts/incident/IncidentTranscript.ts"
import { keeper_slug } from "./Seeds.ts"

const footer =
  "\n\n(I am a scripted model: no language model is configured. The tools and their results are real.)"

const help =
  'I keep a workflow of the platform. Say "make it colder" or "make it warmer" and I propose a revision; "summarize: " and a text runs another workflow; ' +
  '"open an issue: " and a title calls the gateway; "what can be connected to github?" searches it.'

const lastOf = (seen: Seen, name: string): Step | undefined =>
  seen.now.findLast((step) => step.name === name)

/** Why a call has no value, for a person. */
const whyNot = ({ outcome }: Step): string => {
  switch (outcome._tag) {
    case "Failed":
      return outcome.error.message
    case "Denied":
      return `${outcome.by} denied it (${outcome.reason})`
    case "Revised":
      return `${outcome.by} asked for another proposal: ${outcome.note}`
    case "Unknown":
      return "nobody knows whether it took effect: an operator must say"
    default:
      return "it was not done"
  }
}

/** Calls a tool once, and says what became of it. */
const once = (seen: Seen, tool: string, args: Json, report: (step: Step) => string): Turn => {
  const step = lastOf(seen, tool)
  if (step === undefined) return call(tool, args)
  return text((step.outcome._tag === "Value" ? report(step) : `${tool}: ${whyNot(step)}.`) + footer)
}

const memberIn = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** The temperature of the own workflow's latest revision, as the platform lists it. */
const dataOf = (step: Step): Readonly<Record<string, Json>> | undefined => {
  const workflows = memberIn(valueOf(step), "workflows")
  const own = Array.isArray(workflows)
    ? workflows.find((each) => memberIn(each, "slug") === keeper_slug)
    : undefined
  const data = memberIn(memberIn(own, "latest_revision"), "data") as Json | undefined
  return isJsonObject(data) ? data : undefined
}

const change = (seen: Seen, word: "colder" | "warmer"): Turn => {
  const looked = lastOf(seen, "query_workflows")
  if (looked === undefined) {
    return call("query_workflows", { workflow_refs: [{ slug: keeper_slug }] })
  }
  const data = dataOf(looked)
  if (data === undefined) return text(`I could not read the workflow: ${whyNot(looked)}.${footer}`)
  const before = Number(data["temperature"])
  const temperature = Math.round((word === "colder" ? before - 0.1 : before + 0.1) * 10) / 10
  const args = { workflow_revision: { message: `${word}.`, data: { ...data, temperature } } }
  return once(seen, "commit_revision", args, (step) => {
    const made = memberIn(valueOf(step), "workflow_revision")
    return `Revision ${String(memberIn(made, "version"))} is committed: its temperature is ${String(memberIn(memberIn(made, "data"), "temperature"))}.`
  })
}

const restOf = (asked: string): string => asked.slice(asked.indexOf(":") + 1).trim()

const shown = (step: Step): string => {
  const json = jsonOf(step)
  return typeof json === "string"
    ? json
    : JSON.stringify(json ?? "the result is too long to be read")
}

/** What the keeper says to this request. */
export const keeperScript = (request: ModelRequest): Turn => {
  if (request.tools.length === 0)
    return text(`I have to stop here: I may use no more tools.${footer}`)
  const seen = read(request)
  const [word] = /\b(?:colder|warmer)\b/i.exec(seen.asked) ?? []
  if (word !== undefined) return change(seen, word.toLowerCase() as "colder" | "warmer")
  if (/^\s*summari[sz]e\b.*:/i.test(seen.asked)) {
    return once(seen, "summarize", { text: restOf(seen.asked) }, shown)
  }
  if (/\bissue\b.*:/i.test(seen.asked)) {
    return once(seen, "create_issue", { title: restOf(seen.asked) }, shown)
  }
  if (/\bconnect/i.test(seen.asked)) {
    return once(seen, "discover_tools", { use_cases: [seen.asked] }, shown)
  }
  return text(help + footer)
}
