/**
 * Writes values as the parameters of a query, a form or a header, by the styles of OpenAPI 3.0 and 3.1. A null is no value: a
 * field or a member that is null is left out.
 */
import { Result, Schema } from "effect"
import type { Json } from "../value/Canonical.ts"
import { isJsonObject } from "./BodyPath.ts"

/**
 * `form`, `spaceDelimited`, `pipeDelimited`, `deepObject` and `simple` are those of OpenAPI. `json` writes any value as its JSON
 * text. `content` is that of a form's fields without a style: each item of a list by itself, and objects as their JSON text.
 */
export const ParameterStyle = Schema.Literals([
  "form",
  "spaceDelimited",
  "pipeDelimited",
  "deepObject",
  "simple",
  "json",
  "content"
])
export type ParameterStyle = typeof ParameterStyle.Type

/** `non-scalar-argument`: the style has no form for a value. `ill-formed-text`: a text is not well-formed Unicode. */
export type ValueRefusal = "non-scalar-argument" | "ill-formed-text"
export type Pairs = ReadonlyArray<readonly [name: string, value: string]>

type Scalar = string | number | boolean
type Encode = (text: string) => string
type Written = Result.Result<Pairs, ValueRefusal>

export const isScalar = (value: Json): value is Scalar =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

const written = (pairs: Pairs): Written => Result.succeed(pairs)
const notScalar: Written = Result.fail("non-scalar-argument")
const illFormed: Written = Result.fail("ill-formed-text")

const delimiters: Partial<Readonly<Record<ParameterStyle, string>>> = {
  form: ",",
  simple: ",",
  spaceDelimited: "%20",
  pipeDelimited: "%7C"
}

const joined = (all: ReadonlyArray<Written>): Written => {
  const pairs: Array<readonly [string, string]> = []
  for (const each of all) {
    if (Result.isFailure(each)) return each
    pairs.push(...each.success)
  }
  return written(pairs)
}

const pairOf = (name: string, value: Scalar, encode: Encode): Written => {
  const text = String(value)
  return name.isWellFormed() && text.isWellFormed() ? written([[name, encode(text)]]) : illFormed
}

/** `a[b][c]=1`. What is in a list has its index for a name, since OpenAPI says nothing of lists and objects within this style. */
const deepPairs = (name: string, value: Json, encode: Encode): Written => {
  if (value === null) return written([])
  if (isScalar(value)) return pairOf(name, value, encode)
  const inner = Object.entries(value as Readonly<Record<string, Json>>)
  return joined(inner.map(([key, each]) => deepPairs(`${name}[${key}]`, each, encode)))
}

/** The members of an object that have a value, or the items of a list, each with the list's own name. */
const entriesOf = (name: string, value: Json): ReadonlyArray<readonly [string, Json]> =>
  isJsonObject(value)
    ? Object.entries(value).filter(([, each]) => each !== null)
    : (value as ReadonlyArray<Json>).map((item) => [name, item] as const)

/** One pair of all items or members, with the style's delimiter between them. */
const delimited = (
  name: string,
  value: Json,
  { explode, style }: { readonly explode: boolean; readonly style: ParameterStyle },
  encode: Encode
): Written => {
  const parts: Array<string> = []
  for (const [key, item] of entriesOf(name, value)) {
    if (!isScalar(item)) return notScalar
    const text = String(item)
    if (!key.isWellFormed() || !text.isWellFormed()) return illFormed
    if (!isJsonObject(value)) parts.push(encode(text))
    else if (explode) parts.push(`${encode(key)}=${encode(text)}`)
    else parts.push(encode(key), encode(text))
  }
  return written(parts.length === 0 ? [] : [[name, parts.join(delimiters[style] ?? ",")]])
}

/** By the type of its content: an object is its JSON text, and a list is sent item by item. */
const byContent = (name: string, value: Json, encode: Encode): Written => {
  if (isScalar(value)) return pairOf(name, value, encode)
  return Array.isArray(value)
    ? joined(
        value.map((item: Json) =>
          pairOf(name, isScalar(item) ? item : JSON.stringify(item), encode)
        )
      )
    : pairOf(name, JSON.stringify(value), encode)
}

export interface Style {
  readonly style: ParameterStyle
  /** Absent = true for `form`, false for any other style. `deepObject`, `json` and `content` do not look at it. */
  readonly explode?: boolean
}

/** Writes one field. `encode` is applied to each value, and to names that are inside a value; the pairs' own names are as they are. */
export const pairsOf = (
  name: string,
  value: Json,
  { explode: given, style }: Style,
  encode: Encode
): Written => {
  const explode = given ?? style === "form"
  if (value === null) return written([])
  if (style === "json") return pairOf(name, JSON.stringify(value), encode)
  if (style === "content") return byContent(name, value, encode)
  if (style === "deepObject") return deepPairs(name, value, encode)
  if (isScalar(value)) return pairOf(name, value, encode)
  if (!explode || style === "simple") {
    return delimited(name, value, { explode, style }, encode)
  }
  return joined(
    entriesOf(name, value).map(([key, item]) =>
      isScalar(item) ? pairOf(key, item, encode) : notScalar
    )
  )
}

export const formEncoded = (text: string): string =>
  new URLSearchParams([["", text]]).toString().slice(1)

export interface SentValue extends Style {
  readonly name: string
  readonly value: Json
}

export type FieldsRefusal = ValueRefusal | "repeated-parameter"

/** Fails with `repeated-parameter` where two are sent under one name: a server could take either for the other. */
export const fieldPairs = (
  fields: ReadonlyArray<SentValue>,
  encode: Encode,
  taken: ReadonlyArray<string> = []
): Result.Result<Pairs, FieldsRefusal> => {
  const names = new Set(taken)
  const all: Array<readonly [string, string]> = []
  for (const { name, value, ...style } of fields) {
    const pairs = pairsOf(name, value, style, encode)
    if (Result.isFailure(pairs)) return Result.fail(pairs.failure)
    const own = new Set(pairs.success.map(([each]) => each))
    for (const each of own) {
      if (names.has(each)) return Result.fail("repeated-parameter")
      names.add(each)
    }
    all.push(...pairs.success)
  }
  return Result.succeed(all)
}

export const formText = (pairs: Pairs): string =>
  pairs.map(([name, value]) => `${formEncoded(name)}=${value}`).join("&")
