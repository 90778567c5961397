/**
 * The texts in the platform's records that may name a person, because people wrote them. An erasure overwrites them. The other
 * members, such as states, ids and numbers, name nobody and stay.
 */

const members = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** By kind of record: the names of the members that are such texts, at any depth. */
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
