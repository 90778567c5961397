/** Contexts of calls that no runtime makes: what is shown and spent goes nowhere, and nothing is aborted. */
import { Effect } from "effect"
import type { CallContext, GovernedContext } from "../../src/tool/GovernedTool.ts"

export const unobserved: Pick<CallContext, "attach" | "show" | "spent" | "signal"> = {
  attach: () => Promise.reject(new Error("nothing is attached here")),
  show: () => {},
  spent: () => {},
  signal: new AbortController().signal
}

/** A handler's second argument around a call of which only these members are read. */
export const contextOf = (call: Partial<CallContext>): GovernedContext => ({
  toolCallId: call.call ?? "c",
  preliminary: () => Effect.void,
  call: { ...unobserved, ...call } as CallContext
})
