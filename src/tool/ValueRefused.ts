/**
 * Why a value does not fit a schema, of whatever kind that is.
 */
import { Schema } from "effect"
import { firstSchemaIssue } from "../entry/SchemaIssues.ts"

/** A value that a Standard Schema or a JSON Schema refuses, with at most five of its issues. */
export class ValueRefused extends Schema.TaggedError<ValueRefused>()("ValueRefused", {
  message: Schema.String,
  /** Where the first of them is. Absent = in the value itself. */
  path: Schema.optionalKey(Schema.Array(Schema.String))
}) {}

/** Where a value was refused, as the names on the way there. */
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
