/**
 * Bounds of the lists that the API gives.
 */
import { Schema } from "effect"

/** Rows of one page, when nobody says. */
export const limit_default = 50

/** 1 to 500 rows. */
export const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))

/** A reason that a person gives and the journal keeps. */
export const Reason = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000))
