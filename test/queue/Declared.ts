/** What both processes know of the tools: a read, a write that honours its key, and one that does not. */
export const look = { namespace: "t", name: "look", side_effects: "read" } as const
export const again = {
  namespace: "t",
  name: "again",
  side_effects: "external",
  permission: "allow",
  idempotent: true
} as const
export const once = {
  namespace: "t",
  name: "once",
  side_effects: "external",
  permission: "allow"
} as const

/** A write that cannot be done twice, and can be asked for. */
export const asked = { ...once, name: "asked" } as const

export const all = [look, again, once]
