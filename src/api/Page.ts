/**
 * Bounds of the lists that the API gives.
 */
import { Schema } from "effect"

/** Rows of one page, when nobody says. */
export const limit_default = 50

/** 1 to 500 rows. */
export const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))

export { Reason } from "../approval/DecisionPayload.ts"
