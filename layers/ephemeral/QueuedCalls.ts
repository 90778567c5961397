/**
 * The calls of one ephemeral queue and their changes: waiting, claimed, over or dead. Of 10,500 calls the newest 10,000 are kept,
 * and those that wait: what is over goes first, then what is dead. Private to this room.
 */
import { Deferred, Effect, Schema } from "effect"
import type { NewToolMessage, ToolDelivery } from "../../services/ToolQueue.ts"
import type { Tenant } from "../../src/Ids.ts"
import type { ResultMessage } from "../../src/semstreams/CallMessage.ts"
import { groupByTenant, roundRobin } from "./RoundRobin.ts"

/** The most that one claim or one page gives. */
export const page_max = 500

/** Calls that are kept, and how many more there are before the oldest ones go. */
const calls_max = 10_000
const more_max = 500

/** What is forgotten when a call is run again. */
interface Progress {
  expires_at: number
  status: "waiting" | "over" | "dead"
  /** When it may be claimed, in ms since 1970; of a claimed call the end of its lease. */
  due_at: number
  deliveries: number
  /** The claim that holds it. */
  owner: string | undefined
  begun_at: number | undefined
  result: ResultMessage | undefined
  error: string
}

export interface QueuedCall extends Progress {
  readonly message: NewToolMessage
  /** Canonical JSON, of the last sending. */
  payload: string
  /** When it became over or dead, in ms since 1970; 0 before that. */
  over_at: number
  /** Completed when there is a result. */
  readonly waiters: Set<Deferred.Deferred<void>>
}

const unstarted = (now: number, expires_at: number): Progress => ({
  expires_at,
  status: "waiting",
  due_at: now,
  deliveries: 0,
  owner: undefined,
  begun_at: undefined,
  result: undefined,
  error: ""
})

export const queuedCall = (message: NewToolMessage, payload: string, now: number): QueuedCall => ({
  ...unstarted(now, message.expires_at),
  message,
  payload,
  over_at: 0,
  waiters: new Set()
})

/** Makes the call wait as if it had just been sent. */
export const restart = (call: QueuedCall, now: number, expires_at: number): void => {
  Object.assign(call, unstarted(now, expires_at))
}

const finish = (call: QueuedCall, status: "over" | "dead", now: number): void => {
  call.status = status
  call.owner = undefined
  call.over_at = now
}

const decodePayload = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** As much of a delivery as a dead call has too. */
export const messageOf = ({ deliveries, expires_at, message, payload }: QueuedCall) => ({
  id: message.id,
  tool: message.tool,
  tenant: message.tenant,
  expires_at,
  payload: decodePayload(payload),
  deliveries
})

export const deliveryOf = (call: QueuedCall): ToolDelivery => ({
  ...messageOf(call),
  begun_at: call.begun_at,
  result: call.result
})

/** The first `limit` of these calls: tenants in turn, each with its oldest; of one time in the order of first sending. */
export const oldestInTurns = (
  calls: ReadonlyArray<QueuedCall>,
  after: Tenant | undefined,
  limit: number
): ReadonlyArray<QueuedCall> => {
  const oldest = calls.toSorted((a, b) => a.due_at - b.due_at)
  const tenants = groupByTenant(oldest, ({ message }) => message.tenant, after)
  const picked = [...roundRobin(tenants.map(([, those]) => those))]
  return picked.slice(0, Math.max(0, Math.min(limit, page_max)))
}

export type QueuedCalls = ReturnType<typeof makeQueuedCalls>

export const makeQueuedCalls = () => {
  /** By id, in the order of first sending. */
  const byId = new Map<string, QueuedCall>()
  const filter = (accepts: (call: QueuedCall) => boolean): Array<QueuedCall> =>
    [...byId.values()].filter(accepts)
  /** With so many calls the next ones are forgotten: all of them may wait. */
  let looked_at = calls_max + more_max
  const forget = (status: "over" | "dead"): void => {
    for (const [id, call] of byId) {
      if (byId.size <= calls_max) break
      // Whoever waits for a dead call may be given its result by an operator.
      if (call.status === status && call.waiters.size === 0) byId.delete(id)
    }
  }

  return {
    byId,
    filter,
    /** A call ended, or is dead: the oldest of those go where there are too many. */
    finish: (call: QueuedCall, status: "over" | "dead", now: number): void => {
      finish(call, status, now)
      if (byId.size <= looked_at) return
      forget("over")
      forget("dead")
      looked_at = Math.max(calls_max, byId.size) + more_max
    },
    countWaiting: (tool: string, tenant: Tenant): number => {
      let count = 0
      for (const { message, status } of byId.values()) {
        if (status === "waiting" && message.tool === tool && message.tenant === tenant) count++
      }
      return count
    },
    /** Calls of these tools that may be claimed by this time. */
    due: (tools: ReadonlyArray<string>, now: number): Array<QueuedCall> =>
      filter(
        ({ due_at, message, status }) =>
          status === "waiting" && due_at <= now && tools.includes(message.tool)
      ),
    /** Applies `change` if this claim holds the call, and says whether it does. */
    change: (id: string, owner: string, change: (call: QueuedCall) => void) =>
      Effect.sync(() => {
        const call = byId.get(id)
        if (call?.owner !== owner || call.status !== "waiting") return false
        change(call)
        return true
      }),
    /** Applies `change` to a call that is dead, and says whether it is. */
    changeDead: (id: string, change: (call: QueuedCall) => void) =>
      Effect.sync(() => {
        const call = byId.get(id)
        if (call?.status !== "dead") return false
        change(call)
        return true
      })
  }
}
