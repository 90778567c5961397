/**
 * A page that is bounded by its size and not only by its rows: 500 rows may be 500 results of 4 MB.
 */
import { Effect } from "effect"

/** Rows that are read at a time: what one read may bring beyond the bound. */
const read_max = 16
/** UTF-16 units of JSON after which a page takes no further rows. */
const units_max = 8_000_000

/**
 * Reads on behind the last row (undefined = from the start) until there are `limit` items, or their size is over the
 * bound. `more`: there may be items behind the last one, which there is then.
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
      if (units > units_max) return { items, more: true }
    }
    if (rows.length < wanted) return { items, more: false }
  }
  return { items, more: true }
})
