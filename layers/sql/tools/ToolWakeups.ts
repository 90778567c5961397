/**
 * Who in this process waits for which call of the queue, and who is shown what. Private to the room. The database's wakeups
 * are listened to from the first wait on; whoever waits looks again after a while, because a wakeup may be missed.
 */
import { Deferred, Effect, Scope, Semaphore } from "effect"
import type { StoreError } from "../../../services/TaskStore.ts"
import { toStoreError } from "../engine/SqlFailure.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"

/**
 * One for all, because each takes a connection that listens: without a payload calls were sent; an id says that the call
 * has a result; an id, a line feed and JSON text are what the call shows.
 */
export const channel = "troupe_tool_queue"

/** How long a wait for a result trusts the wakeup. */
const look_ms = 2_000

/** Listens when it is first asked for, and for ever; where that fails the next one who asks tries again. */
const listening = Effect.fnUntraced(function* (callback: (payload: string | undefined) => void) {
  const notify = yield* SqlNotify
  const scope = yield* Effect.scope
  const lock = yield* Semaphore.make(1)
  let listens = false
  const listen = notify
    .listen(channel, callback)
    .pipe(
      Scope.provide(scope),
      Effect.mapBoth({ onSuccess: () => void (listens = true), onFailure: toStoreError })
    )
  return Effect.suspend(() =>
    listens
      ? Effect.void
      : lock.withPermits(1)(Effect.suspend(() => (listens ? Effect.void : listen)))
  )
})

/** Those who wait for something of a call, by its id, each until its scope closes. */
const waitingFor = <A>() => {
  const all = new Map<string, Set<A>>()
  const add = (id: string, each: A) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const those = all.get(id) ?? new Set()
        all.set(id, those.add(each))
        return each
      }),
      () =>
        Effect.sync(() => {
          const those = all.get(id)
          those?.delete(each)
          if (those?.size === 0) all.delete(id)
        })
    )
  return { all, add }
}

export const make = Effect.gen(function* () {
  const waiting = waitingFor<Deferred.Deferred<void>>()
  const watching = waitingFor<(json: string) => void>()
  const sent = new Set<() => void>()
  const wake = (all: Iterable<Deferred.Deferred<void>>) => {
    for (const wakeup of all) Deferred.doneUnsafe(wakeup, Effect.void)
  }
  const show = (id: string, json: string) => {
    for (const listener of watching.all.get(id) ?? []) listener(json)
  }
  const listens = yield* listening((payload) => {
    // Without a payload after a lost connection: anything may have happened.
    if (payload === undefined) for (const wakeups of waiting.all.values()) wake(wakeups)
    if (payload === undefined || payload === "") {
      for (const listener of sent) listener()
      return
    }
    const end = payload.indexOf("\n")
    if (end === -1) wake(waiting.all.get(payload) ?? [])
    else show(payload.slice(0, end), payload.slice(end + 1))
  })
  /** Looks, and looks again at each wakeup of the call, until there is something. */
  const until = <A, E>(
    id: string,
    look: Effect.Effect<A | undefined, E>
  ): Effect.Effect<A, E | StoreError> =>
    Effect.andThen(
      listens,
      Effect.gen(function* () {
        for (;;) {
          const found = yield* Effect.scoped(
            Effect.gen(function* () {
              const wakeup = yield* waiting.add(id, Deferred.makeUnsafe<void>())
              const found = yield* look
              if (found === undefined) yield* Effect.timeoutOption(Deferred.await(wakeup), look_ms)
              return found
            })
          )
          if (found !== undefined) return found
        }
      })
    )
  const onSent = (listener: () => void) =>
    Effect.andThen(
      listens,
      Effect.acquireRelease(
        Effect.sync(() => void sent.add(listener)),
        () => Effect.sync(() => void sent.delete(listener))
      )
    )
  const onShown = (id: string, listener: (json: string) => void) =>
    Effect.andThen(listens, Effect.asVoid(watching.add(id, listener)))
  return { until, onSent, onShown }
})
