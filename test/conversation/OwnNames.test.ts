import { assert, describe, it } from "vitest"
import { capabilityDenied } from "../../src/capability/Capability.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { failureOf, ToolPolicyError, ToolUserError } from "../../src/error/ToolError.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import { CallId } from "../../src/value/Ids.ts"

const told = (error: ToolError, name = "tool"): string =>
  resultText({
    role: "tool",
    call: CallId.make("0/1.0"),
    model_id: "a",
    name,
    outcome: { _tag: "Failed", error: failureOf(error) }
  })

describe("what a model reads of a failed call", () => {
  it("names the missing capability, also where its scope looks like a secret", () => {
    for (const capability of ["secrets.read:x", "password:prod", "api_key.use:billing/live"]) {
      const text = told(capabilityDenied("vault", capability as never))
      assert.include(text, `"vault" needs the capability "${capability}"`)
      assert.notInclude(text, "[secret]")
    }
  })

  it("hides a secret in the same words of any other failure, and in longer ones", () => {
    const words = capabilityDenied("vault", "password:hunter2" as never).message
    const others = [
      new ToolUserError({ kind: "external", reason: "MCP_TOOL_ERROR", message: words }),
      new ToolPolicyError({ kind: "permission", reason: "OTHER", message: words }),
      new ToolPolicyError({
        kind: "permission",
        reason: "CAPABILITY_DENIED",
        message: `${words} The password: hunter2.`
      }),
      new ToolPolicyError({
        kind: "permission",
        reason: "CAPABILITY_DENIED",
        message: `"vault" needs the capability "x", password="hunter2", which nobody can be granted.`
      })
    ]
    for (const error of others) assert.notInclude(told(error), "hunter2")
  })

  it("names its tool, however long the name is, and hides what only resembles it", () => {
    const name = "get_customer_account_details_v2_internal"
    const message = `${name} failed with ${name}x and key ${name.replace("v2", "v3")}`
    const text = told(new ToolUserError({ kind: "external", message }), name)
    assert.include(text, `${name} failed with [secret] and key [secret]`)
    assert.notInclude(told(new ToolUserError({ kind: "external", message })), name)
  })
})
