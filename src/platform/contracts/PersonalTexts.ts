/**
 * Where a person may be named in what people wrote into the platform's records: for erasures, which write over these texts. What
 * else stands in such a record is a state, an id or a number. It says what the record is and of nobody, and stays.
 */

const members = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** By what the platform keeps: the members that are such texts, at any depth. */
export const personal_texts = {
  workspace: members("name by reason"),
  framework: members("name description criteria by reason sources"),
  system_card: members("name purpose owner parts limits"),
  changeset_state: members("by note"),
  cluster_triage: members("notes triaged_by"),
  draft: members(
    "title principal name description criteria sources purpose owner parts limits by reason"
  )
} as const
