/**
 * The issues that a schema found in a value: where each is, and the schema's sentence about it, which may quote the value.
 */
import { SchemaIssue } from "effect"
import type { Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"

/** An issue and its place. `path` leads from the value to the place; it is empty if the value itself is wrong. */
export interface PlacedIssue {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** The message for a member that the schema does not have. */
export const excess_message = "there is no such member"

const formatted = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (leaf) =>
    leaf._tag === "UnexpectedKey" ? excess_message : SchemaIssue.defaultLeafHook(leaf)
})

const segmentOf = (part: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof part === "object" ? part.key : part
  return typeof key === "number" ? key : String(key)
}

/** All issues in the order in which the schema found them. */
export const schemaIssues = (issue: SchemaIssue.Issue): ReadonlyArray<PlacedIssue> =>
  formatted(issue).issues.map(({ message, path = [] }) => ({ path: path.map(segmentOf), message }))

/** The first issue, with the segments of its path as texts, for an error that names only one. */
export const firstSchemaIssue = (
  issue: SchemaIssue.Issue
): { readonly path: ReadonlyArray<string>; readonly message: string | undefined } => {
  const [first] = schemaIssues(issue)
  return { path: (first?.path ?? []).map(String), message: first?.message }
}

/** The first issue as a sentence that includes its place. */
export const issueText = ({ issue }: Schema.SchemaError): string => {
  const { message = "it does not fit", path } = firstSchemaIssue(issue)
  const text = truncateUnits(message, 300)
  return path.length === 0
    ? text
    : `${path.map((part) => truncateUnits(part, 64)).join(".")}: ${text}`
}
