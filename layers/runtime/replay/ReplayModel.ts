/**
 * The model of a replay. At each step it gives the turn that was recorded for it, and after the end of the recording none.
 */
import { Effect, Exit } from "effect"
import type { Recording } from "../../../src/replay/Recording.ts"
import { stepKey } from "../../../src/value/Ids.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import type { ModelGateway, ModelRequest } from "../../../services/ModelGateway.ts"
import { media_unsupported, ModelError } from "../../../services/ModelGateway.ts"

/** Makes the model. `onEnd` runs when the loop wants a turn that the recording does not have; that turn never completes. */
export const make = (recording: Recording, onEnd: Effect.Effect<void>): ModelGateway["Service"] => {
  const { compactions, turns } = recording
  return {
    turn: (request) => {
      const key = stepKey(request.frame, request.step)
      if (request.purpose === "summary") {
        const cut = compactions.get(key)?.find(({ how }) => how === "summarised")
        const summary = cut?.own?.summary ?? cut?.history?.summary
        return cut === undefined || summary === undefined
          ? Exit.fail(unrecorded(key, "a summary"))
          : Exit.succeed(summaryTurn(summary.text, cut))
      }
      const turned = turns.get(key)
      if (turned !== undefined) {
        const { _tag, frame: _frame, given: _given, step: _step, ...turn } = turned
        return Exit.succeed(turn)
      }
      return failureOf(recording, request) ?? Effect.andThen(onEnd, Effect.never)
    }
  }
}

const unrecorded = (place: string, what: string) =>
  new ModelError({
    kind: "configuration",
    reason: "cassette_diverged",
    message: `the recording holds ${what} for no step ${place}`
  })

const summaryTurn = (
  text: string,
  { cost, model, usage }: Pick<Turn, "cost" | "model" | "usage">
): Turn => ({
  text,
  calls: [],
  finish: "stop",
  ...(usage === undefined ? undefined : { usage }),
  ...(model === undefined ? undefined : { model }),
  ...(cost === undefined ? undefined : { cost })
})

const kinds: Readonly<Record<string, ModelError["kind"]>> = {
  graph_stopped: "refused",
  [media_unsupported]: "configuration",
  model_configuration: "configuration",
  model_refused: "refused",
  model_transient: "transient"
}

/**
 * The recorded failure of a turn: its run stopped because of it, or its specialist's call failed. Undefined = it did not fail.
 */
const failureOf = (
  { calls, stopping }: Recording,
  { frame }: ModelRequest
): Exit.Exit<never, ModelError> | undefined => {
  const call = calls.find(({ id }) => (id as string) === frame)
  const failed =
    call?.outcome?._tag === "Failed"
      ? call.outcome.error
      : stopping?.by === "runtime"
        ? { reason: stopping.reason, message: stopping.message ?? "" }
        : undefined
  if (failed === undefined) return undefined
  const { message, reason = "" } = failed
  const kind = kinds[reason]
  if (kind === undefined) return undefined
  const stated = reason === "graph_stopped" || reason === media_unsupported ? { reason } : undefined
  return Exit.fail(new ModelError({ kind, message, ...stated }))
}
