/**
 * Lists that hold one item most of the time.
 */

/**
 * The list with one more item. The first item makes a list of one, also where the list is an empty one that is shared: a push
 * to an empty list allocates room for many (bench rows `step`, `waiting` and `send`).
 */
export const appended = <A>(list: Array<A>, item: A): Array<A> =>
  list.length === 0 ? [item] : (list.push(item), list)
