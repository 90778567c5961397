/**
 * Groups reads of concurrent callers in one statement: keys that are asked for in the same turn of the event loop, or while an
 * earlier statement runs, are read by the next one (bench rows `send-durable` and `http`). Private to this room.
 *
 * It looks like `GroupCommit` but shares no code with it: a read can be interrupted and repeated, has no lane and no size, and
 * nobody has to learn the outcome of an interrupted read. One queue for both would need an option for each of these.
 */
import { Deferred, Effect, Exit, Latch } from "effect"
import type { Scope } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient } from "effect/sql"
import type { Tenant } from "../../../src/Ids.ts"
import * as ReadPlaces from "./ReadPlaces.ts"
import { isInTransaction } from "./SqlFailure.ts"
import type { TenantReads } from "./TenantReads.ts"

export interface Options<K, A, E> {
  readonly sql: SqlClient.SqlClient
  /** Reads the answers for the keys, in their order, in one statement. */
  readonly read: (keys: ReadonlyArray<K>) => Effect.Effect<ReadonlyArray<A>, E | SqlError.SqlError>
  /** The most keys in one statement. */
  readonly batch_max: number
}

interface Entry<K, A, E> {
  readonly key: K
  readonly resume: (answer: Exit.Exit<A, E | SqlError.SqlError>) => void
  /** Whether its caller still waits for the answer. */
  isOpen: boolean
}

/** Whether the database answered with a refusal, so that another statement may succeed. */
const isAnswer = (cause: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(cause) &&
  cause.cause.reasons.every(
    (reason) =>
      reason._tag === "Fail" &&
      !(SqlError.isSqlError(reason.error) && reason.error.reason._tag === "ConnectionError")
  )

/** The answer for a key. Every key has one, and it may be undefined itself. */
const answerAt = <A>(answers: ReadonlyArray<A>, index: number): A => answers[index] as A

/**
 * Reads a batch. A batch that is refused is halved until the read at fault is alone, so that a key that cannot be read does not
 * hide the others.
 */
const answer = <K, A, E>(
  read: Options<K, A, E>["read"],
  batch: ReadonlyArray<Entry<K, A, E>>
): Effect.Effect<void> =>
  Effect.flatMap(Effect.exit(read(batch.map(({ key }) => key))), (exit) => {
    if (batch.length > 1 && isAnswer(exit)) {
      const middle = batch.length >> 1
      return Effect.andThen(answer(read, batch.slice(0, middle)), answer(read, batch.slice(middle)))
    }
    for (const [index, entry] of batch.entries()) {
      entry.isOpen = false
      entry.resume(Exit.map(exit, (answers) => answerAt(answers, index)))
    }
    return Effect.void
  })

/**
 * Makes a function that reads one key: together with the keys of other callers, or, in an open transaction, at once and within
 * it, so that it sees what that transaction wrote. If no read is under way, the caller's own fiber reads for everybody who asks
 * in this turn of the event loop; keys that are asked for meanwhile are read by a fiber of the scope. A caller that is
 * interrupted does not delay the others.
 */
export const make = <K, A, E>(
  options: Options<K, A, E>
): Effect.Effect<(key: K) => Effect.Effect<A, E | SqlError.SqlError>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type Failure = E | SqlError.SqlError
    const { batch_max, read, sql } = options
    const places = ReadPlaces.of(sql)
    const inPlace: typeof read = (keys) => places.within(read(keys))
    const wakeup = yield* Latch.make(false)
    let queue: Array<Entry<K, A, E>> = []
    // True from the first read until the queue is found empty.
    let busy = false
    let closed = false

    /** Reads the next batch. Keys that an interruption leaves unanswered wait again, before the others. */
    const next = Effect.suspend(() => {
      const open = queue.filter(({ isOpen }) => isOpen)
      const batch = open.slice(0, batch_max)
      queue = open.slice(batch_max)
      return Effect.onInterrupt(answer(inPlace, batch), () =>
        Effect.sync(() => (queue = [...batch, ...queue]))
      )
    })
    const reader = Effect.gen(function* () {
      yield* wakeup.await
      while (queue.length > 0) {
        yield* next
        // Callers that were just answered may ask again before the next batch is taken.
        yield* Effect.yieldNow
      }
      wakeup.closeUnsafe()
      busy = false
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        for (const { resume } of queue) resume(Exit.interrupt())
      })
    )
    yield* Effect.forkScoped(Effect.forever(reader))

    /** Waits for the statement of another caller, or of the reader. */
    const wait = (key: K): Effect.Effect<A, Failure> =>
      Effect.callback((resume) => {
        if (closed) return resume(Exit.interrupt())
        const entry: Entry<K, A, E> = { key, resume, isOpen: true }
        queue.push(entry)
        if (!busy) {
          busy = true
          wakeup.openUnsafe()
        }
        return Effect.sync(() => (entry.isOpen = false))
      })
    const wakeNext = Effect.sync(() => {
      if (queue.length > 0) wakeup.openUnsafe()
      else busy = false
    })
    // Decided where nothing can interrupt the caller before its read is sure to be followed by that of the others.
    const readFirst = (key: K): Effect.Effect<A, Failure> =>
      Effect.uninterruptibleMask((restore) => {
        if (busy) return restore(wait(key))
        busy = true
        const done = Deferred.makeUnsafe<A, Failure>()
        const resume = (answer: Exit.Exit<A, Failure>) => Deferred.doneUnsafe(done, answer)
        const entry: Entry<K, A, E> = { key, resume, isOpen: true }
        queue.push(entry)
        const read = Effect.ensuring(restore(Effect.andThen(Effect.yieldNow, next)), wakeNext)
        return Effect.onInterrupt(Effect.andThen(read, restore(Deferred.await(done))), () =>
          Effect.sync(() => (entry.isOpen = false))
        )
      })
    const enqueue = (key: K): Effect.Effect<A, Failure> =>
      closed ? Effect.interrupt : busy ? wait(key) : readFirst(key)
    return (key) =>
      Effect.withFiber((fiber) =>
        isInTransaction(sql, fiber)
          ? Effect.map(read([key]), (answers) => answerAt(answers, 0))
          : enqueue(key)
      )
  })

/** A key of a read on behalf of a principal of this tenant. */
interface OfTenant {
  readonly tenant: Tenant
}

export interface TenantOptions<K extends OfTenant, A, E> extends Omit<Options<K, A, E>, "read"> {
  readonly reads: TenantReads["Service"]
  /** Reads the answers for these keys of one tenant, in their order, in one statement. */
  readonly read: (
    tenant: Tenant,
    keys: ReadonlyArray<K>
  ) => Effect.Effect<ReadonlyArray<A>, E | SqlError.SqlError>
}

/** The most tenants that are read for at the same time: each has a transaction, and so a connection, of its own. */
const tenants_max = 4

/** As `make`, but on behalf of principals: the keys of one tenant are read by one statement with the tenant's database role. */
export const makeForTenants = <K extends OfTenant, A, E>({
  read,
  reads,
  ...options
}: TenantOptions<K, A, E>): ReturnType<typeof make<K, A, E>> =>
  make<K, A, E>({
    ...options,
    read: (keys) =>
      Effect.map(
        Effect.forEach(
          Map.groupBy(keys, ({ tenant }) => tenant),
          ([tenant, of]) =>
            Effect.map(reads.of(tenant)(read(tenant, of)), (answers) =>
              of.map((key, index) => [key, answerAt(answers, index)] as const)
            ),
          { concurrency: tenants_max }
        ),
        (groups) => {
          const found = new Map(groups.flat())
          return keys.map((key) => found.get(key) as A)
        }
      )
  })
