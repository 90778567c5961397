/**
 * The Operations Agent on what is open in the workspace, without a language model: a script over its real tool.
 */
import { call } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { RecordCounts } from "../../src/spectral/platform/SummaryTool.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Seen } from "../incident/IncidentTranscript.ts"
import { outcomeOf, valueOf } from "../incident/IncidentTranscript.ts"

/** Whether the user asks for a summary. */
export const speaksOfSummary = ({ asked }: Seen): boolean => /\b(?:summary|overview)\b/i.test(asked)

const line = (name: string, counts: Readonly<Record<string, number>>): string => {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return `${name}: ${some.length === 0 ? "none" : some.map(([state, count]) => `${count} ${state}`).join(", ")}`
}

/** What to say; a text is an answer. */
export const summaryScript = ({ now }: Seen): Turn | string => {
  const step = now.findLast(({ name }) => name === "get_operations_summary")
  if (step === undefined) return call("get_operations_summary", {})
  const value = valueOf(step)
  if (value === undefined) return `I could not look: ${outcomeOf(step)}.`
  const { changesets, clusters, drafts, open_clusters, scans } = value as unknown as RecordCounts
  return [
    line("Scans", scans),
    line("Change sets", changesets),
    line("Failure clusters", clusters),
    line("Open failure clusters", open_clusters),
    line("Drafts", drafts)
  ].join("\n")
}
