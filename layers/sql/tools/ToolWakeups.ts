/**
 * Wakeups of the tool queue: which fibers of this process wait for which call, and which listeners get its preliminary results.
 * Private to this room. The process listens to the database from its first wait on. Because a wakeup may be lost, a wait for a
 * result also reads the call every `reread_ms`.
 */
import { Deferred, Effect, Scope, Semaphore } from "effect"
import type { StoreError } from "../../../services/StoreError.ts"
import { toStoreError } from "../engine/SqlFailure.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"

/**
 * The one notification channel for everything, because each channel takes a listening connection. An empty payload: calls were
 * sent. An id: that call has a result. An id, a line feed and JSON text: a preliminary result of that call.
 */
export const tool_queue_channel = "troupe_tool_queue"

const reread_ms = 2_000

/**
 * Makes an effect that starts to listen when it first runs, until the scope closes. Where that fails, the next run tries again.
 */
const makeListening = Effect.fnUntraced(function* (
  callback: (payload: string | undefined) => void
) {
  const notify = yield* SqlNotify
  const scope = yield* Effect.scope
  const lock = yield* Semaphore.make(1)
  let listens = false
  const listen = notify
    .listen(tool_queue_channel, callback)
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

/** Listeners by the id of a call, each until its scope closes. */
const makeListeners = <A>() => {
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

export const makeToolWakeups = Effect.gen(function* () {
  const waiting = makeListeners<Deferred.Deferred<void>>()
  const watching = makeListeners<(json: string) => void>()
  const sent = new Set<() => void>()
  const wake = (all: Iterable<Deferred.Deferred<void>>) => {
    for (const wakeup of all) Deferred.doneUnsafe(wakeup, Effect.void)
  }
  const show = (id: string, json: string) => {
    for (const listener of watching.all.get(id) ?? []) listener(json)
  }
  const listens = yield* makeListening((payload) => {
    // The connection was lost and is back: anything may have happened meanwhile.
    if (payload === undefined) for (const wakeups of waiting.all.values()) wake(wakeups)
    if (payload === undefined || payload === "") {
      for (const listener of sent) listener()
      return
    }
    const end = payload.indexOf("\n")
    if (end === -1) wake(waiting.all.get(payload) ?? [])
    else show(payload.slice(0, end), payload.slice(end + 1))
  })
  /** Runs `read` until it finds something: at once, at each wakeup of the call, and at least every 2 s. */
  const until = <A, E>(
    id: string,
    read: Effect.Effect<A | undefined, E>
  ): Effect.Effect<A, E | StoreError> =>
    Effect.andThen(
      listens,
      Effect.gen(function* () {
        for (;;) {
          const found = yield* Effect.scoped(
            Effect.gen(function* () {
              const wakeup = yield* waiting.add(id, Deferred.makeUnsafe<void>())
              const found = yield* read
              if (found === undefined)
                yield* Effect.timeoutOption(Deferred.await(wakeup), reread_ms)
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
