/**
 * Reads a list to its end, page by page: of a long one, one page at a time is held.
 */
import { Effect } from "effect"

/** Says that no further page is wanted. */
export type Enough = "enough"

/**
 * Calls `visit` with each page in order, until a page is shorter than `page_max` or `visit` has enough. `read` gives the page
 * behind the item that it is given, which is the last of the page before, and for undefined the first page.
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

/** All items, read page by page: for lists that have a bound of their own. */
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
