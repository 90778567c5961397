/**
 * The queue of tool calls in one process: for tests, and for tools that are bounded by a queue and need not survive.
 */
import { Clock, Deferred, Effect, Layer } from "effect"
import type {
  Announcement,
  DeadToolMessage,
  NewToolMessage,
  ToolDelivery
} from "../../services/ToolQueue.ts"
import {
  announced_length_max,
  announced_tools_max,
  gone_ms,
  ToolMessageConflict,
  ToolQueue,
  ToolQueueFull,
  waiting_max
} from "../../services/ToolQueue.ts"
import { canonical } from "../../src/Canonical.ts"
import type { Tenant } from "../../src/Ids.ts"
import type { ResultMessage } from "../../src/semstreams/CallMessage.ts"
import {
  call_length_max,
  isInconclusive,
  isMessageName,
  isSameCall,
  isShowable
} from "../../src/tool/ToolMessage.ts"
import { offersOf } from "../../src/tool/ToolOffer.ts"
import { keyOf } from "../../src/tool/ToolSpec.ts"
import { byTenant, inTurns } from "./Turns.ts"

const page_max = 500
const error_max = 500
const prune_max = 1_000
const workers_max = 1_000

interface Stored {
  /** The sender's own JSON text. */
  payload: string
  readonly message: NewToolMessage
  expires_at: number
  status: "waiting" | "over" | "dead"
  due_at: number
  deliveries: number
  owner: string | undefined
  begun_at: number | undefined
  result: ResultMessage | undefined
  error: string
  over_at: number
  /** Who waits for the result. */
  readonly wakeups: Set<Deferred.Deferred<void>>
}

const anew = (stored: Stored, now: number, expires_at: number) =>
  Object.assign(stored, {
    expires_at,
    status: "waiting",
    due_at: now,
    deliveries: 0,
    owner: undefined,
    begun_at: undefined,
    result: undefined,
    error: ""
  } satisfies Partial<Stored>)

const bare = ({ deliveries, expires_at, message, payload }: Stored) => ({
  id: message.id,
  tool: message.tool,
  tenant: message.tenant,
  expires_at,
  payload: JSON.parse(payload) as unknown,
  deliveries
})

/** Of each tenant in turn its oldest; those of one time are in the order of their first sending. */
const take = (due: ReadonlyArray<Stored>, after: Tenant | undefined, limit: number) => {
  const lines = byTenant(due, ({ message }) => message.tenant, after).map(([, those]) =>
    those.sort((a, b) => a.due_at - b.due_at)
  )
  return [...inTurns(lines)].slice(0, Math.max(0, Math.min(limit, page_max)))
}

const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  // In the order of their first sending.
  const all = new Map<string, Stored>()
  const listeners = new Set<() => void>()
  const wake = () => {
    for (const listener of listeners) listener()
  }
  const now = () => clock.currentTimeMillisUnsafe()

  const waits = (tool: string, tenant: Tenant) => {
    let count = 0
    for (const { message, status } of all.values()) {
      if (status === "waiting" && message.tool === tool && message.tenant === tenant) count++
    }
    return count
  }

  const owned = (id: string, owner: string): Stored | undefined => {
    const stored = all.get(id)
    return stored?.owner === owner && stored.status === "waiting" ? stored : undefined
  }

  /** Changes the call if this owner has it; whether it did. */
  const change = (id: string, owner: string, to: (stored: Stored) => void) =>
    Effect.sync(() => {
      const stored = owned(id, owner)
      if (stored !== undefined) to(stored)
      return stored !== undefined
    })

  const send = (
    message: NewToolMessage,
    payload: string
  ): Effect.Effect<ResultMessage | undefined, ToolMessageConflict | ToolQueueFull> => {
    const { expires_at, id, tenant, tool } = message
    const stored = all.get(id)
    if (stored === undefined) {
      if (waits(tool, tenant) >= waiting_max)
        return Effect.fail(new ToolQueueFull({ tool, waiting_max }))
      const fresh = { payload, message, wakeups: new Set(), over_at: 0 } as unknown as Stored
      all.set(id, anew(fresh, now(), expires_at))
      wake()
      return Effect.succeed(undefined)
    }
    const { message: before, result, status } = stored
    // What is run again may come with another approval.
    const again = result === undefined ? status !== "waiting" : isInconclusive(result)
    if (
      before.tool !== tool ||
      before.tenant !== tenant ||
      (!again && !isSameCall(stored.payload, payload))
    ) {
      return Effect.fail(
        new ToolMessageConflict({ id, message: `the id ${id} names another call` })
      )
    }
    if (result === undefined && status === "waiting") {
      stored.expires_at = Math.max(stored.expires_at, expires_at)
      return Effect.succeed(undefined)
    }
    if (!again) return Effect.succeed(result)
    stored.payload = payload
    anew(stored, now(), expires_at)
    wake()
    return Effect.succeed(undefined)
  }

  const due = (tools: ReadonlyArray<string>, at: number) =>
    [...all.values()].filter(
      ({ due_at, message, status }) =>
        status === "waiting" && due_at <= at && tools.includes(message.tool)
    )

  const workers = new Map<string, Announcement & { expires_at: number }>()

  const announce = (offer: Announcement): void => {
    const at = now()
    const keys = new Set(offer.tools.map(keyOf))
    for (const [name, { expires_at, tools }] of workers) {
      const replaced = tools.every((spec) => keys.has(keyOf(spec)))
      if (expires_at <= at && (replaced || expires_at <= at - gone_ms)) workers.delete(name)
    }
    workers.set(offer.worker, { ...offer, expires_at: at + offer.lease_ms })
  }

  const showers = new Map<string, Set<(json: string) => void>>()

  const over = (stored: Stored, status: Stored["status"]) =>
    Object.assign(stored, { status, owner: undefined, over_at: now() })

  return ToolQueue.of({
    send: (message) =>
      Effect.suspend(() => {
        const payload = canonical(message.payload)
        return !isMessageName(message.id) ||
          !isMessageName(message.tool) ||
          payload.length > call_length_max
          ? Effect.die(new RangeError("a call's id, tool or payload is too long"))
          : send(message, payload)
      }),
    awaited: Effect.fnUntraced(function* (id) {
      for (;;) {
        const stored = all.get(id)
        if (stored === undefined) return yield* Effect.never
        if (stored.result !== undefined) return stored.result
        const wakeup = Deferred.makeUnsafe<void>()
        stored.wakeups.add(wakeup)
        yield* Effect.ensuring(
          Deferred.await(wakeup),
          Effect.sync(() => stored.wakeups.delete(wakeup))
        )
      }
    }),
    look: (id) =>
      Effect.sync(() => {
        const stored = all.get(id)
        return stored && { status: stored.status, result: stored.result }
      }),
    withdraw: (id) =>
      Effect.sync(() => {
        const stored = all.get(id)
        const free = stored?.status === "waiting" && stored.deliveries === 0
        if (free) all.delete(id)
        return free
      }),
    claim: ({ after, lease_ms, limit, owner, tools }) =>
      Effect.sync(() =>
        take(due(tools, now()), after, limit).map((stored): ToolDelivery => {
          Object.assign(stored, {
            owner,
            deliveries: stored.deliveries + 1,
            due_at: now() + lease_ms
          })
          return { ...bare(stored), begun_at: stored.begun_at, result: stored.result }
        })
      ),
    release: (owners) =>
      Effect.sync(() => {
        let found = false
        for (const stored of all.values()) {
          if (stored.status !== "waiting" || !owners.includes(stored.owner ?? "")) continue
          found = true
          const deliveries = Math.max(0, stored.deliveries - 1)
          Object.assign(stored, { owner: undefined, due_at: now(), deliveries })
        }
        // Whoever released nothing wakes nobody, least of all itself.
        if (found) wake()
      }),
    begin: (id, owner) => change(id, owner, (stored) => (stored.begun_at = now())),
    extend: (id, owner, lease_ms) =>
      change(id, owner, (stored) => (stored.due_at = now() + lease_ms)),
    publish: (id, result) =>
      Effect.sync(() => {
        const stored = all.get(id)
        if (stored === undefined) return undefined
        if (stored.result === undefined) {
          stored.result = result
          for (const wakeup of stored.wakeups) Deferred.doneUnsafe(wakeup, Effect.void)
        }
        return stored.result
      }),
    acknowledge: (id, owner) => change(id, owner, (stored) => over(stored, "over")),
    failed: (id, owner, error, retry_at) =>
      change(id, owner, (stored) => {
        stored.error = error.slice(0, error_max)
        if (retry_at === undefined) over(stored, "dead")
        else Object.assign(stored, { owner: undefined, due_at: retry_at })
      }),
    dead: (limit) =>
      Effect.sync(() =>
        [...all.values()]
          .filter(({ status }) => status === "dead")
          .reverse()
          .sort((a, b) => b.over_at - a.over_at)
          .slice(0, Math.min(limit, page_max))
          .map((stored): DeadToolMessage => ({
            ...bare(stored),
            error: stored.error,
            dead_at: stored.over_at
          }))
      ),
    replay: (id, expires_at) =>
      Effect.sync(() => {
        const stored = all.get(id)
        if (stored?.status !== "dead") return false
        anew(stored, now(), expires_at)
        wake()
        return true
      }),
    discard: (id) =>
      Effect.sync(() => {
        const stored = all.get(id)
        if (stored?.status !== "dead") return false
        over(stored, "over")
        return true
      }),
    prune: (before) =>
      Effect.sync(() => {
        const old = [...all.values()]
          .filter(({ over_at, status }) => status === "over" && over_at < before)
          .slice(0, prune_max)
        for (const { message } of old) all.delete(message.id)
        return old.length
      }),
    nextDueAt: (tools) =>
      Effect.sync(() => {
        const waiting = due(tools, Infinity).map(({ due_at }) => due_at)
        return waiting.length === 0 ? undefined : Math.min(...waiting)
      }),
    sent: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      ),
    announce: (offer) =>
      offer.tools.length > announced_tools_max ||
      JSON.stringify(offer.tools).length > announced_length_max
        ? Effect.die(new RangeError("a worker offers too many tools"))
        : Effect.sync(() => announce(offer)),
    renew: (worker, lease_ms) =>
      Effect.sync(() => {
        const known = workers.get(worker)
        if (known !== undefined) known.expires_at = now() + lease_ms
        return known !== undefined
      }),
    list: (keys) =>
      Effect.sync(() => {
        const heard = [...workers.values()].sort((a, b) => b.expires_at - a.expires_at)
        return offersOf(heard.slice(0, workers_max), now(), keys)
      }),
    show: (id, json) =>
      Effect.sync(() => {
        if (isShowable(json)) for (const listener of showers.get(id) ?? []) listener(json)
      }),
    shown: (id, listener) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const all = showers.get(id) ?? new Set()
          showers.set(id, all.add(listener))
        }),
        () =>
          Effect.sync(() => {
            const all = showers.get(id)
            all?.delete(listener)
            if (all?.size === 0) showers.delete(id)
          })
      )
  })
})

/** A queue of its own at every build. */
export const layer: Layer.Layer<ToolQueue> = Layer.effect(ToolQueue, make)
