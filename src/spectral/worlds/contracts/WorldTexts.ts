/**
 * The texts in records of worlds that may name a person, because people wrote them. An erasure overwrites them. The other
 * members, such as topics and ids of rules, name nobody and stay.
 */

/** The members of a rule candidate that are such texts. */
export const candidate_texts: ReadonlySet<string> = new Set([
  "title",
  "body",
  "rationale",
  "proposed_by"
])
