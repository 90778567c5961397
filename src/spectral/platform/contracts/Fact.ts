/**
 * The kinds of values from which the platform's records are made.
 */
import { Schema } from "effect"
import { Principal } from "../../../principal/Principal.ts"

/** A text that is not blank and has at most `units_max` UTF-16 units. */
export const Text = (units_max: number) =>
  Schema.String.check(
    Schema.isPattern(/\S/, { description: "a text that is not blank" }),
    Schema.isMaxLength(units_max)
  )

/** Who did something: the id of a principal, which may be blank. */
export const By = Principal.fields.id

/** A time in ms since 1970, up to the last that `Date` can hold. */
export const Moment = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 8_640_000_000_000_000 })
)

export const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

/** A share, from 0 to 1. */
export const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** The number of a version; the first is 1. */
export const Version = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))
