/**
 * The Spectral Agent without a language model: a script over its specialists' real tools. It reports how the workspace stands, and
 * has a scan schedule changed or a change set applied where it is asked to. A pure function of the request.
 */
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { spectral_name } from "../../src/spectral/agents/SpectralAgents.ts"
import type { SpecialistName } from "../../src/spectral/agents/SpectralAgents.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Seen, Step } from "../incident/IncidentTranscript.ts"
import { jsonOf, lastOf, listIn, outcomeOf, read, valueOf } from "../incident/IncidentTranscript.ts"

const schedules = /\b(hourly|daily|weekly)\b|\bevery (hour|day|week)\b/i
const wantsChangeset = /\bapply\b.*?\b(change-?[a-z0-9-]*\d|[a-z0-9-]+-change-\d+)\b/i

const help =
  'I answer for your workspace. Ask "How do my systems do?", or say "Scan every week": I have it changed when you agree.'

/** The schedule that is asked for, in the tool's word. */
const scheduleIn = (asked: string): string | undefined => {
  const [, word, unit] = schedules.exec(asked) ?? []
  if (word !== undefined) return word.toLowerCase()
  const ofUnit: Readonly<Record<string, string>> = { hour: "hourly", day: "daily", week: "weekly" }
  return unit === undefined ? undefined : ofUnit[unit.toLowerCase()]
}

const delegate = (name: SpecialistName, task: string): Turn => call(`ask_${name}`, { task })

/** What a specialist said, or why it said nothing. */
const heard = (step: Step): string => {
  const json = jsonOf(step)
  return typeof json === "string" ? json : `it could not be found out: ${outcomeOf(step)}`
}

const report = (seen: Seen): Turn => {
  const [scans, health] = [lastOf(seen, "ask_scan-analyst"), lastOf(seen, "ask_troubleshooter")]
  if (scans === undefined || health === undefined) {
    return calls([
      delegate(
        "scan-analyst",
        "Which are the newest scans, and how did the newest finished one score?"
      ),
      delegate("troubleshooter", "How healthy is the workspace, and what failed last?")
    ])
  }
  return text(`${heard(scans)}\n${heard(health)}`)
}

const reschedule = (seen: Seen, schedule: string): Turn => {
  const config = lastOf(seen, "ask_framework-advisor")
  if (config === undefined) {
    return delegate(
      "framework-advisor",
      "Which scan schedule is set, in which version of the configuration?"
    )
  }
  const change = lastOf(seen, "ask_change-manager")
  if (change !== undefined) return text(heard(change))
  const version = /version (\d+)/.exec(heard(config))?.[1]
  return version === undefined
    ? text(heard(config))
    : delegate(
        "change-manager",
        `Set scan_schedule to ${schedule}, at version ${version} of the configuration. Reason: the customer asked for it.`
      )
}

const apply = (seen: Seen, changeset: string): Turn => {
  const change = lastOf(seen, "ask_change-manager")
  return change === undefined
    ? delegate("change-manager", `Apply the change set ${changeset}.`)
    : text(heard(change))
}

const supervise = (seen: Seen): Turn => {
  const changeset = wantsChangeset.exec(seen.asked)?.[1]
  if (changeset !== undefined) return apply(seen, changeset)
  const schedule = scheduleIn(seen.asked)
  if (schedule !== undefined) return reschedule(seen, schedule)
  return /\b(how|what|which|why|scans?|score|health|fail\w*|systems?)\b/i.test(seen.asked)
    ? report(seen)
    : text(help)
}

interface Scan {
  readonly scan_id: string
  readonly system_id: string
  readonly status: string
  readonly traces: number
  readonly failures: number
}
interface Score {
  readonly rubric_id: string
  readonly score: number
  readonly threshold: number
}

const analyse = (seen: Seen): Turn => {
  const listed = lastOf(seen, "list_recent_scans")
  if (listed === undefined) return call("list_recent_scans", { limit: 5 })
  const scans = listIn<Scan>(listed, "scans")
  const newest = scans.find(({ status }) => status === "completed")
  if (newest === undefined) return text("No scan has finished yet.")
  const scored = lastOf(seen, "get_scan_scores")
  if (scored === undefined) return call("get_scan_scores", { scan_id: newest.scan_id })
  const missed = listIn<Score>(scored, "scores").filter(({ score, threshold }) => score < threshold)
  const rubrics = missed.map(
    ({ rubric_id, score, threshold }) => `${rubric_id} ${score} (at least ${threshold})`
  )
  return text(
    `The newest finished scan is ${newest.scan_id} of ${newest.system_id}: ${newest.failures} of ${newest.traces} traces failed. ` +
      (rubrics.length === 0
        ? "Every rubric is at its threshold."
        : `Below their threshold: ${rubrics.join(", ")}.`)
  )
}

const troubleshoot = (seen: Seen): Turn => {
  const checked = lastOf(seen, "check_workspace_health")
  if (checked === undefined) {
    return calls([call("check_workspace_health"), call("get_recent_errors", { limit: 1 })])
  }
  const health = valueOf(checked)
  if (health === undefined)
    return text(`The workspace's health could not be read: ${outcomeOf(checked)}.`)
  const findings = (health["findings"] ?? []) as ReadonlyArray<string>
  const [last] = listIn<{ readonly message: string }>(lastOf(seen, "get_recent_errors"), "errors")
  return text(
    [
      `The workspace is ${String(health["state"])}${findings.length === 0 ? "" : `: ${findings.join("; ")}`}.`,
      ...(last === undefined ? [] : [`The last error: ${last.message}`])
    ].join(" ")
  )
}

const advise = (seen: Seen): Turn => {
  const found = lastOf(seen, "get_framework_config")
  if (found === undefined) return call("get_framework_config")
  const config = valueOf(found)
  if (config === undefined) return text(`The configuration could not be read: ${outcomeOf(found)}.`)
  const { scan_schedule } = config["configuration"] as { readonly scan_schedule: string }
  return text(
    `Scans run ${scan_schedule}, by version ${String(config["configuration_version"])} of the configuration.`
  )
}

const change = (seen: Seen): Turn => {
  const made = seen.now.at(-1)
  if (made !== undefined) {
    const value = valueOf(made)
    const what = made.name === "apply_changeset" ? "The change set is applied" : "It is changed"
    return text(
      value === undefined
        ? `Nothing was changed: ${outcomeOf(made)}.`
        : `${what}: ${JSON.stringify(value)}.`
    )
  }
  const [, changeset_id] = /^Apply the change set (\S+?)\.?$/.exec(seen.asked) ?? []
  if (changeset_id !== undefined) return call("apply_changeset", { changeset_id })
  const [, scan_schedule = "", version, reason = ""] =
    /^Set scan_schedule to (\w+), at version (\d+) .*?Reason: (.+)$/.exec(seen.asked) ?? []
  return version === undefined
    ? text("The task does not say what is to be changed.")
    : call("change_configuration", {
        version: Number(version),
        scan_schedule,
        reason
      })
}

/** What the supervisor or one of its specialists says to this request; undefined = it is another agent. */
export const spectralScript = (request: ModelRequest): Turn | undefined => {
  const turns: Readonly<Record<string, (seen: Seen) => Turn>> = {
    [spectral_name]: supervise,
    "scan-analyst": analyse,
    troubleshooter: troubleshoot,
    "framework-advisor": advise,
    "change-manager": change,
    "onboarding-guide": () => text(help)
  }
  const turn = Object.hasOwn(turns, request.agent) ? turns[request.agent] : undefined
  if (turn === undefined) return undefined
  return request.tools.length === 0
    ? text("I have to stop here: I may use no more tools.")
    : turn(read(request))
}
