/**
 * A page that is bounded by its size as well as by its rows: 500 rows could be 500 results of 4 MB.
 */
import { Effect } from "effect"

/** The number of rows in one read, and so the number of rows by which a page can exceed its size bound. */
const read_max = 16
/** The size in UTF-16 units of JSON at which a page is full. */
const units_max = 8_000_000

/**
 * Reads after the last row (undefined = from the start) until there are `limit` items or their size reaches the bound. `last` is
 * the last item if there may be rows after it.
 */
export const boundedPage = Effect.fnUntraced(function* <A, E>(
  limit: number,
  read: (last: A | undefined, limit: number) => Effect.Effect<ReadonlyArray<A>, E>
) {
  const items: Array<A> = []
  let units = 0
  while (items.length < limit) {
    const wanted = Math.min(read_max, limit - items.length)
    const rows = yield* read(items.at(-1), wanted)
    for (const row of rows) {
      items.push(row)
      units += JSON.stringify(row).length
      if (units > units_max) return { items, last: row }
    }
    if (rows.length < wanted) return { items, last: undefined }
  }
  return { items, last: items.at(-1) }
})
