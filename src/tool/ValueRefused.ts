/**
 * Errors of values that do not fit a schema, whatever the kind of schema.
 */
import { Schema } from "effect"
import { firstSchemaIssue } from "../entry/SchemaIssues.ts"

/** A Standard Schema or a JSON Schema refused a value. The message has at most five issues. */
export class ValueRefused extends Schema.TaggedError<ValueRefused>()("ValueRefused", {
  message: Schema.String,
  /** The place of the first issue. Absent = the value itself. */
  path: Schema.optionalKey(Schema.Array(Schema.String))
}) {}

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
