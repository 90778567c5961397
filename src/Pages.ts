/**
 * Reads a list to its end, page by page. Only one page of a long list is in memory at a time.
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
