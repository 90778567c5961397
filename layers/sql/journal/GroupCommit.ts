/**
 * Commits items of concurrent writers together: what waits while a batch is being written is the next batch. A committer fiber
 * takes the waiting items, commits them and gives each writer its outcome. Private to this room.
 */
import { Effect, Exit, Latch } from "effect"
import type { Scope } from "effect"

export interface Item {
  /** Items of one lane never share a batch, because the first invalidates the second. */
  readonly lane: string
  /** The number of characters of its texts. */
  readonly size: number
}

/** How a commit fails. `lost`: it is unknown whether the batch was written. */
export interface CommitError {
  readonly lost: boolean
}

export interface Options<A extends Item, O, E extends CommitError> {
  /** Writes a batch atomically and gives each item's outcome, in order. It is never called for two batches at the same time. */
  readonly commit: (batch: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<O>, E>
  /** The most items in one batch. */
  readonly batch_max: number
  /** The most characters in one batch. An item that is larger than this is written alone. Absent = 8,000,000. */
  readonly batch_size_max?: number
  /** The most items that may wait; one more fails with `overflow`. Absent = 100,000. */
  readonly queue_max?: number
  readonly overflow: () => E
  /**
   * `true`: items that arrive in the same turn of the event loop share the first batch. Absent: they do so only where the
   * previous batch had several items. A crowd that was answered together then writes together again, and a lone writer waits for
   * nobody.
   */
  readonly gathers?: true
}

/** An item that waits for its outcome (bench row `send-durable`: a deferred for each costs more than the queue). */
class Entry<A, O, E> {
  readonly item: A
  state: "queued" | "taken" | "withdrawn" = "queued"
  #resume: (outcome: Exit.Exit<O, E>) => void

  constructor(item: A, resume: (outcome: Exit.Exit<O, E>) => void) {
    this.item = item
    this.#resume = resume
  }

  settle(outcome: Exit.Exit<O, E>): void {
    this.#resume(outcome)
  }

  /** Withdraws the item if no batch has taken it yet. Otherwise it is too late, and this waits for the outcome. */
  readonly withdrawn: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.state === "taken") {
      this.#resume = () => resume(Exit.void)
    } else {
      this.state = "withdrawn"
      resume(Exit.void)
    }
  })
}

const isLost = (exit: Exit.Exit<unknown, CommitError>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) => reason._tag !== "Fail" || reason.error.lost)

/** The items that wait. */
class Waiting<A extends Item, O, E extends CommitError> {
  readonly #options: Options<A, O, E>
  #queue: Array<Entry<A, O, E>> = []

  constructor(options: Options<A, O, E>) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  get isFull(): boolean {
    return this.#queue.length >= (this.#options.queue_max ?? 100_000)
  }

  add(entry: Entry<A, O, E>): void {
    this.#queue.push(entry)
  }

  /** Removes and gives the items that wait; they will not be written. */
  close(): ReadonlyArray<Entry<A, O, E>> {
    return this.#queue.splice(0)
  }

  /** Takes the oldest items, at most one for each lane, within the bounds of a batch. The others stay in order. */
  next(): ReadonlyArray<Entry<A, O, E>> {
    const { batch_max, batch_size_max = 8_000_000 } = this.#options
    const batch: Array<Entry<A, O, E>> = []
    const rest: Array<Entry<A, O, E>> = []
    const lanes = new Set<string>()
    let size = 0
    for (const entry of this.#queue) {
      if (entry.state === "withdrawn") continue
      const full =
        batch.length === batch_max || (batch.length > 0 && size + entry.item.size > batch_size_max)
      if (full || lanes.has(entry.item.lane)) {
        // No later item of this lane may overtake the one that waits.
        lanes.add(entry.item.lane)
        rest.push(entry)
        continue
      }
      entry.state = "taken"
      lanes.add(entry.item.lane)
      size += entry.item.size
      batch.push(entry)
    }
    this.#queue = rest
    return batch
  }
}

/** The outcome of an item. Every item has one, and it may be undefined itself. */
const outcomeAt = <O>(outcomes: ReadonlyArray<O>, index: number): O => outcomes[index] as O

const settle = <A, O, E>(
  batch: ReadonlyArray<Entry<A, O, E>>,
  exit: Exit.Exit<ReadonlyArray<O>, E>
) => {
  let index = 0
  for (const entry of batch) {
    entry.settle(
      Exit.isSuccess(exit)
        ? Exit.succeed(outcomeAt(exit.value, index++))
        : Exit.failCause(exit.cause)
    )
  }
}

/**
 * Writes a batch. A batch that fails is halved until the item at fault is alone. A batch whose outcome is unknown is not tried
 * again: all of its items fail, and each writer reads what became of its own.
 */
const write = <A extends Item, O, E extends CommitError>(
  options: Options<A, O, E>,
  batch: ReadonlyArray<Entry<A, O, E>>
): Effect.Effect<void> =>
  Effect.flatMap(Effect.exit(options.commit(batch.map(({ item }) => item))), (exit) => {
    if (Exit.isSuccess(exit) || batch.length === 1 || isLost(exit)) {
      return Effect.sync(() => settle(batch, exit))
    }
    const middle = batch.length >> 1
    return Effect.andThen(
      write(options, batch.slice(0, middle)),
      write(options, batch.slice(middle))
    )
  })

/**
 * Starts the committer in the scope; call it when the layer is built, never inside a caller's transaction. The function that it
 * returns writes one item. It writes at once, on the caller's own fiber, if no item is being written or waits, `gathers` is
 * absent, and the last batch had only one item.
 */
export const make = <A extends Item, O, E extends CommitError>(
  options: Options<A, O, E>
): Effect.Effect<(item: A) => Effect.Effect<O, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const wakeup = yield* Latch.make(false)
    const waiting = new Waiting(options)
    // True from the first item until the queue is found empty.
    let busy = false
    let closed = false
    // Whether the last batch had several items, or `gathers` is set (bench rows `http` and `answers`).
    let isCrowded = options.gathers !== undefined

    const next = () => {
      const batch = waiting.next()
      if (batch.length > 0) isCrowded = options.gathers !== undefined || batch.length > 1
      return batch
    }
    const committer = Effect.gen(function* () {
      yield* wakeup.await
      if (isCrowded) yield* Effect.yieldNow
      for (let batch = next(); batch.length > 0; batch = next()) {
        yield* Effect.uninterruptible(write(options, batch))
        // Writers that were just answered may add their next items before the next batch is taken.
        yield* Effect.yieldNow
      }
      wakeup.closeUnsafe()
      busy = false
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        settle(waiting.close(), Exit.interrupt())
      })
    )
    yield* Effect.forkScoped(Effect.forever(committer))

    const enqueue = (item: A): Effect.Effect<O, E> =>
      Effect.callback((resume) => {
        if (closed) return resume(Effect.interrupt)
        if (waiting.isFull) return resume(Effect.fail(options.overflow()))
        const entry = new Entry<A, O, E>(item, resume)
        waiting.add(entry)
        if (!busy) {
          busy = true
          wakeup.openUnsafe()
        }
        return entry.withdrawn
      })
    const wakeNext = Effect.sync(() => {
      if (waiting.isEmpty) busy = false
      else wakeup.openUnsafe()
    })
    // Decided where nothing can interrupt the caller between the decision and the write.
    const writeAlone = (item: A): Effect.Effect<O, E> =>
      Effect.uninterruptible(
        Effect.suspend(() => {
          if (busy) return Effect.interruptible(enqueue(item))
          busy = true
          const outcome = Effect.map(options.commit([item]), (outcomes) => outcomeAt(outcomes, 0))
          return Effect.ensuring(outcome, wakeNext)
        })
      )
    return (item) =>
      Effect.suspend(() => {
        if (closed) return Effect.interrupt
        return busy || isCrowded ? enqueue(item) : writeAlone(item)
      })
  })
