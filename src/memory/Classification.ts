/**
 * Guesses the kind of a memory whose writer does not state it, by the forms of its sentences. Only English forms are known. Any
 * other text counts as episodic, the one kind that every tier accepts.
 */
import type { MemoryTier, Typology } from "./MemoryRow.ts"

const procedural =
  /^\s*(?:to\s+\w+[^.]*,|when(?:ever)?\b|if\b|before\b|after\b|always\b|never\b|first\b|use\b|do not\b|don't\b|\d+[.)]\s)|\b(?:always|never|must|should)\b/i
/** Matches a time, or a verb in the past tense. */
const episodic =
  /\b(?:was|were|did|had|went|sent|said|paid|told|got|made|gave|took|came|yesterday|today|tonight|ago|last (?:week|month|year|night)|\w{2,}ed)\b|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b/i
const semantic =
  /\b(?:is|are|am|has|have|prefers?|likes?|wants?|lives?|works?|uses?|means?|costs?|equals?|belongs?|speaks?|needs?|knows?|owns?|contains?|consists?)\b/i

export const classify = (text: string): Typology => {
  if (procedural.test(text)) return "procedural"
  if (episodic.test(text)) return "episodic"
  return semantic.test(text) ? "semantic" : "episodic"
}

/** The kind of a text in a tier: the stated one, or else a guess. */
export const typologyOf = (
  tier: MemoryTier,
  text: string,
  stated: Typology | undefined
): Typology => stated ?? (tier === "persistent" ? classify(text) : "episodic")
