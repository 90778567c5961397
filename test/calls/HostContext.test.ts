/** What a run knows of itself, and the tokens that name parts of it. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  decodeHostContext,
  isImmutableToken,
  tokenValue,
  withBothForms
} from "../../src/call/HostContext.ts"

describe("the context of a run", () => {
  it("AG-29 has a workflow, a trace and a session, flat or nested, and no other member", () => {
    const whole = {
      workflow: {
        artifact_id: "a",
        variant_id: "v",
        variant_name: "main",
        revision_id: "r",
        version: 3,
        is_draft: false,
        latest_revision_id: "r2"
      },
      trace: { trace_id: "t", span_id: "s" },
      session_id: "c"
    }
    assert.deepStrictEqual(Result.getOrThrow(decodeHostContext(whole)), whole)
    assert.isTrue(Result.isSuccess(decodeHostContext({})))
    for (const wrong of [
      { ...whole, tenant: "x" },
      { workflow: { variant_id: 7 } },
      { trace: { trace_id: "" } },
      { session: { id: "c", token: "secret" } },
      null
    ]) {
      assert.isTrue(Result.isFailure(decodeHostContext(wrong)), JSON.stringify(wrong))
    }
  })

  it("AG-29 gives one value for both forms of an id, and the nested one where both are given", () => {
    for (const given of [
      { workflow: { variant_id: "v" }, session_id: "c" },
      { workflow: { variant: { id: "v" } }, session: { id: "c" } }
    ]) {
      const context = withBothForms(given)
      for (const token of ["$ctx.workflow.variant_id", "$ctx.workflow.variant.id"]) {
        assert.strictEqual(tokenValue(token, context), "v")
      }
      for (const token of ["$ctx.session_id", "$ctx.session.id"]) {
        assert.strictEqual(tokenValue(token, context), "c")
      }
    }
    const two = withBothForms({ workflow: { variant_id: "flat", variant: { id: "nested" } } })
    assert.strictEqual(tokenValue("$ctx.workflow.variant_id", two), "nested")
  })

  it("AG-18 names nothing by a token whose value is null", () => {
    assert.isUndefined(tokenValue("$ctx.trace", { trace: null }))
    assert.isUndefined(tokenValue("$ctx.trace.trace_id", { trace: null }))
  })

  it("AG-32 holds the workflow and its variant to be the same for a whole deployment", () => {
    for (const name of ["artifact.id", "artifact_id", "variant.id", "variant_id"]) {
      assert.isTrue(isImmutableToken(`$ctx.workflow.${name}`), name)
    }
    for (const name of ["workflow.latest_revision_id", "workflow.revision.id", "trace.trace_id"]) {
      assert.isFalse(isImmutableToken(`$ctx.${name}`), name)
    }
  })
})
