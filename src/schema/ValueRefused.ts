/**
 * Errors of values that do not fit a schema, whatever the kind of schema.
 */
import { Schema } from "effect"
import { excess_message, firstSchemaIssue, schemaIssues } from "./SchemaIssues.ts"

/** A Standard Schema or a JSON Schema refused a value. The message has at most five issues. */
export class ValueRefused extends Schema.TaggedError<ValueRefused>()("ValueRefused", {
  message: Schema.String,
  /** The place of the first issue. Absent = the value itself. */
  path: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The places of all issues, at most 1,000. Absent = only one is known. */
  paths: Schema.optionalKey(Schema.Array(Schema.Array(Schema.String)))
}) {}

/** The places of all issues that are known, except of members that the schema does not have. */
export const refusalPaths = (error: unknown): ReadonlyArray<ReadonlyArray<string>> => {
  if (Schema.isSchemaError(error)) {
    const issues = schemaIssues(error.issue).filter(({ message }) => message !== excess_message)
    return issues.map(({ path }) => path.map(String))
  }
  return error instanceof ValueRefused ? (error.paths ?? [error.path ?? []]) : []
}

/** The names on the path to the place where a value was refused. */
export const refusalPath = (error: unknown): ReadonlyArray<string> =>
  Schema.isSchemaError(error)
    ? firstSchemaIssue(error.issue).path
    : error instanceof ValueRefused
      ? (error.path ?? [])
      : []

/** Why a value was refused, as a sentence without a stack. */
export const refusalText = (error: unknown): string =>
  Schema.isSchemaError(error) || error instanceof ValueRefused
    ? error.message
    : "the value does not fit its schema"
