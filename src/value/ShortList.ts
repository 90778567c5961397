/**
 * Appends to lists that have one item most of the time.
 */

/**
 * Returns the list with one more item. The first item makes a new list of one, even if the empty list is shared, because a push
 * to an empty list allocates room for many items (bench rows `step`, `waiting` and `send`).
 */
export const appended = <A>(list: Array<A>, item: A): Array<A> =>
  list.length === 0 ? [item] : (list.push(item), list)
