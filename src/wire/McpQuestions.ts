/**
 * Questions of a run as what a call of MCP 2026-07-28 asks of its client: to open the page where a person decides. What the client
 * responds says whether somebody has gone there, and decides nothing.
 *
 * The state of such a call is the id of its run, without a signature. Every part of the call is compared with that run, and the token
 * has to be that of who began it: a state that was made up leads at most to a run of the same call, which `run_result` reads for this
 * token too. So the processes of a deployment need no secret in common, and nothing of it expires before the run goes.
 */
import { Option, Result, Schema } from "effect"
import type { ApprovalId } from "../value/Ids.ts"
import { RunId } from "../value/Ids.ts"
import type { McpResult } from "./McpTools.ts"

/** How many questions of a run are asked of a client at once. */
const asked_max = 20

/** A question that a client may be asked. */
interface Openable {
  readonly approval: ApprovalId
  readonly summary: string
  readonly url: string
}

/** What a run waits for that has a page. */
export const openable = ({ waiting_for }: McpResult): ReadonlyArray<Openable> =>
  waiting_for
    .flatMap(({ approval, summary, url }) =>
      approval === undefined || url === undefined ? [] : [{ approval, summary, url }]
    )
    .slice(0, asked_max)

/** Requests of a client, by the ids of their questions. */
export type InputRequests = Readonly<Record<string, object>>

export const urlRequests = (questions: ReadonlyArray<Openable>): InputRequests =>
  Object.fromEntries(
    questions.map(({ approval, summary: message, url }) => [
      approval,
      { method: "elicitation/create", params: { mode: "url", message, url } }
    ])
  )

/** The result of a call that asks its client first. */
export const inputRequired = (run: RunId, inputRequests: InputRequests): object => ({
  resultType: "input_required",
  inputRequests,
  requestState: run
})

const Responses = Schema.Record(
  Schema.String,
  Schema.Struct({ action: Schema.Literals(["accept", "decline", "cancel"]) })
).check(Schema.isMaxProperties(asked_max))

/** What the client of a call that is made again has said of it. */
export interface Retried {
  readonly run: RunId
  /** The questions whose pages somebody has gone to. */
  readonly opened: ReadonlySet<string>
  /** Whether somebody did not want to. */
  readonly isDeclined: boolean
}

const readState = Schema.decodeUnknownOption(RunId)
const readResponses = Schema.decodeUnknownOption(Responses)

/** The refusal of a state that is not the one of its call. */
export const foreign_state = "The requestState is not that of this call."

/** Reads what a call that is made again says, or why it cannot be. Undefined = the call is made for the first time. */
export const retriedOf = ({
  inputResponses,
  requestState
}: Readonly<Record<string, unknown>>): Result.Result<Retried | undefined, string> => {
  if (requestState === undefined) {
    return inputResponses === undefined
      ? Result.succeed(undefined)
      : Result.fail("The inputResponses came without the requestState.")
  }
  const run = readState(requestState)
  if (Option.isNone(run)) return Result.fail(foreign_state)
  const responses = readResponses(inputResponses === undefined ? {} : inputResponses)
  if (Option.isNone(responses)) return Result.fail("The inputResponses are none of elicitations.")
  const given = Object.entries(responses.value)
  const opened = given.filter(([, { action }]) => action === "accept").map(([id]) => id)
  return Result.succeed({
    run: run.value,
    opened: new Set(opened),
    isDeclined: opened.length < given.length
  })
}
