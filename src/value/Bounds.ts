/** Schemas with bounds and defaults, as definitions, requests and options have them. */
import { Effect, Schema } from "effect"

/** A whole number from `minimum` to `maximum`. */
export const between = (minimum: number, maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** A text of 1 to `units_max` UTF-16 units. */
export const textUpTo = (units_max: number) =>
  Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(units_max))

/** A check that a text is spelled so, and the words for it, whatever a member of this kind is described by. */
export const spelled = (pattern: RegExp, how: string) =>
  Schema.isPattern(pattern, { description: how, expected: how })

/** A check that the JSON of a value has at most so many characters. */
export const jsonUpTo = (units_max: number) =>
  Schema.makeFilter(
    (value: unknown) =>
      (JSON.stringify(value) ?? "").length <= units_max ||
      `expected at most ${units_max} characters of JSON`
  )

/** A member that may be left out, where it is decoded and where it is constructed. */
export const defaulted = <S extends Schema.Top & Schema.WithoutConstructorDefault>(
  schema: S,
  value: S["Type"] & S["Encoded"]
) =>
  schema.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(value)),
    Schema.withConstructorDefault(Effect.succeed(value))
  )
