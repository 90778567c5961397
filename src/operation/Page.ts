/**
 * Bounds and filters of the API's lists.
 */
import { Schema } from "effect"

/** How many rows a page has by default. */
export const limit_default = 50

/** How many rows a page may have: 1 to 500. */
export const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))

/** How many items one bulk acts on at most. */
export const bulk_max = 10_000

/** How far what waits is counted: with one more it is as many "or more". */
export const counted_max = 1_000

/** A moment in ms since 1970, up to the last that `Date` can hold. */
export const Moment = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 8_640_000_000_000_000 })
)

/** Refuses a range that ends before it begins; the issue is reported at `from`. */
export const orderedRange = <From extends string, To extends string>(from: From, to: To) =>
  Schema.makeFilter((range: { readonly [K in From | To]?: number }) => {
    const [begin, end]: ReadonlyArray<number | undefined> = [range[from], range[to]]
    return begin === undefined || end === undefined || begin <= end
      ? undefined
      : { path: [from], issue: `Expected a moment that is not after ${to}` }
  })

/** The `seq` after which a page begins; -1 = the first row. The maximum plus one still fits the column. */
export const After = Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 2_147_483_646 }))

/** A text that rows are compared with. NUL is refused, because PostgreSQL cannot store it. */
export const Filter = Schema.String.check(
  Schema.isMaxLength(200),
  // oxlint-disable-next-line no-control-regex -- it is what is refused
  Schema.isPattern(/^[^\u0000]*$/, { expected: "a text without NUL" })
)

export { Reason } from "../approval/Approval.ts"
