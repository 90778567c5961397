/**
 * The Operations Agent without a language model: a script over the real tools, for the first walk. It reads what the
 * user wants by simple words, looks before it proposes, and says plainly that it is a script. A pure function of the
 * request: after a restart it goes on where it was.
 */
import type { ModelRequest } from "../../services/ModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Seen, Step } from "./IncidentTranscript.ts"
import { once, outcomeOf, read, valueOf } from "./IncidentTranscript.ts"
import { recordScripts } from "../sample/RecordScripts.ts"
import { worldScript } from "../sample/WorldScript.ts"

const footer =
  "\n\n(I am a scripted model: no language model is configured. The tools and their results are real.)"

const help =
  'I look after what this system could not deliver. Ask me "what is stuck?", then for example "replay the first", "replay order 1003" or "replay all". ' +
  "I look at an event before I propose to send it again, and that needs your approval. " +
  'Ask me "what does the advertising world lack?" too: I ask that world\'s agent. ' +
  'And "which failure clusters are critical?", then "show cluster <id>" or "acknowledge cluster <id>". "Give me a summary" counts what is in which state. ' +
  '"Which patterns are there?" says what failures have in common; "draft the card of support-bot", then "publish draft-1", puts them into that system\'s card.'

const answer = (said: Turn | string): Turn =>
  typeof said === "string" ? text(said + footer) : said

interface Summary {
  readonly event_id: string
  readonly handler_name: string
  readonly dead_at: string
  readonly attempts: number
  readonly last_error: string
}

interface Detail extends Omit<Summary, "last_error"> {
  readonly payload: unknown
  readonly status: string
  readonly failures: ReadonlyArray<{ readonly error: string }>
  readonly resolved_by?: string
  readonly resolved_reason?: string
}

/** The most events that are looked at, or proposed, at once. */
const targets_max = 5

const wantsReplay = /\b(?:re-?play|re-?send|re-?deliver|re-?try|send|repeat|deliver|fix)\b/i
/** "What failed to send?" asks for a list, not for a replay. */
const asks = /^\s*(?:what|which|how|list|show|any|did|is|are|was|were|has|have)\b/i
const wantsDetail = /\b(?:details?|inspect|look at|payload|why)\b/i
const wantsList =
  /\b(?:stuck|dead|delivered|dlq|fail(?:ed|s|ing|ures?)?|letters?|undelivered|list|queue|wrong|problems?|incidents?|events?|orders?|status|happen(?:ed|ing)?)\b/i
const ordinals: ReadonlyArray<RegExp> = [
  /\b(?:first|1st|number one|#1)\b/i,
  /\b(?:second|2nd|number two|#2)\b/i,
  /\b(?:third|3rd|number three|#3)\b/i,
  /\b(?:fourth|4th|#4)\b/i,
  /\b(?:fifth|5th|#5)\b/i
]

const listed = (steps: ReadonlyArray<Step>): ReadonlyArray<Summary> | undefined => {
  const step = steps.findLast(
    (each) => each.name === "list_dlq_events" && valueOf(each) !== undefined
  )
  const value = step === undefined ? undefined : valueOf(step)
  return value?.["events"] as ReadonlyArray<Summary> | undefined
}

/** Details by event id; the newest of each. */
const detailed = (steps: ReadonlyArray<Step>): ReadonlyMap<string, Detail> => {
  const found = new Map<string, Detail>()
  for (const step of steps) {
    const value = step.name === "get_dlq_event_detail" ? valueOf(step) : undefined
    if (value !== undefined) found.set(String(value["event_id"]), value as unknown as Detail)
  }
  return found
}

/** Ids whose detail was asked for, whether it was given or not. */
const lookedAt = (steps: ReadonlyArray<Step>): ReadonlySet<string> =>
  new Set(
    steps
      .filter((step) => step.name === "get_dlq_event_detail")
      .map((step) => String(step.args["event_id"]))
  )

const subjectOf = (detail: Detail | undefined): string | undefined => {
  const payload = detail?.payload
  if (typeof payload !== "object" || payload === null || !("subject" in payload)) return undefined
  return typeof payload.subject === "string" ? payload.subject : undefined
}

const nameOf = (event_id: string, detail: Detail | undefined): string => {
  const subject = subjectOf(detail)
  return subject === undefined ? event_id : `${subject} (${event_id})`
}

const holds = (detail: Detail | undefined, number: string): boolean =>
  detail !== undefined &&
  new RegExp(`(?<!\\d)${number}(?!\\d)`).test(JSON.stringify(detail.payload))

type Targets =
  | { readonly _tag: "Found"; readonly ids: ReadonlyArray<string> }
  /** Their payloads may tell which one is meant. */
  | { readonly _tag: "Unread"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "Missing"; readonly what: string }

const found = (...ids: ReadonlyArray<string>): Targets => ({ _tag: "Found", ids })

/** Which events the user means. */
const targetsOf = (seen: Seen, events: ReadonlyArray<Summary>): Targets => {
  const details = detailed(seen.all)
  const ids = events.map((event) => event.event_id)
  const whole = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i.exec(seen.asked)
  if (whole !== null) return found(whole[0].toLowerCase())
  if (/\b(?:all|every|each|both|them)\b/i.test(seen.asked))
    return found(...ids.slice(0, targets_max))
  const number = /(?<!\d)\d{2,}(?!\d)/.exec(seen.asked)?.[0]
  if (number !== undefined) {
    const match = [...details.keys()].findLast((id) => holds(details.get(id), number))
    if (match !== undefined) return found(match)
    const looked = lookedAt(seen.all)
    const unread = ids.filter((id) => !looked.has(id)).slice(0, targets_max)
    return unread.length > 0 ? { _tag: "Unread", ids: unread } : { _tag: "Missing", what: number }
  }
  const last = ids.at(-1)
  if (last !== undefined && /\b(?:last|oldest)\b/i.test(seen.asked)) return found(last)
  const place = ordinals.findIndex((each) => each.test(seen.asked))
  if (place >= 0) {
    const id = ids[place]
    return id === undefined ? { _tag: "Missing", what: `number ${place + 1}` } : found(id)
  }
  const spokenOf = [...details.keys()].findLast((id) => ids.includes(id))
  const one = spokenOf ?? ids[0]
  return one === undefined ? { _tag: "Missing", what: "such event" } : found(one)
}

const listText = (events: ReadonlyArray<Summary>): string => {
  if (events.length === 0) return "Nothing is stuck: there are no dead letters."
  const lines = events.map(
    (event, i) =>
      `${i + 1}. ${event.event_id}, handler ${event.handler_name}, died at ${event.dead_at} after ${event.attempts} tries; last error: ${event.last_error}`
  )
  return (
    `${events.length === 1 ? "One event" : `${events.length} events`} could not be delivered:\n${lines.join("\n")}\n` +
    'Say "replay the first", "replay order <number>" or "replay all": I look at the event first, and sending it again needs your approval.'
  )
}

const detailText = (detail: Detail): string =>
  `${nameOf(detail.event_id, detail)}, handler ${detail.handler_name}, is ${detail.status} since ${detail.dead_at}.\n` +
  `Its ${detail.failures.length} failed tries: ${detail.failures.map((failure) => failure.error).join("; ")}.\n` +
  `Payload: ${JSON.stringify(detail.payload)}`

const reasonOf = (detail: Detail, proposals: ReadonlyArray<Step>): string => {
  const notes = proposals.flatMap(({ outcome }) =>
    outcome._tag === "Revised" ? [`${outcome.by} asked: ${outcome.note}`] : []
  )
  const last = detail.failures.at(-1)?.error ?? "no error was kept"
  const reason = `${subjectOf(detail) ?? "The event"} was refused ${detail.failures.length} times, last with "${last}"; the fault was the receiver's, and another try can succeed.`
  return [reason, ...notes].join(" ").slice(0, 1_000)
}

const outcomeText = (step: Step, detail: Detail | undefined): string => {
  const name = nameOf(String(step.args["event_id"]), detail)
  const { outcome } = step
  switch (outcome._tag) {
    case "Value":
      if (step.modified !== undefined) {
        return `${step.modified.by} changed the proposal for ${name} to ${JSON.stringify(step.modified.arguments)}, and that was sent.`
      }
      return `${name} is on its way again, approved by ${String(valueOf(step)?.["replayed_by"] ?? "somebody")}, under its own id.`
    case "Denied":
      return `${name} was not sent: ${outcomeOf(step)}. I will not propose it again.`
    case "Unknown":
      return `${name} may have been sent: ${outcomeOf(step)}.`
    default:
      return `${name} was not sent: ${outcomeOf(step)}.`
  }
}

/** Looks at each target, proposes it, takes up what the operator says, and reports. */
const replay = (seen: Seen, ids: ReadonlyArray<string>): Turn => {
  const looked = lookedAt(seen.now)
  const unread = ids.filter((id) => !looked.has(id))
  if (unread.length > 0) {
    return calls(unread.map((event_id) => call("get_dlq_event_detail", { event_id })))
  }
  const details = detailed(seen.now)
  const lines: Array<string> = []
  const proposals: Array<Turn> = []
  for (const event_id of ids) {
    const detail = details.get(event_id)
    const mine = seen.now.filter(
      (step) => step.name === "replay_dlq_event" && step.args["event_id"] === event_id
    )
    const last = mine.at(-1)
    if (last !== undefined && last.outcome._tag !== "Revised") {
      lines.push(outcomeText(last, detail))
    } else if (detail === undefined) {
      const step = seen.now.findLast((each) => each.args["event_id"] === event_id)
      lines.push(`I could not look at ${event_id}: ${step === undefined ? "" : outcomeOf(step)}`)
    } else if (detail.status === "dead") {
      const reason = reasonOf(detail, mine)
      proposals.push(call("replay_dlq_event", { event_id, reason }))
    } else {
      lines.push(
        `${nameOf(event_id, detail)} was ${detail.status} before by ${detail.resolved_by ?? "somebody"} (${detail.resolved_reason ?? "no reason was kept"}); there is nothing to do.`
      )
    }
  }
  return proposals.length > 0 ? calls(proposals) : answer(lines.join("\n"))
}

const inspect = (seen: Seen, ids: ReadonlyArray<string>): Turn => {
  const details = detailed(seen.now)
  const asked = seen.now.filter((step) => step.name === "get_dlq_event_detail")
  const looked = lookedAt(asked)
  const unread = ids.filter((id) => !looked.has(id))
  if (unread.length > 0) {
    return calls(unread.map((event_id) => call("get_dlq_event_detail", { event_id })))
  }
  return answer(
    ids
      .flatMap((id) => {
        const detail = details.get(id)
        if (detail !== undefined) return [detailText(detail)]
        const step = asked.findLast((each) => each.args["event_id"] === id)
        return step === undefined ? [] : [outcomeOf(step)]
      })
      .join("\n\n")
  )
}

/** "What does the advertising world test?" and "ask world advertising" name it. */
const worldIn = (asked: string): string | undefined => {
  const match = /\b([a-z][a-z0-9-]*)\s+world\b|\bworld\s+([a-z][a-z0-9-]*)/i.exec(asked)
  return (match?.[1] ?? match?.[2])?.toLowerCase()
}

const askWorld = (seen: Seen, world_id: string): Turn | string =>
  once(
    seen,
    "ask_world_agent",
    { world_id, question: seen.asked },
    (value) => `The agent of the world ${world_id} says:\n${String(value["answer"])}`,
    `The agent of the world ${world_id} did not answer`
  )

/** What to say to this request. */
export const script = (request: ModelRequest): Turn => {
  if (request.agent.startsWith("world-")) return worldScript(request)
  if (request.tools.length === 0)
    return answer("I have to stop here: this run may use no more tools.")
  const seen = read(request)
  const world = worldIn(seen.asked)
  if (world !== undefined && request.tools.some(({ name }) => name === "ask_world_agent")) {
    return answer(askWorld(seen, world))
  }
  const records = recordScripts.find(
    ({ speaks, tool }) => speaks.test(seen.asked) && request.tools.some(({ name }) => name === tool)
  )
  if (records !== undefined) return answer(records.script(seen))
  const act =
    wantsReplay.test(seen.asked) && !asks.test(seen.asked)
      ? replay
      : wantsDetail.test(seen.asked)
        ? inspect
        : undefined
  if (act === undefined) {
    if (!wantsList.test(seen.asked)) return answer(help)
    const last = seen.now.at(-1)
    if (last === undefined) return call("list_dlq_events")
    const events = listed(seen.now)
    return answer(events === undefined ? `I could not look: ${outcomeOf(last)}` : listText(events))
  }
  // The newest list that the user has seen is what "the first" refers to.
  const events = listed(seen.all)
  if (events === undefined) {
    const failed = seen.now.find((step) => step.name === "list_dlq_events")
    return failed === undefined
      ? call("list_dlq_events")
      : answer(`I could not look: ${outcomeOf(failed)}`)
  }
  const targets = targetsOf(seen, events)
  switch (targets._tag) {
    case "Found":
      return targets.ids.length === 0 ? answer(listText([])) : act(seen, targets.ids)
    case "Unread":
      return calls(targets.ids.map((event_id) => call("get_dlq_event_detail", { event_id })))
    case "Missing":
      return answer(
        events.length === 0
          ? listText(events)
          : `I find no dead letter for ${targets.what}.\n${listText(events)}`
      )
  }
}
