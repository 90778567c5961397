/**
 * What the end of a body means for its call: the encoded result, or a failure of one of the four classes.
 */
import { Cause, Exit } from "effect"
import type { Clock } from "effect"
import { depth_max, isWithin } from "../../../src/entry/BoundedJson.ts"
import { ToolTerminalError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallSettled, Outcome } from "../../../src/run/RunEvent.ts"
import { callCatching } from "./Catching.ts"
import type { BodyContext } from "./BodyContext.ts"
import { withSpending } from "./CallSpending.ts"
import type { TimedWork, CallHost, Fork, AgentTool } from "./CallHost.ts"
import {
  exceptionBehind,
  failedOutcome,
  outcomeOfCause,
  withException,
  timeoutError
} from "./Failures.ts"

/** The encoded result as JSON text, once; refused when the schema or the cap refuses it. */
const valueOf = (tool: AgentTool, result: unknown): Outcome => {
  const encoded = tool.encode(result)
  if (Exit.isFailure(encoded)) {
    const refused = new ToolTerminalError({
      kind: "internal",
      reason: "OUTPUT_SCHEMA",
      message: `${tool.spec.name} returned a value that its schema refuses.`
    })
    return withException(failedOutcome(refused), encoded.cause)
  }
  const json = JSON.stringify(encoded.value) ?? "null"
  // Whatever walks a result later does so by recursion. A short text cannot nest so deep.
  if (json.length > depth_max && !isWithin(encoded.value)) {
    return failedOutcome(
      new ToolTerminalError({
        kind: "internal",
        reason: "RESULT_TOO_DEEP",
        message: `${tool.spec.name} returned a value that nests deeper than ${depth_max}, or holds too many values.`
      })
    )
  }
  const most = tool.spec.result_bytes_max
  if (json.length * 3 > most && new TextEncoder().encode(json).length > most) {
    return failedOutcome(
      new ToolTerminalError({
        kind: "internal",
        reason: "RESULT_TOO_LARGE",
        message: `${tool.spec.name} returned more than ${most} bytes; ask for less.`
      })
    )
  }
  return { _tag: "Value", json }
}

export const callFinished = (call: CallId, outcome: Outcome): RunInput => ({
  _tag: "Finished",
  settled: { _tag: "CallSettled", call, outcome }
})

/** Does the fold have to know more of a value than the value? It cannot ask a registry. */
const isMarked = ({ spec }: AgentTool, outcome: Outcome): boolean =>
  outcome._tag === "Value" && (spec.stop_loop === true || spec.text_result === true)

const marks = ({ spec }: AgentTool): { readonly stop?: true; readonly texts?: true } => ({
  ...(spec.stop_loop === true ? { stop: true } : undefined),
  ...(spec.text_result === true ? { texts: true } : undefined)
})

/** How a call of this tool ended; a value of one that stops the loop is its frame's answer. */
export const bodyFinished = (
  host: CallHost,
  tool: AgentTool,
  call: CallId,
  outcome: Outcome,
  started_at: number,
  ended_at: number
): RunInput => ({
  _tag: "Finished",
  settled: withSpending<CallSettled>(
    host,
    isMarked(tool, outcome)
      ? { _tag: "CallSettled", call, outcome, started_at, ended_at, ...marks(tool) }
      : { _tag: "CallSettled", call, outcome, started_at, ended_at }
  )
})

/** The same of a call whose body did not run, because another's was the same effect. */
export const duplicateFinished = (tool: AgentTool, call: CallId, outcome: Outcome): RunInput => ({
  _tag: "Finished",
  settled: isMarked(tool, outcome)
    ? { _tag: "CallSettled", call, outcome, ...marks(tool) }
    : { _tag: "CallSettled", call, outcome }
})

/** What the end of a body means: nothing that a result does when it is encoded gets further than its own call. */
export const bodyOutcome = (
  host: Pick<CallHost, "reportFault">,
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown>
): Outcome => {
  const outcome = callCatching(read, tool, exit, defective)
  return outcome._tag === "Failed" ? reportOutcomeFault(host, tool, outcome) : outcome
}

/** Tells operators of a failure that is the tool's own fault. */
export const reportOutcomeFault = (
  host: Pick<CallHost, "reportFault">,
  { spec }: AgentTool,
  outcome: Outcome
) => {
  const exception = exceptionBehind(outcome)
  if (exception !== undefined) host.reportFault("a tool broke", exception, spec.name)
  return outcome
}

const read = (tool: AgentTool, exit: Exit.Exit<unknown, unknown>): Outcome =>
  Exit.isSuccess(exit) ? valueOf(tool, exit.value) : outcomeOfCause(exit.cause)

const defective = (defect: unknown): Outcome => outcomeOfCause(Cause.die(defect))

/** A read on its way. One object a call. */
export class ReadCall implements TimedWork {
  readonly effect: TimedWork["effect"]
  readonly #place: BodyContext
  readonly #host: CallHost
  readonly #clock: Clock.Clock
  readonly #call: CallId
  readonly #tool: AgentTool
  readonly #started_at: number

  constructor(
    effect: TimedWork["effect"],
    place: BodyContext,
    host: CallHost,
    clock: Clock.Clock,
    call: CallId,
    tool: AgentTool
  ) {
    this.effect = effect
    this.#place = place
    this.#host = host
    this.#clock = clock
    this.#call = call
    this.#tool = tool
    this.#started_at = clock.currentTimeMillisUnsafe()
  }

  get timeout_ms(): number {
    return this.#tool.spec.timeout_ms
  }

  get fork(): Fork {
    return this.#place.fork
  }

  late(): RunInput {
    return this.#ended(failedOutcome(timeoutError(this.timeout_ms)))
  }

  ended(exit: Exit.Exit<unknown, unknown>): RunInput {
    return this.#ended(bodyOutcome(this.#host, this.#tool, exit))
  }

  #ended(outcome: Outcome): RunInput {
    const ended_at = this.#clock.currentTimeMillisUnsafe()
    return bodyFinished(this.#host, this.#tool, this.#call, outcome, this.#started_at, ended_at)
  }
}
