/** Open questions beside the agents and tools of a process: what of the waiting work another release of them leaves behind. */
import { Effect } from "effect"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { Finding } from "../../src/value/Finding.ts"
import { ids_max, ok, warning } from "../../src/value/Finding.ts"

/** A question that waits, as far as it is compared. */
export interface OpenQuestion {
  readonly run_id: string
  readonly agent: string
  /** The agent or specialist that asks for the tool. */
  readonly asked_by: string
  readonly tool_key: string
  /** The pins of the agent at the time when the run was accepted. */
  readonly pins: { readonly definition: string; readonly tools: string }
}

const findingsOf = (
  waiting: ReadonlyArray<OpenQuestion>,
  message: (n: number) => string
): ReadonlyArray<Finding> =>
  waiting.length === 0
    ? []
    : [
        {
          ...warning("tools", message(waiting.length)),
          ids: waiting.slice(0, ids_max).map(({ run_id, tool_key }) => `${run_id} ${tool_key}`)
        }
      ]

/**
 * Finds open questions whose tool no longer exists, or whose agent had other tools when the run was accepted. `strange` says why
 * those of unknown agents were not compared.
 */
export const compareQuestions = Effect.fnUntraced(function* (
  waiting: ReadonlyArray<OpenQuestion>,
  strange: string
): Effect.fn.Return<ReadonlyArray<Finding>, never, AgentDirectory> {
  const directory = yield* AgentDirectory
  const groups = Map.groupBy(waiting, ({ agent, asked_by, pins, tool_key }) => {
    const [own, asking] = [directory.get(agent), directory.get(asked_by)]
    if (own === undefined || asking === undefined) return "strange"
    if (![...asking.tools.values()].some(({ key }) => key === tool_key)) return "gone"
    const isSame = own.pins.tools === pins.tools && own.pins.definition === pins.definition
    return isSame ? "same" : "changed"
  })
  const unknown = new Set((groups.get("strange") ?? []).map(({ agent }) => agent))
  const findings = [
    ...findingsOf(
      groups.get("gone") ?? [],
      (n) => `${n} open questions are about tools that their agents do not have any more`
    ),
    ...findingsOf(
      groups.get("changed") ?? [],
      (n) => `${n} open questions are of agents or tools that were changed since they were asked`
    )
  ]
  if (unknown.size > 0) {
    return [...findings, { ...ok("tools", strange), ids: [...unknown].sort().slice(0, ids_max) }]
  }
  return findings.length > 0
    ? findings
    : [ok("tools", `the tools of all ${waiting.length} open questions are as they were`)]
})
