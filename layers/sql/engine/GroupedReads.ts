/**
 * Groups reads of concurrent callers in one statement: keys that are asked for in the same turn of the event loop, or while an
 * earlier statement runs, are read by the next one (bench rows `send-durable` and `http`). Private to this room.
 *
 * It looks like `GroupCommit` but shares no code with it: a read can be interrupted and repeated, has no lane and no size, and
 * nobody has to learn the outcome of an interrupted read. One queue for both would need an option for each of these.
 */
import { Deferred, Effect, Exit, Latch } from "effect"
import type { SqlClient } from "effect/sql"
import type { Scope } from "effect"
import { SqlError } from "effect/sql"
import type { Tenant } from "../../../src/value/Ids.ts"
import { isInTransaction } from "./SqlFailure.ts"
import type { TenantReads } from "./TenantReads.ts"

/** How many statements may run before others wait. */
const places_max = 2
/**
 * How long a statement waits for others, in ms. After that it runs all the same, so that a statement without an answer blocks no
 * other kind.
 */
const wait_ms = 100

class ReadPlaces {
  readonly #waiting = new Set<Deferred.Deferred<void>>()
  #taken = 0

  /** Runs `read` as soon as a place is free; after `wait_ms` it runs without one. */
  within<A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const placed = Effect.acquireUseRelease(
      Effect.sync(() => void this.#taken++),
      () => read,
      () => Effect.sync(() => this.#leave())
    )
    return Effect.suspend(() =>
      this.#taken < places_max ? placed : Effect.andThen(this.#turn, placed)
    )
  }

  readonly #turn = Effect.suspend(() => {
    const turn = Deferred.makeUnsafe<void>()
    this.#waiting.add(turn)
    return Effect.ensuring(
      Effect.timeoutOption(Deferred.await(turn), wait_ms),
      Effect.sync(() => this.#waiting.delete(turn))
    )
  })

  #leave(): void {
    this.#taken--
    const [next] = this.#waiting
    if (next === undefined || this.#taken >= places_max) return
    this.#waiting.delete(next)
    Deferred.doneUnsafe(next, Exit.void)
  }
}

const places = new WeakMap<SqlClient.SqlClient, ReadPlaces>()

/** The one instance for this client, shared by all kinds of reads. */
const placesOf = (sql: SqlClient.SqlClient): ReadPlaces => {
  const known = places.get(sql)
  if (known !== undefined) return known
  const made = new ReadPlaces()
  places.set(sql, made)
  return made
}

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

type Read<K, A, E> = Options<K, A, E>["read"]

/** The keys that wait for a statement. */
class ReadQueue<K, A, E> {
  readonly #read: Read<K, A, E>
  readonly #batch_max: number
  readonly #wakeup: Latch.Latch
  #queue: Array<Entry<K, A, E>> = []
  /** True from the first read until the queue is found empty. */
  #isBusy = false
  #isClosed = false

  constructor(read: Read<K, A, E>, batch_max: number, wakeup: Latch.Latch) {
    this.#read = read
    this.#batch_max = batch_max
    this.#wakeup = wakeup
  }

  /** The answer for the key, by the statement of this caller or of another. */
  ask(key: K): Effect.Effect<A, E | SqlError.SqlError> {
    if (this.#isClosed) return Effect.interrupt
    return this.#isBusy ? this.#wait(key) : this.#readFirst(key)
  }

  /** What the reader's fiber does, again and again. */
  readonly readAll = Effect.gen({ self: this }, function* () {
    yield* this.#wakeup.await
    while (this.#queue.length > 0) {
      yield* this.#next
      // Callers that were just answered may ask again before the next batch is taken.
      yield* Effect.yieldNow
    }
    this.#wakeup.closeUnsafe()
    this.#isBusy = false
  })

  close(): void {
    this.#isClosed = true
    for (const { resume } of this.#queue) resume(Exit.interrupt())
  }

  /** Reads the next batch. Keys that an interruption leaves unanswered wait again, before the others. */
  readonly #next = Effect.suspend(() => {
    const open = this.#queue.filter(({ isOpen }) => isOpen)
    const batch = open.slice(0, this.#batch_max)
    this.#queue = open.slice(this.#batch_max)
    return Effect.onInterrupt(answer(this.#read, batch), () =>
      Effect.sync(() => (this.#queue = [...batch, ...this.#queue]))
    )
  })

  readonly #wakeNext = Effect.sync(() => {
    if (this.#queue.length > 0) this.#wakeup.openUnsafe()
    else this.#isBusy = false
  })

  #wait(key: K): Effect.Effect<A, E | SqlError.SqlError> {
    return Effect.callback((resume) => {
      if (this.#isClosed) return resume(Exit.interrupt())
      const entry: Entry<K, A, E> = { key, resume, isOpen: true }
      this.#queue.push(entry)
      if (!this.#isBusy) {
        this.#isBusy = true
        this.#wakeup.openUnsafe()
      }
      return Effect.sync(() => (entry.isOpen = false))
    })
  }

  /** Decided where nothing can interrupt the caller before it is sure that those who wait for it are read too. */
  #readFirst(key: K): Effect.Effect<A, E | SqlError.SqlError> {
    return Effect.uninterruptibleMask((restore) => {
      if (this.#isBusy) return restore(this.#wait(key))
      this.#isBusy = true
      const done = Deferred.makeUnsafe<A, E | SqlError.SqlError>()
      const resume: Entry<K, A, E>["resume"] = (given) => Deferred.doneUnsafe(done, given)
      const entry: Entry<K, A, E> = { key, resume, isOpen: true }
      this.#queue.push(entry)
      const read = Effect.andThen(Effect.yieldNow, this.#next)
      return Effect.ensuring(restore(read), this.#wakeNext).pipe(
        Effect.andThen(restore(Deferred.await(done))),
        Effect.onInterrupt(() => Effect.sync(() => (entry.isOpen = false)))
      )
    })
  }
}

/**
 * Makes a function that reads one key: together with the keys of other callers, or, in an open transaction, at once and within
 * it, so that it sees what that transaction wrote. If no read is under way, the caller's own fiber reads for everybody who asks
 * in this turn of the event loop; keys that are asked for meanwhile are read by a fiber of the scope. A caller that is
 * interrupted does not delay the others.
 */
export const make = <K, A, E>({
  batch_max,
  read,
  sql
}: Options<K, A, E>): Effect.Effect<
  (key: K) => Effect.Effect<A, E | SqlError.SqlError>,
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const places = placesOf(sql)
    const inPlace: Read<K, A, E> = (keys) => places.within(read(keys))
    const queue = new ReadQueue(inPlace, batch_max, yield* Latch.make(false))
    yield* Effect.addFinalizer(() => Effect.sync(() => queue.close()))
    yield* Effect.forkScoped(Effect.forever(queue.readAll))
    return (key) =>
      Effect.withFiber((fiber) =>
        isInTransaction(sql, fiber)
          ? Effect.map(read([key]), (answers) => answerAt(answers, 0))
          : queue.ask(key)
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
