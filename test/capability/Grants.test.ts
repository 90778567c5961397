/** What a grant covers, of URLs above all, and what is said of a capability that no grant covers. */
import { assert, describe, it } from "@effect/vitest"
import {
  capabilityDenied,
  grantFix,
  grantsOf,
  uncoveredCapability
} from "../../src/capability/Capability.ts"

const covers = (scope: string, wanted: string): boolean =>
  uncoveredCapability(grantsOf([{ name: "net", scope }], true), [`net:${wanted}`]) === undefined

describe("a granted scope with a URL", () => {
  it("SG-37 covers hosts and paths as written, and its stars widen neither into the other", () => {
    const table: ReadonlyArray<readonly [scope: string, wanted: string, is: boolean]> = [
      ["https://*/v1/*", "https://a.example/v1/x", true],
      ["https://*/v1/*", "https://a.example/v2/x", false],
      ["https://*/", "https://a.example/", true],
      ["https://*/", "https://a.example/x", false],
      ["https://*", "https://a.example/x?q=1", true],
      ["https://*", "http://a.example/x", false],
      ["https://api.example*/v1", "https://api.example/v1", false],
      ["https://api.example*/v1", "https://api.example/v2", false],
      ["https://api.example*", "https://api.example/v2", true],
      ["https://api.example*", "https://api.example.org/v2", false],
      ["https://*.example/*", "https://a.example/x", true],
      ["https://*.example/*", "https://example/x", false],
      ["https://*./*", "https://a.example/x", false],
      ["https://a.example", "https://a.example", true],
      ["https://a.example", "https://a.example/?q=1", false],
      ["https://a.example/*", "https://a.example", true],
      ["https://a.example/?", "https://a.example/x", true],
      ["HTTPS://A.example/x", "https://a.example/x", true],
      ["wss://a.example/*", "wss://a.example", true],
      ["db+x://a.example", "db+x://a.example", true],
      ["db+x://a.example/*", "db+x://a.example", true],
      ["db+x://a.example", "db+x://a.example/x", false],
      ["db+x://a.example/x\ny*", "db+x://a.example/x", false],
      ["https:///*", "https:///a.example/x", false],
      ["https://", "https://a.example/", false]
    ]
    for (const [scope, wanted, is] of table) {
      assert.strictEqual(covers(scope, wanted), is, `${scope} ${wanted}`)
    }
  })

  it("SG-37 is parsed as one only where the scope begins with a scheme", () => {
    for (const before of ["/", "x ", "-", "=", "\n"]) {
      assert.isTrue(covers(`${before}https://a.example/*`, `${before}https://a.example/x`))
      assert.isFalse(covers(`${before}https://a.example/*`, "https://a.example/x"))
    }
  })
})

describe("a capability that is not granted", () => {
  it("SG-43 is named in at most 200 characters, its tool in at most 64, with the reason", () => {
    const { kind, message, reason } = capabilityDenied("t".repeat(500), `fs:${"x".repeat(500)}`)
    assert.deepStrictEqual({ kind, reason }, { kind: "permission", reason: "CAPABILITY_DENIED" })
    assert.strictEqual(
      message,
      `"${"t".repeat(64)}" needs the capability "fs:${"x".repeat(197)}", which this agent does not have.`
    )
    assert.strictEqual(
      capabilityDenied("t", "fs:../x").message,
      '"t" needs the capability "fs:../x", which nobody can be granted.'
    )
  })

  it("is reported with a fix that works", () => {
    const table: ReadonlyArray<readonly [missing: string, default_deny: boolean, fix: string]> = [
      ["fs", false, "Add it to capabilities"],
      ["fs:/x", false, "Add it to capabilities"],
      ["fs:/x", true, "Add it to capabilities"],
      ["fs", true, "Declare it with a scope: under default_deny no grant covers one without"],
      ["fs:", true, "Declare it with a scope: under default_deny no grant covers one without"],
      [
        "fs:/x[1]",
        true,
        "Add one whose glob matches it to capabilities: as a grant, its own brackets are a set"
      ],
      ["fs:../x", false, 'Declare it without the ".." in its scope: no grant covers it'],
      ["fs:a\\..", true, 'Declare it without the ".." in its scope: no grant covers it']
    ]
    for (const [missing, default_deny, fix] of table) {
      assert.strictEqual(grantFix(missing, default_deny), fix, missing)
    }
  })
})
