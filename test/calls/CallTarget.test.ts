/** The target of a direct call. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { CallProfile } from "../../src/call/CallTarget.ts"
import { targetOf } from "../../src/call/CallTarget.ts"

const endpoint = "https://agenta.example:8443/base/api/tools/call"

const target = (path: string, params: unknown = {}, profile: CallProfile = "base") => {
  const found = targetOf(endpoint, { method: "POST", path }, params, profile)
  return Result.isSuccess(found) ? found.success.href : found.failure
}

describe("the target of a direct call", () => {
  it("AG-05 keeps the callback's origin and port, whatever the path is", () => {
    assert.strictEqual(target("/api/x"), "https://agenta.example:8443/api/x")
    for (const path of ["//evil.example/api/x", "https://evil.example/api/x", "api/x", ""]) {
      assert.strictEqual(target(path), "not-single-slash-path", path)
    }
  })

  it("AG-03 has a method of its profile", () => {
    for (const [profile, allowed] of [
      ["base", ["GET", "POST"]],
      ["extended", ["GET", "POST", "PUT", "DELETE"]],
      ["full", ["GET", "POST", "PUT", "PATCH", "DELETE"]]
    ] as const) {
      const path = profile === "base" ? "/api/x" : "/base/api/x"
      for (const method of [
        "GET",
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "HEAD",
        "TRACE",
        "post",
        "__proto__"
      ]) {
        const found = targetOf(endpoint, { method, path }, {}, profile)
        const isAllowed = (allowed as ReadonlyArray<string>).includes(method)
        assert.strictEqual(Result.isSuccess(found), isAllowed, `${profile} ${method}`)
      }
    }
  })

  it("AG-04 AG-06 stays below its mount, and a path that climbs or is ambiguous is refused", () => {
    for (const path of [
      "/api/..",
      "/api/a/../b",
      "/api/%2e%2e%2fadmin",
      "/api/a/%2E%2e/b",
      "/api/%252e%252e/admin",
      "/api/a%5cb",
      "/api/x#y",
      "/api/x y",
      "/api/x\u0000",
      "/api/ü"
    ]) {
      assert.notMatch(target(path), /^https:/, path)
    }
    for (const part of [
      "%2e%2e%2fadmin",
      "a%2F%2E%2e%2fadmin",
      "a%2f%252e%252e%252fadmin",
      "%25252e%25252e/admin",
      "a%2f.%2fb",
      "a%25255cb",
      "a\\b",
      "a?b=\\",
      "a#b",
      "a b",
      "a\tb",
      "a\u007fb"
    ]) {
      for (const profile of ["base", "extended", "full"] as const) {
        const path = profile === "base" ? `/api/${part}` : `/base/api/${part}`
        assert.strictEqual(target(path, {}, profile), "unsafe-path", `${profile} ${path}`)
      }
    }
    // A slash that is encoded is a part of a name.
    assert.match(target("/base/api/a%2fb", {}, "extended"), /\/base\/api\/a%2fb$/)
    assert.strictEqual(target("/api/"), "outside-mount")
    assert.strictEqual(target("/apix/y"), "outside-mount")
    assert.strictEqual(
      target("/base/api/x", {}, "extended"),
      "https://agenta.example:8443/base/api/x"
    )
    assert.strictEqual(target("/api/x", {}, "extended"), "outside-mount")
    // Only the extended profile may call the mount itself; a path that only begins like it is refused.
    for (const path of ["/base/api", "/base/api/"]) {
      assert.strictEqual(target(path, {}, "extended"), `https://agenta.example:8443${path}`)
    }
    assert.strictEqual(target("/base/apix", {}, "extended"), "outside-mount")
    assert.strictEqual(target("/api"), "outside-mount")
  })

  it("AG-23 has its parameters filled with encoded scalars, from own members only", () => {
    const path = "/api/x/{id}"
    assert.strictEqual(
      target(path, { id: "a/b?c#d" }),
      "https://agenta.example:8443/api/x/a%2Fb%3Fc%23d"
    )
    assert.strictEqual(target(path, { id: true }), "https://agenta.example:8443/api/x/true")
    for (const [id, reason] of [
      [undefined, "path-param-missing"],
      [null, "path-param-missing"],
      [[1], "path-param-not-scalar"],
      [Number.NaN, "path-param-not-scalar"],
      ["..", "unsafe-path"],
      ["", "unsafe-path"],
      ["\ud800", "unsafe-path"]
    ] as const) {
      assert.strictEqual(target(path, { id }), reason, String(id))
    }
    // A value is text: percent signs in it are encoded, so that it cannot climb.
    for (const [id, shown] of [
      ["%2e%2e", "%252e%252e"],
      ["%2E", "%252E"],
      ["%5c", "%255c"],
      ["a\\b", "a%5Cb"],
      ["100%", "100%25"]
    ] as const) {
      assert.strictEqual(target(path, { id }), `https://agenta.example:8443/api/x/${shown}`)
    }
    // A value is refused where the path around it would turn it into dots.
    for (const [made, id] of [
      ["/api/x/%{id}", "2e"],
      ["/api/x/%{id}%2e", "2e"],
      ["/api/x/.{id}", "."],
      ["/api/x/%2e{id}", "."],
      ["/api/x/%25{id}", "2e"],
      ["/api/x/%{id}", "5c"],
      ["/api/x/%2{id}", "e"]
    ] as const) {
      assert.notMatch(target(made, { id }), /^https:/, made)
    }
    assert.strictEqual(target("/api/{constructor.name}", {}), "path-param-missing")
    assert.strictEqual(target("/api/{toString}", {}), "path-param-missing")
  })
})
