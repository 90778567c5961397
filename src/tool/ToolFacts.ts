/**
 * Stargraph's facts about a call: its beginning, its result, and the tokens that its result reports. They are derived from the
 * call's events. A call that was refused before its body ran has none.
 */
import { Result, Schema } from "effect"
import { bounds_result, readJson } from "../value/BoundedJson.ts"
import type { CallId } from "../value/Ids.ts"
import type { RunEvent } from "../run/RunEvent.ts"

/** The member `_tokens` of the result of a tool that asks a model itself. */
const TokensUsed = Schema.Struct({
  prompt: Schema.optionalKey(Schema.Int),
  completion: Schema.optionalKey(Schema.Int),
  total: Schema.Int
})
export interface TokensUsed extends Schema.Schema.Type<typeof TokensUsed> {}

export type ToolFact =
  | { readonly _tag: "tool-call"; readonly call: CallId }
  | { readonly _tag: "tool-result"; readonly call: CallId; readonly result: unknown }
  | { readonly _tag: "tokens-used"; readonly call: CallId; readonly tokens: TokensUsed }

const tokensIn = Schema.decodeUnknownOption(Schema.Struct({ _tokens: TokensUsed }))

/** Derives the facts from one run's events, oldest first. */
export const toolFactsOf = (events: Iterable<RunEvent>): ReadonlyArray<ToolFact> => {
  const facts: Array<ToolFact> = []
  const begun = new Set<CallId>()
  const begins = (call: CallId) => {
    if (begun.has(call)) return
    begun.add(call)
    facts.push({ _tag: "tool-call", call })
  }
  for (const event of events) {
    if (event._tag === "CallDispatched") begins(event.call)
    if (event._tag !== "CallSettled") continue
    const { call, outcome, started_at } = event
    // Only a body has a time at which it began.
    if (started_at !== undefined) begins(call)
    if (outcome._tag !== "Value" || !begun.has(call)) continue
    const result = Result.getOrElse(readJson(outcome.json, bounds_result), () => outcome.json)
    facts.push({ _tag: "tool-result", call, result })
    const used = tokensIn(result)
    if (used._tag === "Some") facts.push({ _tag: "tokens-used", call, tokens: used.value._tokens })
  }
  return facts
}
