/**
 * The claim loop: how a process takes items from a durable queue that it shares with other processes, and works on them.
 * It claims as many due items as it has room for, each claim under a name of its own and for a lease, and works on each
 * item in a fiber of its own. What became of an item is reported to the queue, with retries for the length of the lease
 * while the store does not answer (`makeResilientClaims`). When a claim found nothing, the loop waits for a wakeup, for the time at
 * which the next item is due, or for `sweep_ms` (at the store's pace), whichever comes first. When its scope closes it claims nothing more, waits
 * up to `stop_ms` for the items in flight, and then interrupts them.
 */
import type { Scope } from "effect"
import { Cause, Clock, Effect, FiberSet, Latch, Random, Schedule } from "effect"
import { Counts } from "../../../src/value/Counts.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { Owners } from "../../../services/Owners.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { StorePace } from "../../../services/StorePace.ts"

const retries = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

/** Tries of one report while a stop waits for it: about 3 s. */
const stopping_tries_max = 6

/** How long a lost claim may still take effect, in ms: no statement of a lost session runs longer than that. */
const lost_claim_ms = 60_000

/**
 * Claims on a durable queue whose store may stop answering while the process lives. What the process holds is free for others as
 * soon as the store answers again, and not only when a lease that nobody works under has passed.
 */
export const makeResilientClaims = (
  release: (owners: ReadonlyArray<string>) => Effect.Effect<void, StoreError>,
  lease_ms: number,
  isStopping: () => boolean
) => {
  /** The names of lost claims, and until when (ms since 1970) each may still come to hold something. */
  const lost = new Map<string, number>()
  return {
    /**
     * Claims under the name `owner`. Where the answer of a claim was lost, nobody knows which items it took; so before the next
     * claim, and for `lost_claim_ms`, everything that is held under its name is released.
     */
    claim: Effect.fnUntraced(function* <A>(owner: string, claim: Effect.Effect<A, StoreError>) {
      const now = yield* Clock.currentTimeMillis
      if (lost.size > 0) {
        yield* release([...lost.keys()])
        for (const [name, until] of lost) if (until <= now) lost.delete(name)
      }
      return yield* Effect.tapError(claim, () =>
        Effect.sync(() => void lost.set(owner, now + lost_claim_ms))
      )
    }),
    /**
     * Writes down what became of an item. Retries for the length of the lease, because after that the queue gives the item to
     * others anyway; while the process stops, at most `stopping_tries_max` times.
     */
    report: <A>(write: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
      Effect.suspend(() => {
        let tries = 0
        return Effect.retry(write, {
          schedule: Schedule.upTo(retries, { duration: lease_ms }),
          while: () => ++tries < stopping_tries_max || !isStopping()
        })
      })
  }
}

/** The bounds of a claim loop. Times in ms. */
export interface ClaimLoopConfig {
  /** Items in flight at the same time, 1 to 500. */
  readonly concurrency: number
  /** The longest wait before the next claim; a wakeup ends it earlier. */
  readonly sweep_ms: number
  /** How long a stop waits for the items in flight before it interrupts them. */
  readonly stop_ms: number
}

/** Who claims: the owner, and a name `<owner>.<n>` for each claim. */
export interface ClaimNames {
  readonly owner: string
  /** No two are the same, so that a try that outlived its lease cannot end a later try of the same owner. */
  readonly next: () => string
}

export const makeClaimNames = (kind: string): Effect.Effect<ClaimNames> =>
  Effect.gen(function* () {
    const owner = `${kind}-${(yield* Random.nextInt).toString(36)}-${(yield* Random.nextInt).toString(36)}`
    let claims = 0
    return { owner, next: () => `${owner}.${++claims}` }
  })

export interface ClaimRequest {
  readonly owner: string
  /** The places that are free, at least 1. */
  readonly limit: number
  readonly lease_ms: number
  /** The tenant of the item that was taken last. */
  readonly after: Tenant | undefined
  /** Items in flight, by tenant; tenants without any are absent. */
  readonly in_flight: ReadonlyMap<Tenant, number>
}

/** One durable queue, as a claim loop sees it. */
interface ClaimedQueue<Item extends { readonly tenant: Tenant }> {
  /** What does not answer, as warnings name it. */
  readonly name: string
  /** For how long a claim holds what it took. */
  readonly lease_ms: number
  readonly claim: (request: ClaimRequest) => Effect.Effect<ReadonlyArray<Item>, StoreError>
  /** Gives back what these claims hold, as if it had not been claimed. */
  readonly release: (owners: ReadonlyArray<string>) => Effect.Effect<void, StoreError>
  /** When the next item is due, in ms since 1970; undefined = none waits. */
  readonly nextDueAt: Effect.Effect<number | undefined, StoreError>
  /** Calls back when items were added, in this process or another, until the scope closes. */
  readonly added: (wake: () => void) => Effect.Effect<void, StoreError, Scope.Scope>
}

export interface ClaimLoop<Item> extends Pick<ReturnType<typeof makeResilientClaims>, "report"> {
  /** True from the moment at which the loop's scope closes. */
  readonly isStopping: () => boolean
  /** Begins to claim; called once. `work` ends with the item reported, and does not fail. */
  readonly start: (
    work: (item: Item, owner: string) => Effect.Effect<void>
  ) => Effect.Effect<void, StoreError, Scope.Scope>
}

/** The first wait after a claim found nothing though an item is due: it waits for a handler or an owner elsewhere. */
const idle_initial_ms = 25

/** The wait after the store did not answer. */
const store_away_ms = 1_000

const logClaimFailure = (name: string, cause: Cause.Cause<StoreError>) => {
  const error = Cause.findErrorOption(cause)
  return error._tag === "Some"
    ? Effect.logWarning(`the ${name} did not answer: ${error.value.message}`)
    : Effect.logError(`a claim on the ${name} broke`, cause)
}

/** Claims, and waits until another claim may find something; forever. A failure is a warning, and is tried again. */
const claimWheneverDue = (
  { name, nextDueAt }: Pick<ClaimedQueue<never>, "name" | "nextDueAt">,
  /** How many items were claimed. Undefined = there is no room: an item that ends wakes the loop. */
  claim: Effect.Effect<number | undefined, StoreError>,
  wakeup: Latch.Latch,
  sweep_ms: number,
  /** How long to wait at most where nothing is due. */
  look_ms: number
): Effect.Effect<never> => {
  let idle_ms = idle_initial_ms

  const untilDue = Effect.gen(function* () {
    const due = yield* nextDueAt
    const now = yield* Clock.currentTimeMillis
    if (due === undefined) return look_ms
    if (due > now) return Math.min(due - now, look_ms)
    idle_ms = Math.min(idle_ms * 2, sweep_ms)
    return idle_ms
  })

  const round = Effect.gen(function* () {
    yield* wakeup.await
    yield* wakeup.close
    const claimed = yield* claim
    if (claimed === undefined) return
    if (claimed > 0) idle_ms = idle_initial_ms
    else yield* Effect.timeoutOption(wakeup.await, yield* untilDue)
    yield* wakeup.open
  })

  return round.pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : logClaimFailure(name, cause).pipe(
            Effect.andThen(Effect.sleep(Math.min(store_away_ms, sweep_ms))),
            Effect.andThen(wakeup.open)
          )
    ),
    Effect.forever
  )
}

/** A loop that has not begun to claim. Until the scope closes it is known as an owner that lives and hosts `hosted`. */
export const makeClaimLoop = Effect.fnUntraced(function* <Item extends { readonly tenant: Tenant }>(
  queue: ClaimedQueue<Item>,
  names: ClaimNames,
  config: ClaimLoopConfig,
  hosted?: ReadonlyArray<string>
): Effect.fn.Return<ClaimLoop<Item>, never, Scope.Scope> {
  const { concurrency, stop_ms, sweep_ms } = config
  const { lease_ms } = queue
  const look_ms = (yield* StorePace)(sweep_ms)
  const running = yield* FiberSet.make<void>()
  const wakeup = yield* Latch.make(true)
  const in_flight = new Counts<Tenant>()
  let stopping = false
  let after: Tenant | undefined
  const isStopping = () => stopping
  const claims = makeResilientClaims(queue.release, lease_ms, isStopping)

  /** Uninterruptible, so that a stop cannot fall between a claim and the start of the work on what it took. */
  const claim = (work: (item: Item, owner: string) => Effect.Effect<void>) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        const limit = concurrency - in_flight.total
        if (limit <= 0) return undefined
        const owner = names.next()
        const request = { owner, limit, lease_ms, after, in_flight: in_flight.all }
        const items = yield* claims.claim(owner, queue.claim(request))
        for (const item of items) {
          in_flight.add(item.tenant, 1)
          after = item.tenant
          const ended = Effect.sync(() => {
            in_flight.add(item.tenant, -1)
            // There is room again, and what had to wait for this item may be due.
            wakeup.openUnsafe()
          })
          yield* FiberSet.run(running, Effect.ensuring(work(item, owner), ended))
        }
        return items.length
      })
    )

  yield* Effect.addFinalizer(() => {
    stopping = true
    const drained = Effect.interruptible(FiberSet.awaitEmpty(running))
    return Effect.asVoid(Effect.timeoutOption(drained, stop_ms))
  })
  yield* (yield* Owners).register(names.owner, hosted)
  return {
    isStopping,
    report: claims.report,
    start: Effect.fnUntraced(function* (work) {
      yield* queue.added(() => wakeup.openUnsafe())
      yield* Effect.forkScoped(claimWheneverDue(queue, claim(work), wakeup, sweep_ms, look_ms))
    })
  }
})
