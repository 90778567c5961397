/**
 * Where a person may be named in what people wrote for worlds: for erasures, which write over these texts. What else stands in such
 * a record, topics and ids of rules, says of nobody anything, and stays.
 */

/** Members of a rule candidate. */
export const candidate_texts: ReadonlySet<string> = new Set([
  "title",
  "body",
  "rationale",
  "proposed_by"
])
