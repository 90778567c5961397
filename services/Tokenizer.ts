/**
 * Counts the tokens of a text for a model. Synchronous, because a prompt is measured before every turn; each text is counted
 * once, and only where its bytes alone do not show that the prompt fits. The default is an estimate.
 */
import { Context } from "effect"
import { estimateTokens } from "../src/conversation/TokenEstimate.ts"

export interface Tokenizer {
  /** At least 0, at most the bytes of the text's UTF-8. `model` is the agent's; undefined = the gateway's default. */
  readonly count: (text: string, model: string | undefined) => number
}

export const Tokenizer = Context.Reference<Tokenizer>("troupe/services/Tokenizer", {
  defaultValue: () => ({ count: estimateTokens })
})
