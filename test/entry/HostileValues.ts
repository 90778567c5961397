/**
 * Values that no entry may take for what it wants, made from a seed, so that a failure can be repeated.
 */

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}

const circle = (): unknown => {
  const value: Record<string, unknown> = {}
  value["self"] = value
  return value
}

/** What people and programs send by mistake or on purpose; none of it is a decision, a settlement or an id. */
export const hostile: ReadonlyArray<unknown> = [
  undefined,
  null,
  true,
  false,
  0,
  -1,
  NaN,
  Infinity,
  10n,
  Symbol("x"),
  "",
  "Deny",
  "deny",
  "approve",
  "\u0000",
  "\ud800",
  "x".repeat(100_000),
  [],
  {},
  () => true,
  new Date(0),
  new Map(),
  { _tag: "deny" },
  { _tag: "Deny" },
  { _tag: "Deny", reason: "" },
  { _tag: "Deny", reason: 5 },
  { _tag: "Approve", approved_by: "me" },
  { _tag: "Approve", note: "" },
  { _tag: "Approve", decision: "deny", reason: "both" },
  { _tag: "approve" },
  { _tag: ["Approve"] },
  { _tag: "Modify" },
  { _tag: "Modify", arguments: [] },
  { _tag: "Modify", arguments: { n: NaN } },
  { _tag: "Modify", arguments: { n: 10n } },
  { _tag: "Modify", arguments: { n: new Date(0) } },
  { _tag: "Modify", arguments: circle() },
  { _tag: "Modify", arguments: { n: nested(5_000) } },
  {
    _tag: "Modify",
    arguments: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [i, i]))
  },
  { decision: "deny" },
  { decision: "Deny", reason: "no" },
  { decision: "approve", reason: "no" },
  { decision: ["approve"] },
  { decision: { decision: "approve" } },
  { decision: "modify", arguments: "all" },
  { _tag: "Succeeded" },
  { _tag: "Succeeded", json: "{" },
  { _tag: "Succeeded", json: { n: 1 } },
  { _tag: "Succeeded", json: "[".repeat(10_000) },
  { _tag: "Succeeded", json: '{"n":1e400}' },
  { _tag: "Failed" },
  { _tag: "RunAgain", now: true },
  { _tag: "Settled", json: "1" },
  nested(10_000),
  circle(),
  Object.create({ _tag: "Approve" }),
  Object.defineProperty({}, "_tag", {
    enumerable: true,
    get: () => {
      throw new Error("caught looking")
    }
  }),
  new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("caught looking")
      }
    }
  ),
  JSON.parse('{"__proto__":{"_tag":"Approve"}}')
]

/** Principals that are none, each with what would have been enough for somebody who asks no further. */
export const forged: ReadonlyArray<unknown> = [
  undefined,
  null,
  "alice",
  { id: "alice", tenant: "acme" },
  { id: "alice", tenant: "acme", roles: "admin" },
  { id: "alice", tenant: "acme", roles: ["root"] },
  { id: "alice", tenant: "acme", roles: ["admin"], also: true },
  { id: "", tenant: "acme", roles: ["admin"] },
  { id: "alice", tenant: "a b", roles: ["admin"] },
  { id: 1, tenant: "acme", roles: ["admin"] },
  { id: "alice", tenant: "acme", roles: { includes: () => true, length: 1 } },
  { id: "alice", tenant: "acme", roles: Array.from({ length: 1_000 }, () => "admin") }
]

/** A small generator (mulberry32): the same seed, the same numbers. */
export const random = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const words = ["_tag", "decision", "approve", "deny", "Deny", "reason", "note", "arguments", "json"]

/** Any value of up to `depth` levels, of words that the entries know. */
export const anyValue = (next: () => number, depth: number): unknown => {
  const pick = <A>(of: ReadonlyArray<A>): A => of[Math.floor(next() * of.length)]!
  const kind = Math.floor(next() * (depth === 0 ? 4 : 7))
  if (kind === 0) return pick(words)
  if (kind === 1) return next() * 1e6 - 5e5
  if (kind === 2) return pick([null, true, false, undefined, ""])
  if (kind === 3) return String.fromCharCode(Math.floor(next() * 65_536))
  const size = Math.floor(next() * 4)
  if (kind === 4) return Array.from({ length: size }, () => anyValue(next, depth - 1))
  return Object.fromEntries(
    Array.from({ length: size + 1 }, () => [pick(words), anyValue(next, depth - 1)])
  )
}
