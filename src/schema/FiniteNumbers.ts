/**
 * The JSON Schema of `Schema.Number` has the texts "NaN", "Infinity" and "-Infinity" beside the numbers. Arguments that contain them
 * are refused (`EffectDecoder.ts`), so a model is not offered them.
 */
type JsonObject = Readonly<Record<string, unknown>>

const non_finite: ReadonlySet<unknown> = new Set(["NaN", "Infinity", "-Infinity"])

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isOfNumbers = (schema: unknown): boolean => isObject(schema) && schema["type"] === "number"

/** Whether this is the schema of the texts that stand for numbers without a finite value. */
const isOfNonFinite = (schema: unknown): boolean =>
  isObject(schema) &&
  Array.isArray(schema["enum"]) &&
  schema["enum"].length === non_finite.size &&
  schema["enum"].every((text) => non_finite.has(text))

/** The choices without those texts, where a number is one of them. */
const finiteChoices = (choices: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  choices.some(isOfNumbers) ? choices.filter((choice) => !isOfNonFinite(choice)) : choices

const finite = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(finite)
  return isObject(value) ? withFiniteNumbers(value) : value
}

/** The same JSON Schema with finite numbers alone. */
export const withFiniteNumbers = (schema: JsonObject): JsonObject => {
  const members = Object.entries(schema).map(([name, value]) => [name, finite(value)] as const)
  const { anyOf, ...beside }: JsonObject = Object.fromEntries(members)
  if (!Array.isArray(anyOf)) return Object.fromEntries(members)
  const choices = finiteChoices(anyOf)
  const [only] = choices
  return choices.length === 1 && isObject(only)
    ? { ...only, ...beside }
    : { anyOf: choices, ...beside }
}
