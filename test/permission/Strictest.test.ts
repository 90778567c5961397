/** Of several rules that speak of one call, in whatever order they stand. */
import { assert, describe, it } from "@effect/vitest"
import { effectivePermission, policyOf } from "../../src/permission/Policy.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"
import { runOf } from "./Tools.ts"

const subject = {
  name: "run",
  category: "mutate",
  read_only: false,
  arguments: ["command"]
} as const
const args = { command: "npm test --watch" }

/** Ways for a rule to speak of the call: of every one, of some, of those of some senders, and of both. */
const kinds = [
  { pattern: "run" },
  { pattern: "run(npm test:*)" },
  { pattern: "run", roles: ["operator"] },
  { pattern: "run(npm:*)", unless_roles: ["customer"] }
] as const

const rank: Readonly<Record<Permission, number>> = { allow: 0, ask: 1, deny: 2 }
const answers: ReadonlyArray<Permission> = ["allow", "ask", "deny"]

const answerOf = (rules: ReadonlyArray<object>) =>
  effectivePermission(policyOf({ mode: "deny", rules }), subject, args, false, runOf(["operator"]))

describe("AG-60 several rules that match", () => {
  it("give the strictest of two permissions, in either order and of any form", () => {
    for (const first of answers) {
      for (const second of answers) {
        const strictest = rank[first] > rank[second] ? first : second
        for (const a of kinds) {
          for (const b of kinds) {
            const rules = [
              { ...a, permission: first },
              { ...b, permission: second }
            ]
            assert.strictEqual(answerOf(rules), strictest, JSON.stringify(rules))
          }
        }
      }
    }
  })

  it("give the strictest of three permissions in each of their six orders", () => {
    const orders = [
      ["allow", "ask", "deny"],
      ["allow", "deny", "ask"],
      ["ask", "allow", "deny"],
      ["ask", "deny", "allow"],
      ["deny", "allow", "ask"],
      ["deny", "ask", "allow"]
    ] as const
    for (const order of orders) {
      for (const shift of kinds.keys()) {
        const rules = order.map((permission, i) => ({
          ...kinds[(i + shift) % kinds.length]!,
          permission
        }))
        assert.strictEqual(answerOf(rules), "deny", JSON.stringify(rules))
        const mild = rules.filter(({ permission }) => permission !== "deny")
        assert.strictEqual(answerOf(mild), "ask", JSON.stringify(mild))
      }
    }
  })

  it("leave the permission to the mode where none of them matches", () => {
    const others = [
      { pattern: "other", permission: "allow" },
      { pattern: "run(npm publish:*)", permission: "allow" },
      { pattern: "run", permission: "allow", roles: ["approver"] },
      { pattern: "run", permission: "allow", unless_roles: ["operator"] }
    ]
    assert.strictEqual(answerOf(others), "deny")
    assert.strictEqual(answerOf([]), "deny")
  })
})
