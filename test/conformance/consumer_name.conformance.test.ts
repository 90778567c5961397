import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { consumerNameForSubject, consumerNameForTool } from "../../src/queue/CallMessage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape } from "./Vectors.ts"

/** The consumer of a tool or of a subject, with or without a suffix; undefined = an unknown shape. */
const named = (input: unknown): string | undefined => {
  if (typeof input === "string") return consumerNameForTool(input)
  if (hasShape(input, ["subject"], ["suffix"])) {
    return consumerNameForSubject(String(input.subject), input.suffix as string | undefined)
  }
  if (hasShape(input, ["tool"], ["suffix"])) {
    return consumerNameForTool(String(input.tool), input.suffix as string | undefined)
  }
  return undefined
}

conformance("consumer_name", ({ expect, input }): Driven => {
  const name = named(input)
  return name === undefined
    ? undefined
    : { rows: "SM-33", run: Effect.sync(() => assert.strictEqual(name, expect)) }
})
