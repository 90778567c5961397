/**
 * What is said of a value that stands where another one belongs: a tool, an agent or a model where its name is written, an object
 * in place of a list, a text in place of a message.
 */
import { Effect, Result } from "effect"
import { truncateUnits } from "../value/CutText.ts"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isTool = (value: unknown): boolean => Effect.isEffect(value) && "spec" in value
const isAgent = (value: unknown): boolean =>
  isObject(value) && typeof value["name"] === "string" && "instructions" in value
const isModel = (value: unknown): boolean =>
  isObject(value) && ("specificationVersion" in value || "modelId" in value || "invoke" in value)
const isMessage = (value: unknown): boolean => isObject(value) && "role" in value

/** Kinds of values, and what is written where one stands in place of something else. */
const cures: ReadonlyArray<readonly [is: (value: unknown) => boolean, cure: string]> = [
  [isTool, "it is a tool object: write its name here and give the object to start({ tools })"],
  [isAgent, "it is an agent object: write its name here and give the object to start({ agents })"],
  [
    isModel,
    "it is a model object: give it to start({ model }), and leave this out or write a name here"
  ],
  [isMessage, "it is a message: write its text here"],
  [
    (value) => Array.isArray(value) && value.some(isMessage),
    "it is a list of messages: write the text of the new one; the conversation has those before it"
  ]
]

const names = (value: Readonly<Record<string, unknown>>): string =>
  Object.keys(value)
    .slice(0, 3)
    .map((name) => truncateUnits(name, 64))
    .join(", ")

/** What a value is and what to write instead. Undefined = nothing is known of it. */
export const cureOf = (value: unknown): string | undefined => {
  const found = Result.try(() => {
    const known = cures.find(([is]) => is(value))
    if (known !== undefined) return known[1]
    const holdsObjects =
      isObject(value) && Object.values(value).some((each) => isTool(each) || isAgent(each))
    return holdsObjects ? `it is an object: write a list, [${names(value)}]` : undefined
  })
  return Result.getOrUndefined(found)
}

/** The value at a path; undefined = there is none, or it cannot be read. */
export const valueAt = (value: unknown, path: ReadonlyArray<string | number>): unknown =>
  Result.getOrUndefined(
    Result.try(() =>
      path.reduce<unknown>(
        (inner, name) =>
          typeof inner === "object" && inner !== null ? Reflect.get(inner, name) : undefined,
        value
      )
    )
  )

/** A value in another form than its own, as in a query, whose values are texts. */
const inOtherForm = (value: unknown, expected: string): string | undefined => {
  if (typeof value === "number" && expected === "string")
    return `it is a number: write a text, "${value}"`
  if (typeof value !== "string" || value.length > 32) return undefined
  if (expected === "number" && value.trim() !== "" && Number.isFinite(Number(value)))
    return `it is a text: write a number, ${Number(value)}`
  if (expected === "boolean" && /^(?:true|false)$/.test(value))
    return `it is a text: write ${value}`
  return undefined
}

const article: Readonly<Record<string, string>> = { array: "a list", object: "an object" }

/** The same where a schema expected a value of a simple kind: `Expected string`. */
export const misplaced = (found: unknown, message: string): string | undefined => {
  const kind = /^Expected (string|number|boolean|array|object)$/.exec(message)?.[1]
  if (kind === undefined) return undefined
  const form = inOtherForm(found, kind)
  if (form !== undefined) return form
  if (typeof found === "string" && article[kind] !== undefined)
    return `it is a text: write ${article[kind]}`
  return (
    cureOf(found) ??
    (kind === "object" && Array.isArray(found) ? "it is a list: write an object" : undefined)
  )
}

/** The same of a whole value, which is written in this shape: it may be a text or an agent alone. */
export const otherThan = (value: unknown, shape: string | undefined): string | undefined => {
  if (shape === undefined) return undefined
  const is = Result.try(() =>
    typeof value === "string" ? "a text" : isAgent(value) ? "an agent" : undefined
  )
  const what = Result.getOrUndefined(is)
  return what === undefined ? undefined : `it is ${what}: write ${shape}`
}

/** A kind of thing and its name, as its author knows it. */
export const ownerOf = (kind: string, value: unknown): string => {
  const name = valueAt(value, ["name"])
  return typeof name === "string" && name !== ""
    ? `${kind} ${JSON.stringify(truncateUnits(name, 64))}`
    : kind
}
