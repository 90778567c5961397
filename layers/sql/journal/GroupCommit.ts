/**
 * Appends of concurrent writers in one statement: a committer, or two, takes what waits, commits it and answers each.
 * Private to this room.
 */
import { Effect, Exit, Latch } from "effect"
import type { Scope } from "effect"

export interface Item {
  /** Items of one lane never share a batch: the second is fenced by what the first does. */
  readonly lane: string
  /** Characters of its texts. */
  readonly size: number
}

/** How a commit fails. `lost`: it is unknown whether it was written. */
export interface CommitError {
  readonly lost: boolean
}

export interface Options<A extends Item, O, E extends CommitError> {
  /** Writes a batch as one whole and answers each item, in order. May not be called twice at a time for one lane. */
  readonly commit: (batch: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<O>, E>
  /** Items of one batch. */
  readonly batch_max: number
  /** Characters of one batch; a greater item goes alone. */
  readonly batch_size_max: number
  /** Items that may wait; one more is refused with `overflow`. */
  readonly queue_max: number
  readonly overflow: () => E
  /**
   * Items that come while the event loop turns share the first batch. Absent = only where the batch before had several: a
   * crowd that was answered together writes again together, and who writes alone waits for nobody.
   */
  readonly gathers?: true
  /**
   * Batches that are written at a time where many items wait; 1 by default. While the database writes one half of a crowd,
   * the other half goes on (bench row `send-durable`).
   */
  readonly writers?: number
}

/** While a batch is being written, another is begun for no fewer items: a small one waits and grows. */
export const share_min = 24

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

  /** Withdraws what was not yet taken. Once taken it is too late, and the outcome is awaited. */
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

/** What waits, and what is being written. */
class Batches<A extends Item, O, E extends CommitError> {
  readonly #options: Options<A, O, E>
  readonly #writers: number
  #queue: Array<Entry<A, O, E>> = []
  #writing = 0
  /** Of the batches that are being written. */
  readonly #lanes = new Set<string>()

  constructor(options: Options<A, O, E>) {
    this.#options = options
    this.#writers = options.writers ?? 1
  }

  get isWriting(): boolean {
    return this.#writing > 0
  }

  /** Is there enough for one more writer? */
  get isDue(): boolean {
    const { length } = this.#queue
    if (length === 0 || this.#writing === 0) return length > 0
    return this.#writing < this.#writers && length >= share_min
  }

  get isFull(): boolean {
    return this.#queue.length >= this.#options.queue_max
  }

  add(entry: Entry<A, O, E>): void {
    this.#queue.push(entry)
  }

  /** What waits is not written any more. */
  close(): ReadonlyArray<Entry<A, O, E>> {
    return this.#queue.splice(0)
  }

  /** The next batch: of a crowd, what falls to one of the writers that are free. */
  next(): ReadonlyArray<Entry<A, O, E>> {
    if (!this.isDue) return []
    const { length } = this.#queue
    const free = this.#writers - this.#writing
    return this.#take(length >= share_min * free ? Math.ceil(length / free) : length)
  }

  /** While the effect runs, nothing else is written of the lanes. */
  written<B, F>(items: ReadonlyArray<A>, effect: Effect.Effect<B, F>): Effect.Effect<B, F> {
    return Effect.suspend(() => {
      this.#writing++
      for (const { lane } of items) this.#lanes.add(lane)
      const end = Effect.sync(() => {
        this.#writing--
        for (const { lane } of items) this.#lanes.delete(lane)
      })
      return Effect.ensuring(effect, end)
    })
  }

  /** The oldest first, one a lane, within the batch's bounds; the others stay, in order. */
  #take(share: number): ReadonlyArray<Entry<A, O, E>> {
    const { batch_max, batch_size_max } = this.#options
    const count_max = Math.min(batch_max, share)
    const batch: Array<Entry<A, O, E>> = []
    const rest: Array<Entry<A, O, E>> = []
    const lanes = new Set(this.#lanes)
    let size = 0
    for (const entry of this.#queue) {
      if (entry.state === "withdrawn") continue
      const full =
        batch.length === count_max || (batch.length > 0 && size + entry.item.size > batch_size_max)
      if (full || lanes.has(entry.item.lane)) {
        // Nothing of this lane may overtake the one that waits.
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

/** There is one for each item, and it may itself be undefined. */
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
 * A batch that fails is halved until the item at fault stands alone. One whose outcome is unknown is not tried again: all
 * of it fails, and each writer reads what became of its own.
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
 * Starts the committer in the scope: with its layer, never inside a caller's transaction. What it returns writes one item:
 * at once, on the caller's own fiber, where no other item is being written, unless it gathers or the last batch had several.
 */
export const make = <A extends Item, O, E extends CommitError>(
  options: Options<A, O, E>
): Effect.Effect<(item: A) => Effect.Effect<O, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const wakeup = yield* Latch.make(false)
    const batches = new Batches(options)
    // True from the first item until the queue is found empty.
    let busy = false
    let closed = false
    // The last batch had several items (bench rows `http` and `answers`).
    let isCrowded = options.gathers !== undefined

    const next = () => {
      const batch = batches.next()
      if (batch.length > 0) isCrowded = options.gathers !== undefined || batch.length > 1
      return batch
    }
    const committer = Effect.gen(function* () {
      yield* wakeup.await
      if (isCrowded) yield* Effect.yieldNow
      for (let batch = next(); batch.length > 0; batch = next()) {
        const items = batch.map(({ item }) => item)
        yield* Effect.uninterruptible(batches.written(items, write(options, batch)))
        // Those just answered write again before the next batch is taken.
        yield* Effect.yieldNow
      }
      wakeup.closeUnsafe()
      if (!batches.isWriting) busy = false
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        settle(batches.close(), Exit.interrupt())
      })
    )
    for (let n = 0; n < (options.writers ?? 1); n++) {
      yield* Effect.forkScoped(Effect.forever(committer))
    }

    const enqueue = (item: A): Effect.Effect<O, E> =>
      Effect.callback((resume) => {
        if (closed) return resume(Effect.interrupt)
        if (batches.isFull) return resume(Effect.fail(options.overflow()))
        const entry = new Entry<A, O, E>(item, resume)
        batches.add(entry)
        if (batches.isDue) wakeup.openUnsafe()
        return entry.withdrawn
      })
    const wakeNext = Effect.sync(() => {
      if (batches.isDue) wakeup.openUnsafe()
      else if (!batches.isWriting) busy = false
    })
    const inline = (item: A): Effect.Effect<O, E> => {
      const written = Effect.map(options.commit([item]), (outcomes) => outcomeAt(outcomes, 0))
      return Effect.uninterruptible(Effect.ensuring(batches.written([item], written), wakeNext))
    }
    return (item) =>
      Effect.suspend(() => {
        if (closed) return Effect.interrupt
        const isAlone = !busy && !isCrowded
        busy = true
        return isAlone ? inline(item) : enqueue(item)
      })
  })
