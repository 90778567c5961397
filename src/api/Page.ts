/**
 * Bounds of the lists that the API gives.
 */
import { Schema } from "effect"

/** Rows of one page, when nobody says. */
export const limit_default = 50

/** 1 to 500 rows. */
export const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))

/** A moment in ms since 1970, up to the last one that a date can be. */
export const Moment = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 8_640_000_000_000_000 })
)

/** A range that ends before it begins holds nothing, which nobody asks for: the mistake is named at its first end. */
export const orderedRange = <From extends string, To extends string>(from: From, to: To) =>
  Schema.makeFilter((range: { readonly [K in From | To]?: number }) => {
    const [begin, end]: ReadonlyArray<number | undefined> = [range[from], range[to]]
    return begin === undefined || end === undefined || begin <= end
      ? undefined
      : { path: [from], issue: `Expected a moment that is not after ${to}` }
  })

/** The number of a row behind which a page begins; -1 = at the first. One more still fits a column. */
export const After = Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 2_147_483_646 }))

/** A text that rows are compared with. No store holds a NUL. */
export const Filter = Schema.String.check(
  Schema.isMaxLength(200),
  // oxlint-disable-next-line no-control-regex -- it is what is refused
  Schema.isPattern(/^[^\u0000]*$/, { expected: "a text without NUL" })
)

export { Reason } from "../approval/DecisionPayload.ts"
