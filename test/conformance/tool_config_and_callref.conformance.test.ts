import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import {
  decodeToolConfig,
  invocationOf,
  referenceIdentity,
  referenceName
} from "../../src/call/ToolConfig.ts"
import { gatewayRefOf } from "../../src/call/ResolvedTool.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const shownBy = (id: string, { type }: Fields): string =>
  rowsOf(
    [id.startsWith("call-xor-") || id.endsWith("-only"), "AG-01"],
    [id === "call-unknown-field", "AG-02"],
    [type !== undefined, "AG-36"],
    [type === "gateway", "AG-37"],
    [type === "reference", "AG-42"],
    [id === "legacy-permission-keys-ignored", "AG-63"]
  )

/** What is known of a configuration without the platform; `resolvedRevision` is what the platform says. */
const factsOf = (config: ToolConfig, revision: unknown): Fields => {
  if ("kind" in config) return {}
  if (config.type === "gateway") return { callRef: gatewayRefOf(config) }
  if (config.type !== "reference") return {}
  return {
    identity: referenceIdentity(config),
    toolName: referenceName(config),
    callRef: null,
    call: invocationOf(String(revision))
  }
}

conformance("tool_config_and_callref", ({ expect, id, input }): Driven => {
  if (!isRecord(input) || !(expect === "ok" || expect === "reject" || isRecord(expect))) {
    return undefined
  }
  const { resolvedRevision, ...config } = input
  return {
    rows: shownBy(id, input),
    run: Effect.sync(() => {
      const decoded = decodeToolConfig(config, id)
      assert.strictEqual(Result.isSuccess(decoded), expect !== "reject", String(decoded))
      if (Result.isFailure(decoded) || !isRecord(expect)) return
      const facts = factsOf(decoded.success, resolvedRevision)
      for (const [name, value] of Object.entries(expect)) {
        assert.deepStrictEqual(facts[name], value, name)
      }
    })
  }
})
