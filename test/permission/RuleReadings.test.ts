/** What a rule makes of a call: of a path, of a text, and of words, as they were given and as they can be spelled. */
import { assert, describe, it } from "@effect/vitest"
import { rulesFor } from "../../src/permission/PermissionRule.ts"
import { effectivePermission, permissionFor, Policy } from "../../src/permission/Policy.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"

/** A prefix, a text, and whether a rule with that prefix speaks of it. */
type Case = readonly [prefix: string, text: unknown, is: boolean]

const ofText = (permission: Permission, prefix: string, text: unknown) =>
  rulesFor([{ pattern: `read(${prefix}:*)`, permission }], ["read"], {
    arguments: ["path"]
  }).permissionOf({ path: text }, undefined)

const ofWords = (permission: Permission, prefix: string, args: unknown) =>
  rulesFor([{ pattern: `pay(${prefix}:*)`, permission }], ["pay"], {
    rule_arguments: ["to", "items"]
  }).permissionOf(args, undefined)

const table = (of: typeof ofText, permission: Permission, cases: ReadonlyArray<Case>) => {
  for (const [prefix, given, is] of cases) {
    const about = `${permission} ${prefix}: ${JSON.stringify(given)}`
    assert.strictEqual(of(permission, prefix, given), is ? permission : undefined, about)
  }
}

describe("a rule of a text", () => {
  it("AG-59 denies the file that a path leads to, and no other", () => {
    table(ofText, "deny", [
      ["src/se", "src/./secret", true],
      ["src/se", "x/../src//secret", true],
      ["src/", "./srcs/x", false],
      ["src/", "./src/x", true],
      ["src/", "./src/", true],
      ["/etc/", "etc/passwd", false],
      ["/etc/", "./etc/passwd", false],
      ["/etc/", "/x/../etc/passwd", true],
      ["etc/", "/etc/passwd", false],
      ["../../etc/", "etc/passwd", false],
      ["../../etc/", "x/../../../etc/passwd", true],
      ["./", "/etc/passwd", true]
    ])
  })

  it("AG-59 denies a call whose arguments are the JSON text of an object, as of that object", () => {
    const rules = [{ pattern: "read(secret:*)", permission: "deny" }] as const
    const { permissionOf } = rulesFor(rules, ["read"], { arguments: ["path"] })
    for (const args of [{ path: "secret/x" }, { a: "b", path: "secret" }]) {
      assert.strictEqual(permissionOf(JSON.stringify(args), undefined), "deny")
    }
    assert.isUndefined(permissionOf(JSON.stringify({ path: "open" }), undefined))
    assert.strictEqual(ofWords("deny", "bob", JSON.stringify({ to: "bob", items: [1] })), "deny")
  })

  it("AG-59 allows a path only where both its text and the file that it leads to begin so", () => {
    table(ofText, "allow", [
      ["src/", "src/x", true],
      ["src/", "src/./x", true],
      ["src/", "src/a/../x", true],
      ["src/", "src/../srcs/x", false],
      ["src/", "src/..", false],
      ["src/", "src/.", false],
      ["src/", "./src/x", false],
      ["/srv/", "/srv/x", true],
      ["/srv/", "srv/x", false],
      ["../../lib/", "../../lib/x", true],
      ["../../lib/", "../../lib/../../lib/x", false],
      ["../../lib/", "../../lib/../../../lib/x", false]
    ])
  })

  it("AG-59 allows nothing above a prefix such as ./ or ../", () => {
    table(ofText, "allow", [
      ["./", "./x", true],
      ["./", "./a/../x", true],
      ["./", "./../x", false],
      ["./", "./a/../../x", false],
      ["./", ".//..//../etc/passwd", false],
      ["../", "../x", true],
      ["../", "../a/../x", true],
      ["../", "../../x", false],
      ["../", "../a/../../x", false],
      [".", ".env", true],
      [".", "../x", false],
      ["a/..", "a/../x", true],
      ["a/..", "a/../../x", false]
    ])
  })

  it("AG-59 reads a path to its end, however long it is", () => {
    const down = "a/".repeat(5_000)
    const up = "../".repeat(5_000)
    table(ofText, "allow", [
      ["src/", `src/${down}x`, true],
      ["src/", `src/${down}${up}x`, true],
      ["src/", `src/${down}${up}../etc/passwd`, false]
    ])
    table(ofText, "deny", [
      ["etc/", `${down}${up}etc/passwd`, true],
      ["etc/", `${down}${up}x`, false]
    ])
  })

  it("AG-59 with a scheme alone reads the URL as a fetch does", () => {
    for (const permission of ["deny", "ask"] as const) {
      table(ofText, permission, [
        ["https:", "HTTPS://a.example/x", true],
        ["https:", " https://a.example/x", true],
        ["https:", "http://a.example/x", false],
        ["https:", "mailto:https:", false]
      ])
    }
    table(ofText, "allow", [
      ["https:", "https://a.example/x", true],
      ["https:", "https://a.example/https:", true],
      ["http:", "https://a.example/http:", false],
      ["x", "x://a.example/x", true]
    ])
  })

  it("AG-59 whose URL cannot be parsed allows nothing, and denies every text", () => {
    for (const prefix of ["https://user@a.example", "https://a*b.example", "https://[x"]) {
      for (const text of ["https://a.example/", "https://user@a.example/", "", "anything"]) {
        table(ofText, "allow", [[prefix, text, false]])
        table(ofText, "deny", [[prefix, text, true]])
        table(ofText, "ask", [[prefix, text, true]])
      }
    }
  })
})

describe("a rule of words", () => {
  it("AG-59 reads the given arguments and skips absent ones", () => {
    for (const permission of ["deny", "allow"] as const) {
      table(ofWords, permission, [
        ["10", { items: [10] }, true],
        ["10", { to: undefined, items: 10 }, true],
        ["eve 10", { items: ["10"], to: "eve" }, true],
        ["eve 10", { to: "eve" }, false],
        ["eve", { items: [], to: "eve" }, true],
        ["eve", {}, false],
        ["eve", null, false],
        ["eve", undefined, false],
        ["eve", "eve", false],
        ["undefined", { items: [] }, false]
      ])
    }
    table(ofWords, "deny", [["eve", { to: undefined, items: [undefined, "eve"] }, true]])
  })

  it("AG-59 denies whatever the white space of the call and of the rule", () => {
    for (const prefix of ["eve now", "  eve   now", "eve\t now"]) {
      table(ofWords, "deny", [
        [prefix, { to: "eve now" }, true],
        [prefix, { to: "eve \t\n now" }, true],
        [prefix, { to: "eve", items: ["", "  ", "now"] }, true],
        [prefix, { to: "eve", items: ["nowhere"] }, true],
        [prefix, { to: "evenow" }, false]
      ])
    }
    table(ofWords, "deny", [
      ["eve ", { to: "eve", items: [1] }, true],
      ["eve ", { to: "eve" }, true],
      ["eve ", { to: "evelyn" }, false]
    ])
  })

  it("AG-59 allows only whole words, whatever the white space of the rule", () => {
    for (const prefix of ["eve now", "  eve   now  ", "eve\t now"]) {
      table(ofWords, "allow", [
        [prefix, { to: "eve", items: ["now"] }, true],
        [prefix, { to: "eve", items: ["now", "and then"] }, true],
        [prefix, { to: "eve now" }, false],
        [prefix, { to: "eve", items: ["nowhere"] }, false],
        [prefix, { to: "", items: ["eve", "now"] }, false]
      ])
    }
  })

  it("AG-59 with a URL matches it only at its position, after the words before it", () => {
    const prefix = "get https://evil.example"
    table(ofWords, "deny", [
      [prefix, { to: "get", items: ["https://EVIL.example/x"] }, true],
      [prefix, { to: "get https://evil.example" }, true],
      [prefix, { to: "get", items: ["no-url"] }, true],
      [prefix, { to: "put", items: ["https://evil.example/x"] }, false],
      [prefix, { to: "get", items: ["https://good.example/x"] }, false],
      [prefix, { to: "get" }, false],
      [prefix, { to: "get", items: [""] }, false],
      [prefix, {}, false],
      ["get https://evil.example now", { to: "get", items: ["https://EVIL.example"] }, false],
      ["get https://evil.example now", { to: "get", items: ["https://EVIL.example", "now"] }, true]
    ])
    table(ofWords, "allow", [
      [prefix, { to: "get", items: ["https://evil.example/x"] }, true],
      [prefix, { to: "get", items: ["https://evil.example.x"] }, false],
      [prefix, { to: "put", items: ["https://evil.example/x"] }, false],
      [prefix, { to: "get" }, false]
    ])
  })

  it("AG-59 whose URL cannot be parsed allows nothing, and denies any word at its position", () => {
    const prefix = "get https://user@a.example"
    table(ofWords, "allow", [
      [prefix, { to: "get", items: ["https://user@a.example"] }, false],
      [prefix, { to: "get", items: ["https://a.example/"] }, false],
      [prefix, { to: "get", items: ["x"] }, false],
      [prefix, { to: "get" }, false]
    ])
    table(ofWords, "deny", [
      [prefix, { to: "get", items: ["x"] }, true],
      [prefix, { to: "get", items: ["https://other.example"] }, true],
      [prefix, { to: "put", items: ["x"] }, false]
    ])
  })
})

describe("the permission of a tool", () => {
  const subject = { name: "pay", category: "read", read_only: true } as const
  const policyOf = (...rules: Policy["rules"]) => Policy.make({ rules })

  it("AG-59 is decided before any call, unless a rule reads arguments or the sender's roles", () => {
    assert.strictEqual(permissionFor(policyOf(), subject), "allow")
    const always = policyOf({ pattern: "pay", permission: "deny" })
    assert.strictEqual(permissionFor(always, subject), "deny")
    const other = policyOf({ pattern: "send(x:*)", permission: "deny" })
    assert.strictEqual(permissionFor(other, subject), "allow")
    const byCall = policyOf({ pattern: "pay(eve:*)", permission: "deny" })
    assert.isFunction(permissionFor(byCall, subject))
    const bySender = policyOf({ pattern: "pay", permission: "deny", unless_roles: ["admin"] })
    assert.isFunction(permissionFor(bySender, subject))
  })

  it("AG-59 follows the first text argument as declared, or the text that is the whole argument", () => {
    const policy = policyOf({ pattern: "pay(eve:*)", permission: "deny" })
    const of = (args: unknown) =>
      effectivePermission(policy, { ...subject, arguments: ["n", "to", "note"] }, args, false)
    assert.strictEqual(of({ note: "x", to: "eve", n: 1 }), "deny")
    assert.strictEqual(of({ note: "eve", to: "x" }), "allow")
    assert.strictEqual(of({ note: "eve", to: 5 }), "deny")
    assert.strictEqual(of({ other: "eve" }), "deny")
    assert.strictEqual(of("eve"), "deny")
  })
})
