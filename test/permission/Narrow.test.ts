/** Rules and lists at their edges: what is not spoken of is not allowed, and what is denied stays so. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parsePattern, rulesFor } from "../../src/permission/PermissionRule.ts"
import { decodedPolicy, effectivePermission, policyOf } from "../../src/permission/Policy.ts"
import { parseCapability, grantsOf, uncoveredCapability } from "../../src/capability/Capability.ts"

const said = (permission: "allow" | "deny", prefix: string, args: unknown) =>
  rulesFor([{ pattern: `read(${prefix}:*)`, permission }], ["read"], {
    arguments: ["path"]
  }).permissionOf(args, undefined)

describe("a rule of a path", () => {
  it("AG-59 allows no path that leads out of its prefix, and denies one that leads into it", () => {
    assert.strictEqual(said("allow", "../lib/", { path: "../lib/x" }), "allow")
    for (const path of ["../lib/../../lib/x", "../lib/../x", "lib/x", "../../lib/x"]) {
      assert.isUndefined(said("allow", "../lib/", { path }), path)
    }
    for (const path of ["../../etc/passwd", "a/../../../etc/passwd", "./../.././etc//passwd"]) {
      assert.strictEqual(said("deny", "../../etc/", { path }), "deny", path)
    }
    assert.isUndefined(said("deny", "../../etc/", { path: "../etc/passwd" }))
  })

  it("AG-59 that denies matches the folder itself, and no other folder", () => {
    assert.strictEqual(said("deny", "src/", { path: "src" }), "deny")
    assert.isUndefined(said("deny", "src/", { path: "other" }))
    assert.isUndefined(said("deny", "src", { path: "sr" }))
  })

  it("reads a text that is the whole argument, and matches no arguments without a text", () => {
    assert.strictEqual(said("deny", "src/", "src/x"), "deny")
    for (const args of [null, undefined, 5, true, {}, { path: 5 }]) {
      assert.isUndefined(said("deny", "src/", args))
      assert.isUndefined(said("allow", "", args))
    }
  })

  it("has a prefix only with a name before both of its brackets", () => {
    for (const text of ["read", "read(src/", "read:*)", "(src/:*)", "read(src/)"]) {
      assert.deepStrictEqual(parsePattern(text), { tool: text, prefix: undefined })
    }
    assert.deepStrictEqual(parsePattern("read(src/:*)"), { tool: "read", prefix: "src/" })
  })
})

describe("a policy", () => {
  const subject = { name: "t", category: "mutate", read_only: false } as const

  it("AG-61 denies a tool also where approval_required lists it", () => {
    const approval_required = ["t"]
    const of = (policy: object, own: object = {}) =>
      effectivePermission(
        policyOf({ ...policy, approval_required }),
        { ...subject, ...own },
        {},
        false
      )
    assert.strictEqual(of({ mode: "deny" }), "deny")
    assert.strictEqual(of({ rules: [{ pattern: "t", permission: "deny" }] }), "deny")
    assert.strictEqual(of({ mode: "allow" }, { permission: "deny" }), "deny")
    assert.strictEqual(of({ mode: "allow" }), "ask")
  })

  it("asks for a mutation unless it is approved at publication", () => {
    const of = (own: object) => effectivePermission(policyOf({}), { ...subject, ...own }, {}, false)
    assert.strictEqual(of({}), "ask")
    assert.strictEqual(of({ approval: "at-publication-gate" }), "allow")
    assert.strictEqual(of({ category: "read" }), "allow")
  })

  it("that does not decode is refused, whatever its static type", () => {
    const policy = policyOf({ mode: "deny" })
    for (const wrong of [{ mode: "perhaps" }, { rules: "none" }, { servers: { a: "yes" } }]) {
      assert.isTrue(Result.isFailure(decodedPolicy({ ...policy, ...wrong } as never)))
    }
    assert.isTrue(Result.isSuccess(decodedPolicy(policy)))
  })
})

it("a granted URL with a user or a password, or without a host, covers nothing", () => {
  for (const grant of ["https://user@a.example/*", "https://:pw@a.example/*", "https://[x/*"]) {
    const grants = grantsOf([parseCapability(`net:${grant}`)], false)
    assert.isDefined(uncoveredCapability(grants, ["net:https://a.example/x"]), grant)
  }
  const root = grantsOf([parseCapability("net:https://a.example")], false)
  assert.isDefined(uncoveredCapability(root, ["net:https://a.example/x"]))
  assert.isUndefined(uncoveredCapability(root, ["net:https://a.example/"]))
})
