/**
 * Lines of the log about a run: that it began, was taken over and ended, what it asked and what was decided. They hold names and ids, and no text of
 * a message, an argument or a note.
 */
import { Effect, Layer } from "effect"
import type { RunFact, RunObserver } from "../../services/RunObserver.ts"
import { RunObservers } from "../../services/RunObserver.ts"
import { logText } from "../../src/value/InvisibleText.ts"

type About = Readonly<Record<string, string | number>>

/** What is said of an event, and about what; undefined = nothing. */
const lineOf = ({ event }: RunFact): readonly [message: string, about: About] | undefined => {
  switch (event._tag) {
    case "RunClaimed":
      return event.epoch > 1 ? ["run taken over", { epoch: event.epoch }] : ["run began", {}]
    case "RunEnded":
      return ["run ended", { status: event.status, reason: event.reason }]
    case "ApprovalRequested":
    case "ClientRequested":
      return [
        "question asked",
        { call_id: event.call, approval: event.approval, tool: logText(event.payload.tool_name) }
      ]
    case "ApprovalDecided":
      return [
        "question decided",
        {
          call_id: event.call,
          approval: event.approval,
          decision: event.decision._tag,
          by: logText(event.by)
        }
      ]
    case "ApprovalClosed":
      return [
        "question closed",
        { call_id: event.call, approval: event.approval, reason: event.how }
      ]
    default:
      return undefined
  }
}

const make = Effect.gen(function* () {
  const log = Effect.runSyncWith(yield* Effect.context<never>())
  const observe: RunObserver = (fact) => {
    const line = lineOf(fact)
    if (line === undefined) return
    const [message, about] = line
    const { address, conversation, tenant, trace_id } = fact.state.accepted
    const where = { run_id: fact.run, conversation, tenant, agent: address.agent, trace_id }
    log(Effect.annotateLogs(Effect.logInfo(message), { ...where, ...about }))
  }
  return [...(yield* RunObservers), observe]
})

/** Provide it beneath the runtime, which reads its observers once, when it is built. */
export const layer: Layer.Layer<never> = Layer.effect(RunObservers, make)
