/**
 * Reports as lines for a person, and as JSON for a program.
 */
import type { GateSkipped, Report } from "../../layers/compose/entries/Replay.ts"
import type { RunReplayed } from "../../layers/runtime/replay/RunReplay.ts"
import type { Divergence } from "../../src/replay/Divergence.ts"
import type { DryRun } from "../../src/replay/PolicyDryRun.ts"
import { dryRunText } from "../../src/replay/PolicyDryRun.ts"
import { oneLine } from "../chat/View.ts"

const shown_units = 300

const shown = (value: unknown): string =>
  oneLine(value === null ? "nothing" : JSON.stringify(value), shown_units)

const line = (name: string, text: string): string => `  ${name.padEnd(11)} ${text}`

const divergenceLines = (name: string, odd: Divergence): ReadonlyArray<string> => {
  const at = [
    odd.step === undefined ? [] : [`step ${odd.step}`],
    odd.call === undefined ? [] : [`call ${odd.call}`],
    odd.seq === undefined ? [] : [`event ${odd.seq}`]
  ].flat()
  return [
    line(name, `differs${at.length === 0 ? "" : ` at ${at.join(", ")}`}: ${oneLine(odd.what)}`),
    line("", `expected ${shown(odd.expected)}`),
    line("", `got      ${shown(odd.got)}`)
  ]
}

const skipped: Record<GateSkipped, string> = {
  no_agents: "not run: no agents were given",
  not_known: "not run: an agent of this run is not defined here (--app names a module that has it)",
  clock: "not run: this run was stopped by its time limit, and a replay has no such time"
}

const counted = (gate: RunReplayed): string => {
  const counts = new Map<string, number>()
  for (const { how } of gate.calls) counts.set(how, (counts.get(how) ?? 0) + 1)
  const parts = [...counts].map(([how, count]) => `${count} ${how.replaceAll("_", " ")}`)
  return parts.length === 0 ? "no calls" : `calls: ${parts.join(", ")}`
}

const gateLines = (report: Report, model: string | undefined): ReadonlyArray<string> => {
  const { gate } = report
  if (typeof gate === "string") return [line("gate", skipped[gate])]
  const { divergence, state } = gate
  if (model === undefined) {
    return divergence === undefined
      ? [line("gate", `same; ${counted(gate)}`)]
      : divergenceLines("gate", divergence)
  }
  const ended = state.ended
  return [
    line(
      "model",
      `${oneLine(model)}: ${ended?.status ?? "open"} (${ended?.reason ?? ""}), ${state.steps} turns, ${state.tokens} tokens; ${counted(gate)}`
    ),
    line("", shown(ended?.text ?? "")),
    ...(divergence === undefined
      ? [line("", "the same as the recording")]
      : divergenceLines("first", divergence))
  ]
}

const decisionLines = ({ decisions }: Report): ReadonlyArray<string> =>
  decisions.map(({ by, call, decision, tool }) =>
    line(
      "decision",
      `${decision}${by === undefined ? "" : ` by ${oneLine(by)}`} on ${oneLine(tool)}, call ${call} (not asked again)`
    )
  )

const changedLines = ({ changed }: Report): ReadonlyArray<string> => [
  ...(changed?.definition === true ? [line("changed", "the agent is defined otherwise now")] : []),
  ...(changed?.tools === true ? [line("changed", "its tools are declared otherwise now")] : [])
]

export const reportLines = (
  report: Report,
  model: string | undefined,
  file: string | undefined
): string => {
  const { accepted, calls, ended } = report.recording
  const { divergence, erased, events, run, same, steps } = report
  return [
    `run ${run} of ${accepted.address.agent}: ${ended?.status ?? "open"} (${oneLine(ended?.reason ?? "")}), ${steps.length} turns, ${calls.length} calls`,
    ...(divergence === undefined
      ? [line("journal", `same: ${same} of ${events} events came out again`)]
      : divergenceLines("journal", divergence)),
    ...gateLines(report, model),
    ...decisionLines(report),
    ...changedLines(report),
    ...erased.map(({ path, seq }) => line("erased", `event ${seq}, ${path}`)),
    ...(file === undefined ? [] : [line("written", file)])
  ].join("\n")
}

export const reportJson = (report: Report): string => {
  const { changed, decisions, divergence, erased, events, gate, recording, run, same, steps } =
    report
  return JSON.stringify(
    {
      run,
      agent: recording.accepted.address.agent,
      status: recording.ended?.status ?? null,
      reason: recording.ended?.reason ?? null,
      journal: { events, same, divergence: divergence ?? null },
      gate:
        typeof gate === "string"
          ? { run: false, why: gate }
          : {
              run: true,
              status: gate.state.ended?.status ?? null,
              reason: gate.state.ended?.reason ?? null,
              text: gate.state.ended?.text ?? null,
              turns: gate.state.steps,
              tokens: gate.state.tokens,
              calls: gate.calls,
              divergence: gate.divergence ?? null
            },
      steps,
      decisions,
      erased,
      changed: changed ?? null
    },
    null,
    2
  )
}

export const dryRunLines = (result: DryRun): string =>
  [
    dryRunText(result),
    line(
      "happened",
      `${result.was.allow} allowed, ${result.was.ask} asked, ${result.was.deny} denied`
    ),
    line("now", `${result.now.allow} allowed, ${result.now.ask} asked, ${result.now.deny} denied`),
    ...(result.unknown === 0
      ? []
      : [line("unknown", `${result.unknown} calls of tools that are not defined here`)]),
    ...result.list.map(({ agent, arguments: args, call, now, run, tool, was }) =>
      line(
        "changes",
        `${was} -> ${now}  ${agent} ${oneLine(tool)} ${shown(args)}  run ${run} call ${call}`
      )
    ),
    ...(result.left_off === 0 ? [] : [line("", `and ${result.left_off} more`)]),
    ...result.quarantined.map((run) => line("quarantine", `run ${run} cannot be read; left out`))
  ].join("\n")

export const dryRunJson = (result: DryRun): string => JSON.stringify(result, null, 2)
