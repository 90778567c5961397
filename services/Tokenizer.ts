/**
 * Counts the tokens of a text for a model. It is synchronous, because a prompt is measured before every turn. Each text is
 * counted once, and only if its bytes alone do not show that the prompt fits. The default is an estimate.
 */
import { Context } from "effect"
import { estimateTokens } from "../src/conversation/TokenEstimate.ts"

/** Counts tokens, for bounds of prompts. */
export interface Tokenizer {
  /**
   * The number of tokens, at least 0 and at most the number of bytes of the text in UTF-8. `model` is the agent's model;
   * undefined = the gateway's default.
   */
  readonly count: (text: string, model: string | undefined) => number
}

export const Tokenizer = Context.Reference<Tokenizer>("troupe/services/Tokenizer", {
  defaultValue: () => ({ count: estimateTokens })
})
