/**
 * The input that stands for work whose fiber ended by a defect. Operators get the defect; the run only records that there was one.
 */
import type { Cause } from "effect"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Work } from "../../../src/run/RunWork.ts"
import { exceptionOf } from "../tool/FaultReport.ts"
import type { ToolInvoker } from "../tool/ToolInvoker.ts"
import type { LoopHost } from "./LoopHost.ts"
import { defectTurn } from "./ModelTurn.ts"

export const defectInput = (
  loop: Pick<LoopHost, "reportFault">,
  invoker: ToolInvoker,
  work: Work,
  cause: Cause.Cause<never>
): RunInput => {
  const exception = exceptionOf(cause)
  switch (work._tag) {
    case "RunCall":
      loop.reportFault("a call broke", exception, { call_id: work.call })
      return invoker.died(work.call, cause)
    case "CallModel":
      loop.reportFault("a turn of a model broke", exception, {
        frame: work.frame,
        step: work.step
      })
      return defectTurn(work)
    case "RequestLimitApproval": {
      loop.reportFault("the question about a limit broke", exception, { limit: work.limit })
      const stopping = { status: "failed", by: "runtime", reason: work.limit } as const
      return { _tag: "Stops", stopping }
    }
  }
}
