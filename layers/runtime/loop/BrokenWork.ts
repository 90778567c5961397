/**
 * What a piece of a run's work becomes whose fiber failed: operators are told what broke, the run that it did.
 */
import type { Cause } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Work } from "../../../src/run/RunWork.ts"
import type { FaultAnnotations } from "../tool/Faults.ts"
import { exceptionOf } from "../tool/Faults.ts"
import { died } from "./ModelTurn.ts"
import type { ToolInvoker } from "../tool/ToolInvoker.ts"

export const brokenWork = (
  {
    broke
  }: { readonly broke: (what: string, exception: Exception, about: FaultAnnotations) => void },
  invoker: ToolInvoker,
  work: Work,
  cause: Cause.Cause<never>
): RunInput => {
  const exception = exceptionOf(cause)
  switch (work._tag) {
    case "RunCall":
      broke("a call broke", exception, { call_id: work.call })
      return invoker.died(work.call, cause)
    case "AskModel":
      broke("a turn of a model broke", exception, { frame: work.frame, step: work.step })
      return died(work)
    case "AskLimit": {
      broke("the question about a limit broke", exception, { limit: work.limit })
      const stopping = { status: "failed", by: "runtime", reason: work.limit } as const
      return { _tag: "Stops", stopping }
    }
  }
}
