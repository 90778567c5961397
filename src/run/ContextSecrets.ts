/**
 * Secrets in the context of a run: the members that its schema makes `Redacted`. Tools that declare a context get them from the
 * memory of the process that accepted the message. They are never journaled.
 */
import { Schema, SchemaAST } from "effect"
import type { Redacted } from "effect"
import type { AnySchema } from "../tool/ToolCodec.ts"

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
