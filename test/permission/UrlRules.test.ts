import { assert, describe, it } from "@effect/vitest"
import type { Permission } from "../../src/tool/SideEffects.ts"
import { uncoveredCapability, grantsOf, parseCapability } from "../../src/capability/Capability.ts"
import { rulesFor } from "../../src/permission/PermissionRule.ts"
import { either } from "../Long.ts"

/** What one rule makes of a call of a tool that takes a text; undefined = it does not speak of it. */
const said = (permission: Permission, prefix: string, text: string): Permission | undefined =>
  rulesFor([{ pattern: `fetch(${prefix}:*)`, permission }], ["fetch"], {
    arguments: ["url"]
  }).permissionOf({ url: text }, undefined)

const denies = (prefix: string, text: string) => said("deny", prefix, text) === "deny"
const asks = (prefix: string, text: string) => said("ask", prefix, text) === "ask"
const allows = (prefix: string, text: string) => said("allow", prefix, text) === "allow"

/** Numbers that are the same at every run (mulberry32). */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const wide = (character: string): string =>
  /[!-~]/.test(character) ? String.fromCharCode(character.charCodeAt(0) + 0xfee0) : character

/** A character of a host, spelled otherwise. */
const spelled = (character: string, next: () => number): string => {
  const choice = Math.floor(next() * 9)
  if (choice === 0) return character.toUpperCase()
  if (choice === 1) return `%${character.charCodeAt(0).toString(16)}`
  if (choice === 2) return wide(character)
  if (choice === 3) return `${character}\u00ad`
  if (choice === 4) return `${character}\t`
  if (choice === 5) return `${character}\u200b`
  if (choice === 6 && character === ".") return "\u3002"
  return character
}

const spelling = (host: string, next: () => number): string => {
  const pick = (...of: ReadonlyArray<string>) => of[Math.floor(next() * of.length)]!
  const scheme = pick("https", "HTTPS", "hTTps", "ht\ntps", "http", "HTTP")
  const slashes = pick("://", ":///", ":\\\\", ":/\\", ":", ":/", "://\t", ":////")
  const user = pick("", "", "", "user@", "api.example.com@", "api.example.com:443@", ":@")
  const name = next() < 0.5 ? host : [...host].map((each) => spelled(each, next)).join("")
  const port = pick("", "", ":443", ":80", ":", ":0443", ":8443")
  const path = pick("", "/", "/a/b", "?q=1", "#x", "\\a", "/%2e%2e/x", "/..;/x", "//a")
  return (
    pick("", "", " ", "\n", "\u0000") +
    scheme +
    slashes +
    user +
    name +
    pick("", "", ".") +
    port +
    path +
    pick("", " ")
  )
}

describe("a policy rule with a URL", () => {
  it("AG-59 denies and asks for every spelling that a fetch would dial its host for", () => {
    for (const host of ["evil.example", "bücher.example", "203.0.113.7", "xn--bcher-kva.example"]) {
      const next = random(host.length)
      const dialled = URL.parse(`https://${host}`)!.hostname
      let met = 0
      for (let i = 0; i < either(2_000, 6_000); i++) {
        const text = spelling(host, next)
        if (URL.parse(text)?.hostname.replace(/\.$/, "") !== dialled) continue
        met++
        assert.isTrue(denies(`https://${host}`, text), JSON.stringify(text))
        assert.isTrue(asks(`https://${host}`, text), JSON.stringify(text))
      }
      assert.isAbove(met, either(200, 600))
    }
  })

  it("AG-59 allows nothing that a fetch would dial another host for", () => {
    const next = random(7)
    const hosts = [
      "api.example.com.attacker.tld",
      "api.example.comattacker.tld",
      "api.example.com@attacker.tld",
      "attacker.tld",
      "xapi.example.com",
      "sub.api.example.com",
      "api.example.com"
    ]
    let held = 0
    for (let i = 0; i < either(20_000, 40_000); i++) {
      const text = spelling(hosts[Math.floor(next() * hosts.length)]!, next)
      if (!allows("https://api.example.com", text)) continue
      held++
      assert.strictEqual(
        URL.parse(text)?.origin.replace(/\.$/, ""),
        "https://api.example.com",
        JSON.stringify(text)
      )
    }
    assert.isAbove(held, 3)
  })

  for (const text of [
    "HTTPS://evil.example/x",
    "https://EVIL.example",
    "https://ev%69l%2eexample/",
    "https:///evil.example/x",
    "https:evil.example",
    "https:\\\\evil.example",
    "https://user:pw@evil.example",
    "https://evil.example.",
    "https://evil.example:443/",
    "https://evil.example:8443/",
    "https://ev\til.exa\nmple/",
    "https://ｅｖｉｌ.example",
    "https://evil。example",
    "http://evil.example",
    "//evil.example/x",
    "evil.example/x",
    "evil.example:443/x",
    "https://[not an address]/",
    "https://evil.example".padEnd(9_000, "x")
  ]) {
    it(`denies ${JSON.stringify(text.slice(0, 60))}`, () => {
      assert.isTrue(denies("https://evil.example", text))
      assert.isFalse(allows("https://api.example.com", text))
    })
  }

  it("denies an address in each of its forms", () => {
    for (const text of [
      "http://203.0.113.7",
      "http://0xcb007107/",
      "http://3405803783/",
      "http://0313.0.0161.7",
      "http://[::ffff:203.0.113.7]/",
      "http://[64:ff9b::cb00:7107]/"
    ]) {
      assert.isTrue(denies("http://203.0.113.7", text), text)
    }
  })

  it("denies a path however it is spelled, and allows whole segments of a plain one", () => {
    const admin = "https://h.example/admin"
    for (const path of [
      "/admin",
      "/admin/users",
      "/ADMIN",
      "//admin",
      "/./admin",
      "/x/../admin",
      "/x/%2e%2e/admin",
      "/%61dmin",
      "/%2561dmin",
      "/x/%252e%252e/admin",
      "\\admin",
      "/x/..%2fadmin"
    ]) {
      assert.isTrue(denies(admin, `https://h.example${path}`), path)
    }
    assert.isFalse(denies(admin, "https://h.example/public"))
    const v1 = "https://h.example/v1"
    for (const path of ["/v1", "/v1/", "/v1/orders?x=%2e"])
      assert.isTrue(allows(v1, `https://h.example${path}`), path)
    for (const path of [
      "/v10",
      "/v1/../admin",
      "/v1/%2e%2e/admin",
      "/v1/%252e%252e/admin",
      "/v1/..%2fadmin",
      "/v1/..%5cadmin",
      "/v1/..;/admin",
      "/V1"
    ]) {
      assert.isFalse(allows(v1, `https://h.example${path}`), path)
    }
    assert.isTrue(allows("https://h.example/v1/*", "https://h.example/v1/x"))
    assert.isTrue(denies("https://h.example/?debug=1", "https://h.example/?a=b&debug=1"))
    assert.isFalse(denies("https://h.example/?debug=1", "https://h.example/?a=b"))
  })

  it("matches the subdomains of a host, every host, and a single port", () => {
    assert.isTrue(denies("https://*.evil.example", "https://a.b.evil.example"))
    assert.isFalse(denies("https://*.evil.example", "https://notevil.example"))
    assert.isTrue(allows("https://", "https://any.example/x"))
    assert.isFalse(allows("https://", "http://any.example/x"))
    assert.isFalse(denies("http://h.example", "https://h.example"))
    assert.isTrue(denies("https://h.example:8443", "https://h.example:8443"))
    assert.isFalse(denies("https://h.example:8443", "https://h.example"))
    assert.isFalse(allows("https://h.example", "https://h.example:8443"))
    assert.isTrue(allows("https://h.example:443", "https://H.EXAMPLE/"))
  })

  it("compares URLs among the words of a command", () => {
    const rules = (permission: Permission) =>
      rulesFor(
        [{ pattern: "run_command(curl https://h.example:*)", permission }],
        ["run_command"],
        {
          rule_arguments: ["program", "args"]
        }
      )
    const of = (permission: Permission, ...args: ReadonlyArray<string>) =>
      rules(permission).permissionOf({ program: "curl", args }, undefined)
    assert.strictEqual(of("deny", "HTTPS://H.example/x"), "deny")
    assert.strictEqual(of("deny", "https://other.example"), undefined)
    assert.strictEqual(of("allow", "https://h.example/x"), "allow")
    assert.strictEqual(of("allow", "https://h.example.attacker.tld"), undefined)
  })
})

describe("a rule with a path", () => {
  for (const path of [
    "secrets/a",
    "./secrets/a",
    "x/../secrets/a",
    "secrets//a",
    "secrets/./a",
    "secrets"
  ]) {
    it(`denies ${path}`, () => assert.isTrue(denies("secrets/", path)))
  }
  it("allows none that climbs out of it", () => {
    assert.isTrue(allows("public/", "public/a/../b"))
    assert.isTrue(allows("./public/", "./public/a"))
    for (const path of ["public/../secrets", "public/a/../../secrets", "/public/x", "publicx"])
      assert.isFalse(allows("public/", path), path)
    assert.isFalse(allows("/srv/", "/srv/../etc/passwd"))
    assert.isTrue(denies("/etc/", "/srv/../../etc/passwd"))
  })
})

describe("a granted scope with a URL", () => {
  const covers = (grant: string, wanted: string): boolean =>
    uncoveredCapability(grantsOf([parseCapability(`net.fetch:${grant}`)], true), [
      `net.fetch:${wanted}`
    ]) === undefined

  it("SG-45 covers only its own host", () => {
    assert.isTrue(covers("https://api.example.com/*", "https://api.example.com/v1"))
    assert.isTrue(covers("https://API.example.com/*", "https://api.EXAMPLE.com:443/v1"))
    assert.isTrue(covers("https://api.example.com*", "https://api.example.com/v1"))
    assert.isTrue(covers("https://*.example.com/*", "https://a.b.example.com/v1"))
    assert.isTrue(covers("https://*", "https://any.example/v1"))
    for (const wanted of [
      "https://api.example.com.attacker.tld/v1",
      "https://api.example.com@attacker.tld/v1",
      "https://attacker.tld/https://api.example.com/",
      "https://api.example.com:8443/",
      "http://api.example.com/",
      "https://api.example.com\\@attacker.tld/"
    ]) {
      assert.isFalse(covers("https://api.example.com*", wanted), wanted)
      assert.isFalse(covers("https://api.example.com/*", wanted), wanted)
    }
    assert.isFalse(covers("https://api.example.com/v1/*", "https://api.example.com/v1/%2e%2e/x"))
    assert.isFalse(covers("https://*.example.com/*", "https://example.com.attacker.tld/"))
    assert.isFalse(covers("https://api.example.com", "https://api.example.com/v1"))
  })
})
