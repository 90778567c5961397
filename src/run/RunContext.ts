/**
 * What an application tells a run's tools and functions but not its model: who the customer is, their language, their plan. It
 * comes with the message, is journaled without its secrets (`ContextSecrets`), and stays the same for the whole run.
 */
import { Exit, Redacted, Schema, SchemaAST } from "effect"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import type { AnySchema } from "../tool/ToolCodec.ts"
import { jsonUpTo } from "../value/Bounds.ts"

/** A JSON object. */
export type RunContext = Readonly<Record<string, Schema.Json>>

/** A context from outside: at most 16,384 characters of JSON. */
export const CheckedRunContext = CheckedJsonRecord.check(jsonUpTo(16_384))

/** The context of a message that gives none, for a tool that reads one. */
export const no_context: RunContext = {}

/** Reads the context by a schema. */
export interface ContextReader {
  readonly decode: (given: unknown) => Exit.Exit<unknown, unknown>
  /** The names of the members that are secrets. The journal has the names and never the values. */
  readonly secrets: ReadonlyArray<string>
}

/** A context in two parts: what is journaled, and the secrets, which are not. */
export interface SeparatedContext {
  readonly context: RunContext | undefined
  readonly secrets: RunContext | undefined
}

/** The texts and numbers in a value, at any depth of objects and lists. */
const textsIn = (value: unknown, found: Set<string>): void => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    found.add(String(value))
  } else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) textsIn(member, found)
  }
}

/** The texts of each `Redacted` in a decoded value. */
const secretTextsIn = (value: unknown, found: Set<string>): void => {
  if (Redacted.isRedacted(value)) textsIn(Redacted.value(value), found)
  else if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) secretTextsIn(member, found)
  }
}

/**
 * Adds the texts that the secret members of a context hold: those of every `Redacted` that a reader decoded, and those that a
 * member which is one as a whole was sent with.
 */
export const addSecretTexts = (secrets: RunContext, decoded: unknown, found: Set<string>): void => {
  if (typeof decoded !== "object" || decoded === null) return
  const members: Readonly<Record<string, unknown>> = { ...decoded }
  for (const [name, sent] of Object.entries(secrets)) {
    const member = members[name]
    secretTextsIn(member, found)
    if (Redacted.isRedacted(member)) textsIn(sent, found)
  }
}

/** The context as its reader decodes it, with the secrets that the reader declares. Without a reader: as given, without secrets. */
export const contextFor = (
  reader: ContextReader | undefined,
  { context, secrets }: SeparatedContext
): Exit.Exit<unknown, unknown> =>
  reader === undefined
    ? Exit.succeed(context)
    : reader.decode(
        secrets === undefined || reader.secrets.length === 0
          ? (context ?? no_context)
          : { ...context, ...membersOf(secrets, (name) => reader.secrets.includes(name)) }
      )

const membersOf = (of: RunContext, has: (name: string) => boolean): RunContext =>
  Object.fromEntries(Object.entries(of).filter(([name]) => has(name)))

/** Separates the members with these names, the secrets, from the rest. `secrets` is undefined where the context has none of them. */
export const separateSecrets = (given: RunContext, names: ReadonlySet<string>): SeparatedContext =>
  Object.keys(given).some((name) => names.has(name))
    ? {
        context: membersOf(given, (name) => !names.has(name)),
        secrets: membersOf(given, (name) => names.has(name))
      }
    : { context: given, secrets: undefined }

/** The problem and the fix of a schema whose secrets cannot be separated from its other members. */
export const misplaced_secret = "a Redacted in it is no part of a member of a Schema.Struct"
export const place_secret = "Declare the context as a Schema.Struct, and secrets as its members"

const redacted_id = "effect/schema/Redacted"

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => [
  ...(ast.encoding ?? []).map(({ to }) => to),
  ...(SchemaAST.isDeclaration(ast) ? ast.typeParameters : []),
  ...(SchemaAST.isObjects(ast)
    ? [
        ...ast.propertySignatures.map(({ type }) => type),
        ...ast.indexSignatures.map(({ type }) => type)
      ]
    : []),
  ...(SchemaAST.isArrays(ast) ? [...ast.elements, ...ast.rest] : []),
  ...(SchemaAST.isUnion(ast) ? ast.types : []),
  ...(SchemaAST.isSuspend(ast) ? [ast.thunk()] : [])
]

const isRedacted = (ast: SchemaAST.AST): boolean => {
  const representation = SchemaAST.isDeclaration(ast) ? ast.annotations?.["representation"] : null
  return (
    typeof representation === "object" &&
    representation !== null &&
    "id" in representation &&
    representation.id === redacted_id
  )
}

/** Is there a `Redacted` anywhere in it? */
const hasRedacted = (ast: SchemaAST.AST): boolean => {
  // Iterating a set also visits what is added meanwhile, each once while it grows: a schema may refer to itself.
  const seen = new Set([ast])
  for (const each of seen) {
    if (isRedacted(each)) return true
    for (const part of partsOf(each)) seen.add(part)
  }
  return false
}

type Fields = Readonly<Record<string, Schema.Codec<unknown, unknown>>>

const fieldsOf = (schema: AnySchema): Fields | undefined =>
  Schema.isSchema(schema) && SchemaAST.isObjects(schema.ast) && schema.ast.encoding === undefined
    ? (schema as unknown as { readonly fields?: Fields }).fields
    : undefined

/** The names of members that are secret, wholly or in part; undefined where a secret is not within a member of a `Schema.Struct`. */
export const secretMembers = (schema: AnySchema): ReadonlyArray<string> | undefined => {
  if (!Schema.isSchema(schema) || !hasRedacted(schema.ast)) return []
  const fields = fieldsOf(schema)
  if (fields === undefined) return undefined
  return Object.keys(fields).filter((name) => hasRedacted((fields[name] as Schema.Top).ast))
}

/** The schema of the rest, for code that is shown no secret. */
export const withoutSecrets = (schema: AnySchema, secrets: ReadonlyArray<string>): AnySchema => {
  const fields = secrets.length === 0 ? undefined : fieldsOf(schema)
  return fields === undefined
    ? schema
    : (Schema.Struct(
        Object.fromEntries(Object.entries(fields).filter(([name]) => !secrets.includes(name)))
      ) as AnySchema)
}

type Has<A> =
  A extends Redacted.Redacted<unknown>
    ? true
    : A extends ReadonlyArray<infer Item>
      ? Has<Item>
      : A extends object
        ? true extends { [Name in keyof A]-?: Has<A[Name]> }[keyof A]
          ? true
          : false
        : false

/** A context without its secrets. */
export type Public<A> = {
  readonly [Name in keyof A as true extends Has<NonNullable<A[Name]>> ? never : Name]: A[Name]
}

/** A context as a message gives it: secrets as plain values. */
export type Plain<A> =
  A extends Redacted.Redacted<infer Value>
    ? Value
    : A extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Plain<Item>>
      : A extends object
        ? { readonly [Name in keyof A]: Plain<A[Name]> }
        : A
