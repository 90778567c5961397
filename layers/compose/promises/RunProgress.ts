/**
 * The progress of a run as a waiting caller sees it: its open questions and unknown calls, what it used, and its end.
 */
import type { ModelUse } from "../../../src/cost/Spending.ts"
import { addModelUse } from "../../../src/cost/Spending.ts"
import type { ApprovalId, CallId } from "../../../src/value/Ids.ts"
import type { Compacted, ModelTurned, RunEnded, RunEvent } from "../../../src/run/RunEvent.ts"

export class RunProgress {
  readonly approvals = new Set<ApprovalId>()
  readonly unknown = new Set<CallId>()
  detail: string | undefined
  retry_after_ms: number | undefined
  usage: ReadonlyArray<ModelUse> = []
  ended: RunEnded | undefined
  isCurrent = false

  #uses(uses: ReadonlyArray<ModelUse>): void {
    for (const use of uses) this.usage = addModelUse(this.usage, use)
  }

  apply(event: RunEvent): void {
    if ("spent" in event && event.spent !== undefined) this.#uses(event.spent.uses)
    switch (event._tag) {
      case "ModelTurned":
      case "Compacted":
        if (event.usage !== undefined) this.#uses([turnUse(event)])
        return
      case "ApprovalRequested":
      case "ClientRequested":
        this.approvals.add(event.approval)
        return
      case "ApprovalDecided":
      case "ApprovalClosed":
        this.approvals.delete(event.approval)
        return
      case "CallUnknown":
        this.unknown.add(event.call)
        return
      case "CallReopened":
      case "CallSettled":
        this.unknown.delete(event.call)
        return
      case "RunStopping":
        this.detail = event.message
        this.retry_after_ms = event.retry_after_ms
        return
      case "RunEnded":
        this.ended = event
    }
  }

  /**
   * Whether the wait is over. Later events may answer the questions of earlier ones, so only questions that are open at the end
   * of the past count.
   */
  get isOver(): boolean {
    return (
      this.ended !== undefined || (this.isCurrent && this.approvals.size + this.unknown.size > 0)
    )
  }
}

const turnUse = ({ cost, model = "", usage }: ModelTurned | Compacted): ModelUse => ({
  model,
  ...(usage === undefined ? undefined : { usage }),
  ...(cost === undefined ? undefined : { cost })
})
