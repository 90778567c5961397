/**
 * Graphs from YAML texts; JSON is YAML too. Needs the package `yaml`.
 */
import { Effect, Result } from "effect"
import { parse } from "yaml"
import { truncateUnits } from "../../src/value/CutText.ts"
import type { ToolGraph } from "../../src/graph/ToolGraph.ts"
import { GraphRefused, loadGraph } from "../../src/graph/ToolGraph.ts"

const text_length_max = 1_000_000

const unreadable = (message: string) =>
  new GraphRefused({ graph: "(unread)", field: "", message: `the text is no YAML: ${message}` })

/** One document of at most 1,000,000 characters. Fails with what cannot be right in the text or in the graph. */
export const read = (text: string): Effect.Effect<ToolGraph, GraphRefused> => {
  if (text.length > text_length_max) {
    return Effect.fail(unreadable(`it is longer than ${text_length_max} characters`))
  }
  // The core schema makes only what JSON has, and an alias is a way to write a very large value in a small text.
  const value = Result.try((): unknown => parse(text, { maxAliasCount: 0, schema: "core" }))
  if (Result.isSuccess(value)) return loadGraph(value.success)
  const error: unknown = value.failure
  return Effect.fail(
    unreadable(error instanceof Error ? truncateUnits(error.message, 500) : "it is odd")
  )
}
