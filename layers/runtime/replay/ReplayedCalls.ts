/**
 * Keeps what became of each call of a replay that passed the gate, and the outcome that replaces its result.
 */
import type { FilePart } from "../../../src/conversation/Part.ts"
import type { Spending } from "../../../src/cost/Spending.ts"
import type { ToolFailure } from "../../../src/error/ToolError.ts"
import { failureOf, ToolPolicyError, ToolTerminalError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import type { ReplayError } from "../../../src/replay/Cassette.ts"
import type { CallSettled, Outcome } from "../../../src/run/RunEvent.ts"

/** What became of one call of a replay. */
export interface ReplayedCall {
  readonly call: CallId
  readonly tool: string
  /** `replayed`: the result came from the recording. `run`: the body ran. Otherwise the reason why neither was possible. */
  readonly how: "replayed" | "run" | ReplayError["reason"]
}

/**
 * The failure of a call that cannot be replayed. A tool that may not be replayed is refused by its policy; a result that is
 * missing or erased cannot be obtained again.
 */
const failureOfRefusal = ({ message, reason: why }: ReplayError): ToolFailure => {
  const reason = `REPLAY_${why.toUpperCase()}`
  return failureOf(
    why === "fail_loud"
      ? new ToolPolicyError({ kind: "permission", reason, message })
      : new ToolTerminalError({ kind: "internal", reason, message })
  )
}

export class ReplayedCalls {
  readonly #calls: Array<ReplayedCall> = []
  readonly #refusals = new Map<CallId, ReplayError>()
  readonly #outcomes = new Map<CallId, Outcome>()
  readonly #spendings = new Map<CallId, Spending>()
  readonly #files = new Map<CallId, ReadonlyArray<FilePart>>()

  /** The calls, in the order in which they passed the gate. */
  get calls(): ReadonlyArray<ReplayedCall> {
    return this.#calls
  }

  /** Why a call could not be replayed; undefined if it could. */
  refusalOf(call: CallId): ReplayError | undefined {
    return this.#refusals.get(call)
  }

  addRun(call: CallId, tool: string): void {
    this.#calls.push({ call, tool, how: "run" })
  }

  addReplayed(call: CallId, tool: string, outcome: Outcome): void {
    this.#calls.push({ call, tool, how: "replayed" })
    this.#outcomes.set(call, outcome)
  }

  addRefused(call: CallId, error: ReplayError): void {
    this.#calls.push({ call, tool: error.tool, how: error.reason })
    this.#outcomes.set(call, { _tag: "Failed", error: failureOfRefusal(error) })
    this.#refusals.set(call, error)
  }

  /** Makes the recorded call's spending count as this call's. */
  addSpending(call: CallId, spent: Spending): void {
    this.#spendings.set(call, spent)
  }

  /** Attaches the recorded call's files to this call. */
  addFiles(call: CallId, files: ReadonlyArray<FilePart>): void {
    this.#files.set(call, files)
  }

  /** The call's result with the recorded outcome, spending and files in place of those of its body. */
  settled({ spent: own, ...made }: CallSettled): CallSettled {
    return this.#withFiles(this.#settled(made, own))
  }

  #withFiles(settled: CallSettled): CallSettled {
    const files = settled.outcome._tag === "Value" ? this.#files.get(settled.call) : undefined
    return files === undefined ? settled : { ...settled, files }
  }

  #settled(settled: Omit<CallSettled, "spent">, own: Spending | undefined): CallSettled {
    const { call, outcome: made } = settled
    // The gate may still have refused the recorded result, because of its output schema or its size.
    const outcome = made._tag === "Value" ? (this.#outcomes.get(call) ?? made) : made
    const spent = this.#spendings.get(call) ?? own
    return spent === undefined ? { ...settled, outcome } : { ...settled, outcome, spent }
  }
}
