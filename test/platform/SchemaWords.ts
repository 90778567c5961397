/** What a schema says beside the texts of people: the names of its members, and the words that a value must be one of. */
import { Schema, SchemaAST } from "effect"

/** A text of a record, as the members that lead to it; of a list, those of the list. */
interface Place {
  readonly path: ReadonlyArray<string>
  readonly ast: SchemaAST.AST
}

const below = ({ ast, path }: Place): ReadonlyArray<Place> => {
  const at = (each: SchemaAST.AST, ...names: ReadonlyArray<string>) => ({
    path: [...path, ...names],
    ast: each
  })
  if (SchemaAST.isObjects(ast)) {
    return [
      ...ast.propertySignatures.map(({ name, type }) => at(type, String(name))),
      ...ast.indexSignatures.map(({ type }) => at(type, "*"))
    ]
  }
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].map((each) => at(each))
  if (SchemaAST.isUnion(ast)) return ast.types.map((each) => at(each))
  return SchemaAST.isSuspend(ast) ? [at(ast.thunk())] : []
}

/** The schema and all that it is made of, each with the members that lead to it. */
const placesOf = (schema: Schema.Top): ReadonlyArray<Place> => {
  const places: Array<Place> = [{ path: [], ast: SchemaAST.toEncoded(schema.ast) }]
  for (const place of places) places.push(...below(place))
  return places
}

/** The words that values of these schemas are chosen from. */
export const literalsOf = (...schemas: ReadonlyArray<Schema.Top>): ReadonlyArray<string> => [
  ...new Set(
    schemas.flatMap(placesOf).flatMap(({ ast }) => {
      return SchemaAST.isLiteral(ast) && typeof ast.literal === "string" ? [ast.literal] : []
    })
  )
]

/** The names of their members. */
export const memberNamesOf = (...schemas: ReadonlyArray<Schema.Top>): ReadonlyArray<string> => [
  ...new Set(schemas.flatMap(placesOf).flatMap(({ path }) => path.filter((name) => name !== "*")))
]

/** Names of members of which some value is a text that may be any other text, such as this one. */
export const textMembersOf = (
  text: string,
  ...schemas: ReadonlyArray<Schema.Top>
): ReadonlyArray<string> => [
  ...new Set(
    schemas.flatMap(placesOf).flatMap(({ ast, path }) => {
      const isFree = SchemaAST.isString(ast) && Schema.is(Schema.make(ast))(text)
      return isFree ? path.slice(-1) : []
    })
  )
]
