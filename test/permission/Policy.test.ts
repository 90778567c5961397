/** A policy as it is read, what a start says of it, and what it answers where little is said. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { approvalRequired, isApprovalRequired } from "../../src/queue/CallMessage.ts"
import type { Subject } from "../../src/permission/Policy.ts"
import {
  decodedPolicy,
  effectivePermission,
  no_policy,
  Policy,
  policyOf,
  warningsOf
} from "../../src/permission/Policy.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"

const writer: Subject = { name: "t", category: "mutate", read_only: false }
const reader: Subject = { name: "t", category: "read", read_only: true }

const answer = (policy: unknown, subject: Subject = writer): Permission =>
  effectivePermission(policyOf(policy), subject, {}, false)

describe("a policy from outside", () => {
  it("is the empty policy where none was given, and unchanged where it was decoded before", () => {
    assert.strictEqual(policyOf(undefined), no_policy)
    assert.strictEqual(policyOf(null), no_policy)
    assert.deepStrictEqual(policyOf({}), no_policy)
    for (const policy of [no_policy, policyOf({ mode: "wrong" })]) {
      assert.strictEqual(Result.getOrThrow(decodedPolicy(policy)), policy)
    }
  })

  it("AG-59 has one of four modes, each with its own answer", () => {
    const undeclared: Subject = { name: "t", category: "read", read_only: null }
    const modes: Readonly<Record<string, readonly [Permission, Permission, Permission]>> = {
      allow: ["allow", "allow", "allow"],
      ask: ["ask", "ask", "ask"],
      deny: ["deny", "deny", "deny"],
      allow_reads: ["ask", "allow", "ask"]
    }
    for (const [mode, expected] of Object.entries(modes)) {
      assert.deepStrictEqual(
        [writer, reader, undeclared].map((subject) => answer({ mode }, subject)),
        [...expected],
        mode
      )
      assert.deepStrictEqual(policyOf({ mode }), Policy.make({ mode } as never), mode)
    }
  })

  it("that cannot be decoded is reported in one line of at most 500 characters", () => {
    const long = "x".repeat(3_000)
    for (const given of [{ [long]: 1 }, { rules: [{ pattern: 1, permission: "a" }] }, "policy"]) {
      const [warning, ...more] = warningsOf(policyOf(given))
      assert.deepStrictEqual(more, [])
      const before = "The policy cannot be read, so that every tool asks a person: "
      assert.isTrue(warning!.startsWith(before))
      const mistake = warning!.slice(before.length)
      assert.isAbove(mistake.length, 10)
      assert.isAtMost(mistake.length, 500)
      assert.notMatch(mistake, /\s\s|\n/)
      const told = Result.getFailure(decodedPolicy(given as never))
      assert.deepStrictEqual(told, Result.getFailure(Result.fail(mistake)))
    }
    assert.isTrue(warningsOf(policyOf({ [long]: 1 }))[0]!.length > 500)
  })

  it("causes a warning only where its mode allows everything", () => {
    assert.deepStrictEqual(warningsOf(policyOf({ mode: "allow" })), [
      'The policy allows every tool that nothing else speaks of: its mode is "allow".'
    ])
    for (const policy of [{}, { mode: "ask" }, { mode: "deny" }, { mode: "allow_reads" }]) {
      assert.deepStrictEqual(warningsOf(policyOf(policy)), [])
    }
  })
})

describe("the permission of a tool", () => {
  it("AG-59 is deny under an unknown mode", () => {
    for (const mode of ["perhaps", "", "ALLOW", null]) {
      const policy = { ...no_policy, mode } as never as Policy
      assert.strictEqual(effectivePermission(policy, reader, {}, false), "deny")
    }
  })

  it("SA-23 is ask for a mutation, unless it is approved at publication", () => {
    const gates = [undefined, "at-call", "at-publication-gate"] as const
    const of = (subject: Subject) =>
      gates.map((approval) =>
        answer({}, approval === undefined ? subject : { ...subject, approval })
      )
    assert.deepStrictEqual(of(writer), ["ask", "ask", "allow"])
    assert.deepStrictEqual(of(reader), ["allow", "allow", "allow"])
    assert.deepStrictEqual(of({ ...writer, category: "suggest" }), ["allow", "allow", "allow"])
  })

  it("AG-59 of a server applies only under that server's exact name", () => {
    const servers = { "mcp:a": "deny" }
    assert.strictEqual(answer({ servers }, { ...reader, server: "mcp:a" }), "deny")
    for (const server of ["mcp:b", "toString", "constructor", "__proto__"]) {
      assert.strictEqual(answer({ servers }, { ...reader, server }), "allow", server)
      assert.strictEqual(answer({ servers }, { ...writer, server }), "ask", server)
    }
    assert.strictEqual(answer({ servers }), "ask")
  })
})

it("SM-48 the refusal of a call that was not approved has its reason, and no more than 64 characters of a name", () => {
  const { kind, message, reason } = approvalRequired("x".repeat(500))
  assert.deepStrictEqual({ kind, reason }, { kind: "permission", reason: "APPROVAL_REQUIRED" })
  assert.include(message, `Tool '${"x".repeat(64)}' requires`)
  assert.isTrue(isApprovalRequired(message))
  assert.isFalse(isApprovalRequired(`so: ${message}`))
})
