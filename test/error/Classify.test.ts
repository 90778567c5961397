import { assert, describe, it } from "@effect/vitest"
import * as Classify from "../../src/error/Classify.ts"

const classes: Record<string, ReadonlyArray<string>> = {
  ToolUserError: [
    "invalid_args",
    "not_found(resource)",
    "not_found(unregistered tool)",
    "input-schema",
    "IRValidationError(tool-input-schema)",
    "post-merge-schema",
    "path-param-missing",
    "path-param-not-scalar",
    "external(404)",
    "400",
    "http 422",
    "4xx"
  ],
  ToolPolicyError: [
    "permission",
    "not_allowed(allowlist)",
    "approval_required",
    "approval_rejected",
    "APPROVAL_DENIED",
    "APPROVAL_EXPIRED",
    "CapabilityError",
    "CapabilityError(tools:broker_request)",
    "401",
    "403",
    "external(403)",
    "ssrf(private address)",
    "ReplayError(fail-loud)",
    "replay-error(fail loud)",
    "fail_loud",
    "recursion_limit"
  ],
  ToolTransientError: [
    "timeout",
    "network",
    "network(ECONNRESET)",
    "external(429)",
    "external(rate limit)",
    "external(5xx)",
    "408",
    "429",
    "500",
    "502",
    "503",
    "504",
    "ECONNREFUSED",
    "rate-limited",
    "circuit open"
  ],
  ToolTerminalError: [
    "internal",
    "unknown",
    "external",
    "external(other)",
    "output-schema",
    "IRValidationError(tool-output-schema)",
    "ReplayError(cassette-miss)",
    "ReplayError",
    "ReplayError(fail loudly)",
    "not-single-slash-path",
    "no-origin",
    "origin-mismatch",
    "outside-mount",
    "RuntimeError(no broker)",
    "StargraphRuntimeError",
    "unsafe-path-segment",
    "missing-run-context",
    "redirect",
    "302",
    "501",
    "a name that nobody knows",
    "",
    "timeout)(",
    "constructor",
    "__proto__"
  ]
}

describe("Classify", () => {
  for (const [expected, names] of Object.entries(classes)) {
    it(`ST-14 ST-15 ST-16 ST-17 gives ${expected} to the sources' own names for it`, () => {
      for (const name of names)
        assert.strictEqual(Classify.classifyName(name).class, expected, name)
    })
  }

  it("SM-17 keeps the kind that SemStreams gave, also where its class differs", () => {
    assert.deepEqual(
      ["timeout", "not_found", "invalid_args", "permission", "network", "internal", "unknown"].map(
        (kind) => Classify.classifyName(kind).kind
      ),
      ["timeout", "not_found", "invalid_args", "permission", "network", "internal", "unknown"]
    )
    assert.deepEqual(Classify.classifyName("not_allowed(allowlist)"), {
      class: "ToolPolicyError",
      kind: "not_found"
    })
    assert.deepEqual(Classify.classifyName("504"), { class: "ToolTransientError", kind: "timeout" })
  })

  it("gives every HTTP status one of the four classes", () => {
    for (let status = 100; status < 600; status++) {
      assert.property(classes, Classify.classifyHttpStatus(status).class)
    }
  })
})
