/**
 * Decides which dead letters the store in memory keeps: the newest 10,000, so that a receiver that is gone for good does not fill
 * the process. Private to this room.
 *
 * Once there are more than 10,500, replayed and discarded letters are forgotten, the oldest first, and if that is not enough, the
 * oldest open ones. The dispatch of a task that is not over stays, however old it is: without it nobody could begin the task.
 */
import { dispatched_topic } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { Store } from "./EphemeralStore.ts"

const letters_max = 10_000
/** By how many letters the limit may be exceeded before the oldest are forgotten. */
const more_max = 500

type Letter = Store["dead"] extends Map<string, infer A> ? A : never

/** Forgets the oldest letters if there are too many. Gives how many of them were open. */
export const evictLetters = (store: Store): number => {
  if (store.dead.size <= letters_max + more_max) return 0
  evict(store, ({ letter }) => letter.status !== "dead")
  return evict(store, ({ message: { payload, topic } }) => {
    const { task_id } = payload as { readonly task_id?: RunId }
    const status = topic === dispatched_topic && task_id && store.tasks.get(task_id)?.task.status
    return status !== "pending" && status !== "processing"
  })
}

const evict = ({ dead }: Store, isEvictable: (letter: Letter) => boolean): number => {
  let forgotten = 0
  for (const [id, letter] of dead) {
    if (dead.size <= letters_max) break
    if (isEvictable(letter) && dead.delete(id)) forgotten++
  }
  return forgotten
}
