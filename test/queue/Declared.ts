/** The declarations that both processes share: a read, an idempotent write, and one that is not idempotent. */
export const look = { namespace: "t", name: "look", side_effects: "read" } as const
export const repeatable = {
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

/** A write that is not idempotent and has a `reconcile`. */
export const asked = { ...once, name: "asked" } as const

export const all = [look, repeatable, once]
