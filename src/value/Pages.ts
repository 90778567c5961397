/**
 * Pages of lists. Whoever reads a list to its end has one page of it in memory at a time.
 */
import { Effect } from "effect"

/** What `visit` returns if it wants no further page. */
export type Enough = "enough"

/**
 * Calls `visit` with each page in order, until a page is shorter than `page_max` or `visit` returns `enough`. `read` gets the
 * last item of the previous page, or undefined for the first page, and returns the page that follows it.
 */
export const forEachPage = Effect.fnUntraced(function* <A, E, R, E2 = never, R2 = never>(
  page_max: number,
  read: (last: A | undefined) => Effect.Effect<ReadonlyArray<A>, E, R>,
  visit: (page: ReadonlyArray<A>) => Effect.Effect<Enough | undefined, E2, R2> | undefined
): Effect.fn.Return<void, E | E2, R | R2> {
  let last: A | undefined
  for (;;) {
    const page = yield* read(last)
    const visited = page.length === 0 ? undefined : visit(page)
    if (visited !== undefined && (yield* visited) === "enough") return
    if (page.length < page_max) return
    last = page.at(-1)
  }
})

/** All items of a list, read page by page. Only for lists whose length is bounded. */
export const everyItem = Effect.fnUntraced(function* <A, E, R>(
  page_max: number,
  read: (last: A | undefined) => Effect.Effect<ReadonlyArray<A>, E, R>
): Effect.fn.Return<ReadonlyArray<A>, E, R> {
  const items: Array<A> = []
  yield* forEachPage(page_max, read, (page) => {
    for (const item of page) items.push(item)
    return undefined
  })
  return items
})

/** The rows in the first read, and the most in a later one: by so many rows a page can exceed its size bound. */
const read_first = 16
const read_max = 64
/** A read of more UTF-16 units of JSON is followed by one of half as many rows, and any other by one of twice as many. */
const read_units = 1_000_000
/** The size in UTF-16 units of JSON at which a page is full. */
const units_max = 8_000_000

/** How a page is read. */
interface Reading<A> {
  /** The rows in each read: as many as may be in memory beside a full page. Absent = as many as they are short. */
  readonly read_max?: number
  /** Which of the rows are items. Absent = all. */
  readonly keeps?: (row: A) => boolean
  /** How many rows it looks at. Absent = all. */
  readonly looked_max?: number
}

/**
 * A page that is bounded by its size as well as by its rows: 500 rows could be 500 results of 4 MB. Reads after the last row (undefined = from the start) until there are `limit` items or the size of what was read reaches the bound. `last` is
 * the last row that was looked at if there may be rows after it.
 */
export const boundedPage = Effect.fnUntraced(function* <A, E>(
  limit: number,
  read: (last: A | undefined, limit: number) => Effect.Effect<ReadonlyArray<A>, E>,
  { keeps, looked_max = Infinity, read_max: given }: Reading<A> = {}
) {
  const items: Array<A> = []
  let last: A | undefined
  let looked = 0
  let units = 0
  let most = given ?? read_first
  while (items.length < limit && looked < looked_max) {
    const wanted = keeps === undefined ? Math.min(most, limit - items.length) : most
    const before = units
    const rows = yield* read(last, wanted)
    for (const row of rows) {
      last = row
      looked++
      if (keeps?.(row) ?? true) items.push(row)
      units += JSON.stringify(row).length
      if (units > units_max || items.length >= limit) return { items, last }
    }
    if (rows.length < wanted) return { items, last: undefined }
    if (given !== undefined) continue
    const isLong = units - before > read_units
    most = isLong ? Math.max(1, Math.floor(most / 2)) : Math.min(read_max, most * 2)
  }
  return { items, last }
})

/** The first `limit` items, and whether there are more. The items were read with a limit one higher. */
export const cut = <A>(items: ReadonlyArray<A>, limit: number) => ({
  items: items.slice(0, limit),
  more: items.length > limit
})
