/**
 * What the end of a body means for its call: the encoded result, or a failure of one of the four classes, with what the body
 * spent on models until then.
 */
import { Cause, Exit } from "effect"
import { cutText, isBeyondBytes } from "../../../src/value/CutText.ts"
import { depth_max, isWithinBounds } from "../../../src/value/BoundedJson.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolTerminalError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallSettled, Outcome, Repeats } from "../../../src/run/RunEvent.ts"
import { receiptText } from "../../../src/tool/ResultJson.ts"
import { redacted } from "../../../src/error/KnownSecrets.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import { isDispatched } from "../../../src/tool/ToolSpec.ts"
import type { Prices } from "../../../src/cost/PriceTable.ts"
import type { ModelSpent, Spending } from "../../../src/cost/Spending.ts"
import { modelUseOf, addModelUse } from "../../../src/cost/Spending.ts"
import type { AgentTool, CallHost, StartedWork } from "./CallHost.ts"
import { attachedTo } from "./StoredParts.ts"
import { callCatching } from "../fiber/Catching.ts"
import { strippedCause, strippedJson } from "./StrippedBody.ts"
import {
  defect_reason,
  exceptionBehind,
  failedOutcome,
  has_run,
  outcomeOfCause,
  withException,
  withSentence
} from "./FailedOutcome.ts"

/** Adds a report to the spending of a call of one tool. */
export type SpendingMeter = (host: CallHost, spent: ModelSpent) => void

/** `prices` undefined = tokens are counted, and nothing is costed. */
export const spendingMeterOf =
  (tool: string, prices: Prices | undefined): SpendingMeter =>
  (host, spent) => {
    const use = modelUseOf(prices, host.agent.spec.name, spent)
    host.spent = { tool, uses: addModelUse(host.spent?.uses ?? [], use) }
  }

/** The input with what the call's body has spent; the input itself where it spent nothing. */
const withSpending = <Input extends { readonly spent?: Spending }>(
  { spent }: CallHost,
  input: Input
): Input => (spent === undefined ? input : { ...input, spent })

const refusedResult = (reason: string, message: string): Outcome =>
  failedOutcome(new ToolTerminalError({ kind: "internal", reason, message }))

/** The longest part of a result that is quoted, in UTF-16 units. */
const receipt_max = 1_500

/**
 * Of a write whose result is refused: that it has run, and what it returned. A model that does not learn it would do it again.
 * Empty for a read, whose refused values nobody is shown, and for a transaction, which is rolled back.
 */
const receiptOf = (
  spec: AgentTool["spec"],
  result: unknown,
  hidden?: ReadonlyArray<string>
): string => {
  if (!isDispatched(spec) || spec.transactional === true) return ""
  const text = receiptText(result)
  const shown = hidden === undefined ? text : redacted(text, hidden)
  return `${has_run}, and returned ${cutText(shown, receipt_max)}`
}

/** What happened, with the receipt. */
const withReceipt = (what: string, receipt: string): string =>
  receipt === "" ? what : `${what} ${receipt}`

/** The result as JSON text without the secrets of its run; a failure where the output schema or a bound refuses it. */
const valueOf = (
  { encode, spec }: AgentTool,
  result: unknown,
  hidden?: ReadonlyArray<string>
): Outcome => {
  const shown = (value: unknown) => (hidden === undefined ? value : strippedJson(value, hidden))
  const encoded = encode(result)
  if (Exit.isFailure(encoded)) {
    const what = `${spec.name} returned a value that its schema refuses.`
    const message = withReceipt(what, receiptOf(spec, result, hidden))
    return withException(
      refusedResult("OUTPUT_SCHEMA", message),
      hidden === undefined ? encoded.cause : strippedCause(encoded.cause, hidden)
    )
  }
  const value = shown(encoded.value)
  const json = JSON.stringify(value) ?? "null"
  // Later readers walk a result by recursion. A text of at most `depth_max` characters cannot nest deeper than that.
  if (json.length > depth_max && !isWithinBounds(value)) {
    return refusedResult(
      "RESULT_TOO_DEEP",
      withReceipt(
        `${spec.name} returned a value that nests deeper than ${depth_max}, or holds too many values.`,
        receiptOf(spec, value)
      )
    )
  }
  const bytes_max = spec.result_bytes_max
  if (isBeyondBytes(json, bytes_max)) {
    return refusedResult(
      "RESULT_TOO_LARGE",
      withReceipt(
        `${spec.name} returned more than ${bytes_max} bytes; ask for less.`,
        receiptOf(spec, value)
      )
    )
  }
  return { _tag: "Value", json }
}

/** The end of a call that no body ran for. */
export const callFinished = (call: CallId, outcome: Outcome): RunInput => ({
  _tag: "Finished",
  settled: { _tag: "CallSettled", call, outcome }
})

/** The end of a call whose dispatch stands and whose outcome is unknown. */
export const callLost = (host: CallHost, call: CallId): RunInput =>
  withSpending<Extract<RunInput, { readonly _tag: "Lost" }>>(host, { _tag: "Lost", call })

/** Does the event of this outcome carry marks of its tool's spec? The fold cannot look them up in a registry. */
const isMarked = ({ spec }: AgentTool, outcome: Outcome): boolean =>
  outcome._tag === "Value" && (spec.stop_loop === true || spec.text_result === true)

/** Where guards hold answers, the model gives the answer, which they judge. */
const marksOf = (
  { agent }: Pick<CallHost, "agent">,
  { spec }: AgentTool,
  { _tag }: Outcome
): { readonly stop?: true; readonly texts?: true } => ({
  ...(_tag === "Value" && spec.stop_loop === true && agent.holdsAnswers !== true
    ? { stop: true }
    : undefined),
  ...(_tag === "Value" && spec.text_result === true ? { texts: true } : undefined)
})

/** What a permission of each call answered. */
const judgedIn = ({ judged }: CallHost): { readonly permission?: Permission } =>
  judged === undefined ? {} : { permission: judged }

/** The end of a call that its permission denies. */
export const denied = (host: CallHost, error: ToolError): StartedWork => ({
  effect: Exit.succeed({
    _tag: "Finished",
    settled: {
      _tag: "CallSettled",
      call: host.call().id,
      outcome: failedOutcome(error),
      ...judgedIn(host)
    }
  })
})

/** The end of a call whose body ran from `started_at` to `ended_at` (ms since 1970), with what it spent. */
export const bodyFinished = (
  host: CallHost,
  tool: AgentTool,
  call: CallId,
  outcome: Outcome,
  started_at: number,
  ended_at: number
): Extract<RunInput, { readonly _tag: "Finished" }> => ({
  _tag: "Finished",
  settled: withSpending<CallSettled>(
    host,
    isMarked(tool, outcome) || host.files !== undefined || host.judged !== undefined
      ? {
          _tag: "CallSettled",
          call,
          outcome,
          started_at,
          ended_at,
          ...judgedIn(host),
          ...marksOf(host, tool, outcome),
          ...attachedTo(host, outcome)
        }
      : { _tag: "CallSettled", call, outcome, started_at, ended_at }
  )
})

/** The end of a call whose body did not run, because an earlier call was the same side effect. */
export const duplicateFinished = (
  host: Pick<CallHost, "agent">,
  tool: AgentTool,
  call: CallId,
  outcome: Outcome,
  repeats: Repeats
): RunInput => ({
  _tag: "Finished",
  settled: {
    _tag: "CallSettled",
    call,
    outcome,
    ...(outcome._tag === "Value" ? { repeats } : undefined),
    ...marksOf(host, tool, outcome)
  }
})

/** The end of a call of a fork, with what `of` ended with in the run that was forked. */
export const recordedFinished = (
  host: Pick<CallHost, "agent">,
  tool: AgentTool,
  call: CallId,
  { call: of, files, outcome }: CallSettled
): RunInput => ({
  _tag: "Finished",
  settled: {
    _tag: "CallSettled",
    call,
    outcome,
    recorded: of,
    ...marksOf(host, tool, outcome),
    ...(files === undefined ? undefined : { files })
  }
})

const outcomeOfExit = (
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown>,
  hidden?: ReadonlyArray<string>
): Outcome =>
  Exit.isSuccess(exit) ? valueOf(tool, exit.value, hidden) : outcomeOfCause(exit.cause)

const outcomeOfDefect = (defect: unknown): Outcome => outcomeOfCause(Cause.die(defect))

/** As `outcomeOfExit`, for a run with secrets. The causes of a body were stripped where it ran. */
const hidingOutcomeOfExit = (
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown>,
  hidden: ReadonlyArray<string>
): Outcome =>
  callCatching(
    () => outcomeOfExit(tool, exit, hidden),
    undefined,
    undefined,
    (defect) => outcomeOfCause(strippedCause(Cause.die(defect), hidden))
  )

/** The outcome of a body's exit. Never throws: a result whose encoding throws is a defect of its own call. */
export const bodyOutcome = (
  host: Pick<CallHost, "hidden" | "reportFault">,
  tool: AgentTool,
  exit: Exit.Exit<unknown, unknown>
): Outcome => {
  const { hidden } = host
  const outcome =
    hidden === undefined
      ? callCatching(outcomeOfExit, tool, exit, outcomeOfDefect)
      : hidingOutcomeOfExit(tool, exit, hidden)
  if (outcome._tag !== "Failed") return outcome
  const told =
    Exit.isSuccess(exit) && outcome.error.reason === defect_reason
      ? withUnreadResult(tool, exit.value, outcome, hidden)
      : outcome
  return reportOutcomeFault(host, tool, told)
}

/** The failure of a body that ran, but whose result threw where it was read, with the receipt of a write. */
const withUnreadResult = (
  { spec }: AgentTool,
  result: unknown,
  outcome: Extract<Outcome, { readonly _tag: "Failed" }>,
  hidden: ReadonlyArray<string> | undefined
): Outcome => {
  const receipt = receiptOf(spec, result, hidden)
  return receipt === "" ? outcome : withSentence(outcome, receipt)
}

/** Reports the exception behind a failure that is the tool's own fault to operators, and gives the outcome back. */
export const reportOutcomeFault = (
  host: Pick<CallHost, "reportFault">,
  { spec }: AgentTool,
  outcome: Outcome
): Outcome => {
  const exception = exceptionBehind(outcome)
  if (exception !== undefined) host.reportFault("a tool broke", exception, spec.name)
  return outcome
}
