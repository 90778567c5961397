/**
 * The Operations Agent's tool that counts the records of the run's tenant. The model cannot name another tenant.
 */
import { Effect } from "effect"
import { RecordCounter } from "../../../services/spectral/platform/RecordCounter.ts"
import { summaryGovernance, SummaryTools } from "../../../src/spectral/platform/SummaryTool.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { orToolError } from "./RecordFailure.ts"

const handlers = Effect.gen(function* () {
  const counter = yield* RecordCounter
  return SummaryTools.of({
    get_operations_summary: (_, context) => orToolError(counter.counts(callOf(context).tenant))
  })
})

/** The tools, for a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  RecordCounter
> = govern(SummaryTools, summaryGovernance, handlers)
