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
import { attempt } from "./Catching.ts"
import type { Place } from "./BodyContext.ts"
import { withSpent } from "./CallSpending.ts"
import type { Body, CallHost, Fork, Governed } from "./CallHost.ts"
import { exceptionIn, failed, failedBy, noted, timedOut } from "./Failures.ts"

/** The encoded result as JSON text, once; refused when the schema or the cap refuses it. */
const valueOf = (tool: Governed, result: unknown): Outcome => {
  const encoded = tool.encode(result)
  if (Exit.isFailure(encoded)) {
    const refused = new ToolTerminalError({
      kind: "internal",
      reason: "OUTPUT_SCHEMA",
      message: `${tool.spec.name} returned a value that its schema refuses.`
    })
    return noted(failed(refused), encoded.cause)
  }
  const json = JSON.stringify(encoded.value) ?? "null"
  // Whatever walks a result later does so by recursion. A short text cannot nest so deep.
  if (json.length > depth_max && !isWithin(encoded.value)) {
    return failed(
      new ToolTerminalError({
        kind: "internal",
        reason: "RESULT_TOO_DEEP",
        message: `${tool.spec.name} returned a value that nests deeper than ${depth_max}, or holds too many values.`
      })
    )
  }
  const most = tool.spec.result_bytes_max
  if (json.length * 3 > most && new TextEncoder().encode(json).length > most) {
    return failed(
      new ToolTerminalError({
        kind: "internal",
        reason: "RESULT_TOO_LARGE",
        message: `${tool.spec.name} returned more than ${most} bytes; ask for less.`
      })
    )
  }
  return { _tag: "Value", json }
}

export const finished = (call: CallId, outcome: Outcome): RunInput => ({
  _tag: "Finished",
  settled: { _tag: "CallSettled", call, outcome }
})

/** Does the fold have to know more of a value than the value? It cannot ask a registry. */
const isMarked = ({ spec }: Governed, outcome: Outcome): boolean =>
  outcome._tag === "Value" && (spec.stop_loop === true || spec.text_result === true)

const marks = ({ spec }: Governed): { readonly stop?: true; readonly texts?: true } => ({
  ...(spec.stop_loop === true ? { stop: true } : undefined),
  ...(spec.text_result === true ? { texts: true } : undefined)
})

/** How a call of this tool ended; a value of one that stops the loop is its frame's answer. */
export const at = (
  host: CallHost,
  tool: Governed,
  call: CallId,
  outcome: Outcome,
  started_at: number,
  ended_at: number
): RunInput => ({
  _tag: "Finished",
  settled: withSpent<CallSettled>(
    host,
    isMarked(tool, outcome)
      ? { _tag: "CallSettled", call, outcome, started_at, ended_at, ...marks(tool) }
      : { _tag: "CallSettled", call, outcome, started_at, ended_at }
  )
})

/** The same of a call whose body did not run, because another's was the same effect. */
export const sharing = (tool: Governed, call: CallId, outcome: Outcome): RunInput => ({
  _tag: "Finished",
  settled: isMarked(tool, outcome)
    ? { _tag: "CallSettled", call, outcome, ...marks(tool) }
    : { _tag: "CallSettled", call, outcome }
})

/** What the end of a body means: nothing that a result does when it is encoded gets further than its own call. */
export const outcomeOf = (
  host: Pick<CallHost, "broke">,
  tool: Governed,
  exit: Exit.Exit<unknown, unknown>
): Outcome => {
  const outcome = attempt(read, tool, exit, defective)
  return outcome._tag === "Failed" ? told(host, tool, outcome) : outcome
}

/** Tells operators of a failure that is the tool's own fault. */
export const told = (host: Pick<CallHost, "broke">, { spec }: Governed, outcome: Outcome) => {
  const exception = exceptionIn(outcome)
  if (exception !== undefined) host.broke("a tool broke", exception, spec.name)
  return outcome
}

const read = (tool: Governed, exit: Exit.Exit<unknown, unknown>): Outcome =>
  Exit.isSuccess(exit) ? valueOf(tool, exit.value) : failedBy(exit.cause)

const defective = (defect: unknown): Outcome => failedBy(Cause.die(defect))

/** A read on its way. One object a call. */
export class Reading implements Body {
  readonly effect: Body["effect"]
  readonly #place: Place
  readonly #host: CallHost
  readonly #clock: Clock.Clock
  readonly #call: CallId
  readonly #tool: Governed
  readonly #started_at: number

  constructor(
    effect: Body["effect"],
    place: Place,
    host: CallHost,
    clock: Clock.Clock,
    call: CallId,
    tool: Governed
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
    return this.#ended(failed(timedOut(this.timeout_ms)))
  }

  ended(exit: Exit.Exit<unknown, unknown>): RunInput {
    return this.#ended(outcomeOf(this.#host, this.#tool, exit))
  }

  #ended(outcome: Outcome): RunInput {
    const ended_at = this.#clock.currentTimeMillisUnsafe()
    return at(this.#host, this.#tool, this.#call, outcome, this.#started_at, ended_at)
  }
}
