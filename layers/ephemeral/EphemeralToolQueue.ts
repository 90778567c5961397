/**
 * The queue of tool calls in one process: for tests, and for tools that need the bounds of a queue but not its durability.
 */
import { Clock, Deferred, Effect, Layer } from "effect"
import { truncateUnits } from "../../src/value/CutText.ts"
import type { DeadToolMessage, NewToolMessage, WaitingCalls } from "../../services/ToolQueue.ts"
import {
  ToolMessageConflict,
  ToolQueue,
  ToolQueueFull,
  waiting_max
} from "../../services/ToolQueue.ts"
import { canonical } from "../../src/value/Canonical.ts"
import type { ResultMessage } from "../../src/queue/CallMessage.ts"
import {
  call_length_max,
  isInconclusive,
  isMessageName,
  isSameCall
} from "../../src/queue/ToolMessage.ts"
import { makeOffers, makePreliminaryResults } from "./EphemeralToolOffers.ts"
import type { QueuedCalls } from "./QueuedCalls.ts"
import {
  deliveryOf,
  makeQueuedCalls,
  messageOf,
  oldestRoundRobin,
  page_max,
  queuedCall,
  restart
} from "./QueuedCalls.ts"
import { counted_max } from "../../src/operation/Page.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { offerRows } from "./EphemeralStore.ts"
import { listenIn } from "../../src/value/Listeners.ts"

const error_max = 500
const prune_max = 1_000
const tools_max = 2_000

type Methods<Names extends keyof ToolQueue["Service"]> = Pick<ToolQueue["Service"], Names>

/** The state on which the methods work. `wake` calls the listeners that wait for calls to claim. */
interface Queue {
  readonly calls: QueuedCalls
  readonly now: () => number
  readonly wake: () => void
}

const send = (
  { calls, now, wake }: Queue,
  message: NewToolMessage,
  payload: string
): Effect.Effect<ResultMessage | undefined, ToolMessageConflict | ToolQueueFull> => {
  const { expires_at, id, tenant, tool } = message
  const call = calls.byId.get(id)
  if (call === undefined) {
    if (calls.byId.size >= waiting_max && calls.countWaiting(tool, tenant) >= waiting_max) {
      return Effect.fail(new ToolQueueFull({ tool, waiting_max }))
    }
    calls.byId.set(id, queuedCall(message, payload, now()))
    wake()
    return Effect.succeed(undefined)
  }
  const { message: before, result, status } = call
  const isRunAgain = result === undefined ? status !== "waiting" : isInconclusive(result)
  if (
    before.tool !== tool ||
    before.tenant !== tenant ||
    // A call that runs again may carry another approval.
    (!isRunAgain && !isSameCall(call.payload, payload))
  ) {
    return Effect.fail(new ToolMessageConflict({ id, message: `the id ${id} names another call` }))
  }
  if (isRunAgain) {
    call.payload = payload
    restart(call, now(), expires_at)
    wake()
    return Effect.succeed(undefined)
  }
  if (result === undefined) call.expires_at = Math.max(call.expires_at, expires_at)
  return Effect.succeed(result)
}

const senderMethods = (queue: Queue): Methods<"send" | "awaited" | "status" | "withdraw"> => {
  const { byId } = queue.calls
  return {
    send: (message) =>
      Effect.suspend(() => {
        const payload = canonical(message.payload)
        return !isMessageName(message.id) ||
          !isMessageName(message.tool) ||
          payload.length > call_length_max
          ? Effect.die(new RangeError("a call's id, tool or payload is too long"))
          : send(queue, message, payload)
      }),
    awaited: Effect.fnUntraced(function* (id) {
      for (;;) {
        const call = byId.get(id)
        if (call === undefined) return yield* Effect.never
        if (call.result !== undefined) return call.result
        const waiter = Deferred.makeUnsafe<void>()
        call.waiters.add(waiter)
        yield* Effect.ensuring(
          Deferred.await(waiter),
          Effect.sync(() => call.waiters.delete(waiter))
        )
      }
    }),
    status: (id) =>
      Effect.sync(() => {
        const call = byId.get(id)
        return call && { status: call.status, result: call.result }
      }),
    withdraw: (id) =>
      Effect.sync(() => {
        const call = byId.get(id)
        const isUnclaimed = call?.status === "waiting" && call.deliveries === 0
        if (isUnclaimed) byId.delete(id)
        return isUnclaimed
      })
  }
}

/** What of a tenant waits or runs, by tool. */
const queuedOf = (
  calls: QueuedCalls,
  tenant: Tenant,
  tools: ReadonlySet<string>
): ReadonlyArray<WaitingCalls> => {
  const found = Map.groupBy(
    calls.filter(
      ({ message, status }) =>
        status === "waiting" && message.tenant === tenant && tools.has(message.tool)
    ),
    ({ message }) => message.tool
  )
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([tool, all]) => {
      const first = all.sort((a, b) => a.due_at - b.due_at).slice(0, counted_max + 1)
      const free = first.filter(({ owner }) => owner === undefined)
      const [oldest] = free
      return {
        tool,
        waiting: free.length,
        claimed: first.length - free.length,
        due_at: oldest?.due_at
      }
    })
}

const claimMethods = ({
  calls,
  now,
  wake
}: Queue): Methods<"claim" | "release" | "nextDueAt" | "queued" | "begin" | "extend"> => ({
  claim: ({ after, lease_ms, limit, owner, tools }) =>
    Effect.sync(() =>
      oldestRoundRobin(calls.due(tools, now()), after, limit).map((call) => {
        call.owner = owner
        call.deliveries++
        call.due_at = now() + lease_ms
        return deliveryOf(call)
      })
    ),
  release: (owners) =>
    Effect.sync(() => {
      const held = calls.filter(
        ({ owner, status }) => status === "waiting" && owners.includes(owner ?? "")
      )
      for (const call of held) {
        call.owner = undefined
        call.due_at = now()
        call.deliveries = Math.max(0, call.deliveries - 1)
      }
      // A release that finds no call wakes nobody: a worker that releases before each claim would otherwise wake itself forever.
      if (held.length > 0) wake()
    }),
  queued: (tenant, tools) =>
    Effect.sync(() => queuedOf(calls, tenant, new Set(tools.slice(0, tools_max)))),
  nextDueAt: (tools) =>
    Effect.sync(() => {
      const waiting = calls.due(tools, Infinity).map(({ due_at }) => due_at)
      return waiting.length === 0 ? undefined : Math.min(...waiting)
    }),
  begin: (id, owner) => calls.change(id, owner, (call) => (call.begun_at = now())),
  extend: (id, owner, lease_ms) =>
    calls.change(id, owner, (call) => (call.due_at = now() + lease_ms))
})

const outcomeMethods = ({
  calls,
  now
}: Queue): Methods<"publish" | "acknowledge" | "failed" | "prune"> => ({
  publish: (id, result) =>
    Effect.sync(() => {
      const call = calls.byId.get(id)
      if (call === undefined) return undefined
      if (call.result === undefined) {
        call.result = result
        // It loops over a copy, because a waiter may continue at once, send the call again and wait anew.
        for (const waiter of Array.from(call.waiters)) Deferred.doneUnsafe(waiter, Effect.void)
      }
      return call.result
    }),
  acknowledge: (id, owner) => calls.change(id, owner, (call) => calls.finish(call, "over", now())),
  failed: (id, owner, error, retry_at) =>
    calls.change(id, owner, (call) => {
      call.error = truncateUnits(error, error_max)
      if (retry_at === undefined) return calls.finish(call, "dead", now())
      call.owner = undefined
      call.due_at = retry_at
    }),
  prune: (before) =>
    Effect.sync(() => {
      const old = calls
        .filter(({ over_at, status }) => status === "over" && over_at < before)
        .slice(0, prune_max)
      for (const { message } of old) calls.byId.delete(message.id)
      return old.length
    })
})

const operatorMethods = ({ calls, now, wake }: Queue): Methods<"dead" | "replay" | "discard"> => ({
  dead: (limit) =>
    Effect.sync(() =>
      calls
        .filter(({ status }) => status === "dead")
        .reverse()
        .sort((a, b) => b.over_at - a.over_at)
        .slice(0, Math.min(limit, page_max))
        .map((call): DeadToolMessage => ({
          ...messageOf(call),
          error: call.error,
          dead_at: call.over_at
        }))
    ),
  replay: (id, expires_at) =>
    calls.changeDead(id, (call) => {
      restart(call, now(), expires_at)
      wake()
    }),
  discard: (id) => calls.changeDead(id, (call) => calls.finish(call, "over", now()))
})

const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const listeners = new Set<() => void>()
  const queue: Queue = {
    calls: makeQueuedCalls(),
    now: () => clock.currentTimeMillisUnsafe(),
    wake: () => {
      for (const listener of listeners) listener()
    }
  }
  const { byId } = queue.calls
  yield* offerRows("tool_messages", (tenant) =>
    queue.calls
      .filter(({ message, status }) => message.tenant === tenant && status !== "waiting")
      .map(({ error, message: { id }, payload, result }) => ({
        value: { id, payload, result, error },
        remove: () => void byId.delete(id)
      }))
  )
  return ToolQueue.of({
    ...senderMethods(queue),
    ...claimMethods(queue),
    ...outcomeMethods(queue),
    ...operatorMethods(queue),
    ...makeOffers(clock),
    ...makePreliminaryResults(),
    onSent: (listener) => listenIn(listeners, listener)
  })
})

/** Each build of the layer starts with an empty queue. */
export const layer: Layer.Layer<ToolQueue> = Layer.effect(ToolQueue, make)
