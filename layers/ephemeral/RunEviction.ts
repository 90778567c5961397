/**
 * Decides which ended runs the store in memory keeps: the newest ones, by their number and by their size, so that a long-lived
 * process does not fill up. Private to
 * this room.
 *
 * The conversation that has been quiet for the longest time loses its oldest runs first, and is forgotten with its last run. Some
 * runs are kept, however old they are, until nothing needs them any more: those that an open run of the conversation may read in
 * its prompt, those with an open question or a call of unknown outcome, and those in quarantine.
 */
import { chapters_max } from "../../src/conversation/CompactionPlan.ts"
import type { ConversationId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { Store, StoredConversation, StoredRun, StoredTask } from "./EphemeralStore.ts"
import { forgetPosted, unbind, tenantKey } from "./EphemeralStore.ts"

/** The most forgotten conversations of which the counts are kept. */
const counted_max = 100_000

/** The most conversations that are checked in one removal. */
const looked_max = 1_000

/** How many runs of its conversation before it a prompt reads (`History.ts`). */
const read_max = chapters_max + 1

const isOver = ({ task: { status } }: StoredTask): boolean =>
  status === "complete" || status === "failed"

/** Counts a run that has ended, and forgets the oldest runs if there are too many. */
export const recordRunEnd = (store: Store, { conversation, run_id, tenant }: StoredRun): void => {
  const stored = store.conversations.get(tenantKey(tenant, conversation))
  if (stored === undefined || !store.tasks.has(run_id)) return
  store.byLastEnd.delete(stored)
  store.byLastEnd.add(stored)
  store.ended++
  const { more_max, runs_max, units_max } = store.retention
  // Many are forgotten at once, because each removal goes through all questions and files.
  if (store.ended > runs_max + more_max || store.units > units_max) evictOldest(store, stored)
}

/** The runs and conversations of one tenant that one removal forgets. */
interface Evicted {
  readonly runs: Set<RunId>
  readonly conversations: Set<ConversationId>
}

const evictedOf = (all: Map<Tenant, Evicted>, tenant: Tenant): Evicted => {
  let gone = all.get(tenant)
  if (gone === undefined) all.set(tenant, (gone = { runs: new Set(), conversations: new Set() }))
  return gone
}

const evictOldest = (store: Store, newest: StoredConversation): void => {
  const { runs_max: most, units_max } = store.retention
  // Of those that have too many units together a quarter, because each may have any.
  const runs_max = store.units > units_max ? Math.min(most, (store.ended * 3) >> 2) : most
  const needed = neededRuns(store)
  const gone = new Map<Tenant, Evicted>()
  let looked = 0
  for (const stored of store.byLastEnd) {
    const wanted = store.ended - runs_max
    if (wanted <= 0 || looked++ >= looked_max) break
    const old = stored === newest ? beyondPrompt(stored) : evictable(stored)
    const isNeeded = ({ task: { id } }: StoredTask) =>
      needed.has(id) || store.runs.get(id)?.quarantined !== undefined
    evictRuns(store, stored, old.filter((each) => !isNeeded(each)).slice(0, wanted), gone)
    if (stored === newest) break
    // What is left of the conversation is needed, so the next removal begins with other conversations.
    if (store.ended > runs_max && store.byLastEnd.delete(stored) && stored.tasks.length > 0) {
      store.byLastEnd.add(stored)
    }
  }
  removeEvicted(store, gone)
}

/** Runs with an open question or a call of unknown outcome. */
const neededRuns = (store: Store): ReadonlySet<RunId> => {
  const needed = new Set(store.unknown.keys())
  for (const { record } of store.pending.values()) needed.add(record.run_id)
  return needed
}

/** The ended runs that no prompt can read any more. */
const beyondPrompt = ({ tasks }: StoredConversation): ReadonlyArray<StoredTask> => {
  const open = tasks.findIndex((each) => !isOver(each))
  return tasks.slice(0, Math.max((open === -1 ? tasks.length : open) - read_max, 0))
}

/** All runs of the conversation if none of them is open, otherwise its unread ones. */
const evictable = (stored: StoredConversation): ReadonlyArray<StoredTask> =>
  stored.tasks.every(isOver) ? stored.tasks : beyondPrompt(stored)

const evictRuns = (
  store: Store,
  stored: StoredConversation,
  tasks: ReadonlyArray<StoredTask>,
  all: Map<Tenant, Evicted>
): void => {
  if (tasks.length === 0) return
  const { id, tenant } = stored.conversation
  const gone = new Set<RunId>()
  for (const each of tasks) {
    const { accepted_as, task } = each
    gone.add(task.id)
    forgetPosted(store, each)
    store.units -= store.runs.get(task.id)?.units ?? 0
    store.runs.delete(task.id)
    store.tasks.delete(task.id)
    const costs = store.costs.get(tenant)
    if (costs?.delete(task.id) === true && costs.size === 0) store.costs.delete(tenant)
    if (accepted_as !== undefined) store.accepted.delete(accepted_as)
  }
  const { conversations, runs } = evictedOf(all, tenant)
  for (const run of gone) runs.add(run)
  store.ended -= tasks.length
  stored.tasks = stored.tasks.filter(({ task }) => !gone.has(task.id))
  stored.messages = stored.messages.filter(
    ({ run_id }) => run_id === undefined || !gone.has(run_id)
  )
  if (stored.tasks.length > 0) return
  conversations.add(id)
  evictConversation(store, stored)
}

const evictConversation = (store: Store, stored: StoredConversation): void => {
  const { conversation, counts } = stored
  const { id, tenant } = conversation
  const key = tenantKey(tenant, id)
  store.byLastEnd.delete(stored)
  store.conversations.delete(key)
  unbind(store, stored)
  store.counted.set(key, counts)
  for (const name of store.counted.keys()) {
    if (store.counted.size <= counted_max) break
    store.counted.delete(name)
  }
}

/**
 * Removes the forgotten conversations from the list of their tenant and the forgotten runs' questions, and calls the listeners,
 * which release files.
 */
const removeEvicted = (store: Store, gone: ReadonlyMap<Tenant, Evicted>): void => {
  for (const [tenant, { conversations }] of gone) {
    const known = store.conversationsOf.get(tenant) ?? []
    const left = known.filter(({ id }) => !conversations.has(id))
    if (left.length > 0) store.conversationsOf.set(tenant, left)
    else store.conversationsOf.delete(tenant)
  }
  for (const [id, { record }] of store.approvals) {
    if (gone.get(record.tenant)?.runs.has(record.run_id) === true) store.approvals.delete(id)
  }
  for (const [tenant, { runs }] of gone) {
    for (const listener of store.evictionListeners) listener(tenant, runs)
  }
}
