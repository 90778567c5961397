/**
 * The calls of one ephemeral queue and their changes of state: waiting, claimed, over or dead. Once there are more than 10,500
 * calls, the oldest are removed until 10,000 are left: first those that are over, then dead ones. Waiting calls, and those whose
 * result somebody awaits, are never removed. Private to this room.
 */
import { Deferred, Effect, Schema } from "effect"
import type { NewToolMessage, ToolDelivery } from "../../services/ToolQueue.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import type { ResultMessage } from "../../src/queue/CallMessage.ts"
import { groupByTenant, roundRobin } from "./RoundRobin.ts"

/** The most calls that one claim or one page gives. */
export const page_max = 500

/** How many calls are kept, and by how many more that may be exceeded before the oldest are removed. */
const calls_max = 10_000
const more_max = 500

/** The part of a call that is reset when the call runs again. */
interface Progress {
  expires_at: number
  status: "waiting" | "over" | "dead"
  /** When the call may be claimed, in ms since 1970; for a claimed call, the end of its lease. */
  due_at: number
  deliveries: number
  /** The claim that holds the call; undefined if it is free. */
  owner: string | undefined
  begun_at: number | undefined
  result: ResultMessage | undefined
  error: string
}

export interface QueuedCall extends Progress {
  readonly message: NewToolMessage
  /** Canonical JSON, as last sent. */
  payload: string
  /** When the call became over or dead, in ms since 1970; 0 before that. */
  over_at: number
  /** Completed when the call has a result. */
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

/** The members that a delivery and a dead call have in common. */
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

/**
 * At most `limit` (up to 500) of these calls: tenants take turns, each with its oldest call. Calls that are due at the same time
 * are in the order of first sending.
 */
export const oldestRoundRobin = (
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
  /** Above this number of calls the next removal takes place. It grows, because all calls may be waiting. */
  let looked_at = calls_max + more_max
  const forget = (status: "over" | "dead"): void => {
    for (const [id, call] of byId) {
      if (byId.size <= calls_max) break
      // A call with waiters stays, because an operator may replay a dead call and its waiters then get the result.
      if (call.status === status && call.waiters.size === 0) byId.delete(id)
    }
  }

  return {
    byId,
    filter,
    /** Ends a call as over or dead, and removes the oldest such calls if there are too many. */
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
    /** Applies `change` if this claim holds the call. Gives whether it does. */
    change: (id: string, owner: string, change: (call: QueuedCall) => void) =>
      Effect.sync(() => {
        const call = byId.get(id)
        if (call?.owner !== owner || call.status !== "waiting") return false
        change(call)
        return true
      }),
    /** Applies `change` if the call is dead. Gives whether it is. */
    changeDead: (id: string, change: (call: QueuedCall) => void) =>
      Effect.sync(() => {
        const call = byId.get(id)
        if (call?.status !== "dead") return false
        change(call)
        return true
      })
  }
}
