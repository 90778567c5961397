/**
 * The issues that a schema found in a value: where each is, and the schema's sentence about it, which may quote the value; and the
 * error of a value that does not fit, whatever the kind of schema.
 */
import { SchemaAST, SchemaIssue, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { misplaced, valueAt } from "./MisplacedValue.ts"
import { excess_message, unknownMember } from "./PeerNames.ts"

/** An issue and its place. `path` leads from the value to the place; it is empty if the value itself is wrong. */
export interface PlacedIssue {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
  /** The schema has no such member. Absent = another issue. */
  readonly isStray?: true
}

const membersOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []

/**
 * What a check says that has only a description, such as a pattern, which nobody reads. What a schema is annotated with stands at its
 * last check: where that has words of its own, such as bounds, a description says what the member means, and not what is wrong.
 */
const describedCheck: SchemaIssue.CheckHook = (issue) => {
  const { description, expected = "" } = issue.filter.annotations ?? {}
  const isWorded = expected !== "" && !expected.startsWith("a string matching ")
  const said = SchemaIssue.defaultCheckHook(issue)
  return said ?? (description === undefined || isWorded ? undefined : `Expected ${description}`)
}

/** The message about the value at a path, with that value if it is a number: a text may be long, or a secret in the wrong place. */
const messageOf = (value: unknown, path: ReadonlyArray<string | number>, message: string) => {
  if (!message.startsWith("Expected ")) return message
  const found = valueAt(value, path)
  return (
    misplaced(found, message) ?? (typeof found === "number" ? `${message}; got ${found}` : message)
  )
}

const segmentOf = (part: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof part === "object" ? part.key : part
  return typeof key === "number" ? key : String(key)
}

/** All issues in the order in which the schema found them. `value`: what was decoded, for messages that say more of it. */
export const schemaIssues = (
  issue: SchemaIssue.Issue,
  value?: unknown
): ReadonlyArray<PlacedIssue> => {
  // A leaf does not know its name, and an issue not its leaf: the nth stray member is that of the nth such leaf.
  const strays: Array<ReadonlyArray<string>> = []
  const { issues } = SchemaIssue.makeFormatterStandardSchemaV1({
    leafHook: (leaf) => {
      if (leaf._tag === "UnexpectedKey") strays.push(membersOf(leaf.ast))
      return leaf._tag === "UnexpectedKey" ? excess_message : SchemaIssue.defaultLeafHook(leaf)
    },
    checkHook: describedCheck
  })(issue)
  return issues.map(({ message, path: parts = [] }) => {
    const path = parts.map(segmentOf)
    if (message === "Missing key") return { path, message: "it is missing" }
    const known = message === excess_message ? strays.shift() : undefined
    return known === undefined
      ? { path, message: messageOf(value, path, message) }
      : { path, message: unknownMember(String(path.at(-1)), known), isStray: true }
  })
}

/** The first issue, with the segments of its path as texts, for an error that names only one. */
export const firstSchemaIssue = (
  issue: SchemaIssue.Issue,
  value?: unknown
): Partial<Omit<PlacedIssue, "path">> & { readonly path: ReadonlyArray<string> } => {
  const [first] = schemaIssues(issue, value)
  return { ...first, path: (first?.path ?? []).map(String) }
}

/** The first issue as a sentence that includes its place. */
export const issueText = ({ issue }: Schema.SchemaError): string => {
  const { message = "it does not fit", path } = firstSchemaIssue(issue)
  const text = truncateUnits(message, 300)
  return path.length === 0
    ? text
    : `${path.map((part) => truncateUnits(part, 64)).join(".")}: ${text}`
}

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
    const issues = schemaIssues(error.issue).filter(({ isStray }) => isStray === undefined)
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
