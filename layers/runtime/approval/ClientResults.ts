/**
 * Checks the result that a client gives to a call as the result of any other tool is checked: bounds, then the schema that
 * the call was requested with.
 */
import { Cause, Effect, Exit, Result } from "effect"
import type { Approval, ClientAnswer } from "../../../src/approval/Approval.ts"
import { ClientResultRefused } from "../../../src/approval/Approval.ts"
import { truncateUnits, isBeyondBytes } from "../../../src/value/CutText.ts"
import { bounds_result, readJsonValue } from "../../../src/value/BoundedJson.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import { jsonSchemaCheck } from "../../../src/tool/ToolCodec.ts"
import { refusalText } from "../../../src/schema/SchemaIssues.ts"

/** Of a result as JSON, in UTF-8. */
export const client_result_bytes_max = 1_000_000

type ClientOutcome = Extract<Outcome, { readonly _tag: "Value" | "Failed" }>

const problem_units_max = 500

/** The call's outcome. `readJsonValue` has copied the value, so that nobody changes it meanwhile. */
export const clientOutcome = (
  { client, id }: Approval,
  answer: ClientAnswer
): Effect.Effect<ClientOutcome, ClientResultRefused> =>
  Effect.gen(function* () {
    const refuse = (problem: string) =>
      new ClientResultRefused({ id, message: truncateUnits(problem, problem_units_max) })
    if ("error" in answer) {
      return {
        _tag: "Failed",
        error: {
          class: "ToolTerminalError",
          kind: "external",
          reason: "CLIENT_FAILED",
          message: answer.error
        }
      } satisfies ClientOutcome
    }
    const read = readJsonValue(answer.result, bounds_result)
    if (Result.isFailure(read)) return yield* refuse(read.failure.message)
    const json = JSON.stringify(read.success)
    if (isBeyondBytes(json, client_result_bytes_max)) {
      return yield* refuse(`a result has at most ${client_result_bytes_max} bytes`)
    }
    const check = jsonSchemaCheck(client?.output_schema ?? {})
    if (Result.isFailure(check)) return yield* refuse("its schema cannot be checked")
    const checked = check.success(read.success)
    if (Exit.isFailure(checked)) return yield* refuse(refusalText(Cause.squash(checked.cause)))
    return { _tag: "Value", json } satisfies ClientOutcome
  })
