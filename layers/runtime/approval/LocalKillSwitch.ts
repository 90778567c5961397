/**
 * Kill switches as this process obeys them: one for all tenants, which is its own, and one for each tenant, which is stored. A
 * tenant's switch holds here at once, and in the other processes over the store about two seconds later, while it answers.
 */
import { Clock, Effect, Layer, Semaphore } from "effect"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { KillSwitch } from "../../../services/KillSwitch.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { StorePace } from "../../../services/StorePace.ts"
import { ToolStops } from "../../../services/ToolStops.ts"
import { startPeriodic } from "../fiber/Periodic.ts"

/** How often the switches of other processes are read. */
export const refresh_ms = 2_000

/** Tenants that the log of a start names. */
const shown_max = 20

const not_stored = new StoreError({
  message:
    "every tool of the tenant is stopped in this process, and the store did not take it: it is tried again, and holds nowhere else until then"
})

const warnOfStops = (stopped: ReadonlySet<Tenant>): Effect.Effect<void> =>
  stopped.size === 0
    ? Effect.void
    : Effect.logWarning("the tools of tenants are stopped, as their kill switches say").pipe(
        Effect.annotateLogs({ count: stopped.size, tenants: [...stopped].slice(0, shown_max) })
      )

const startRefreshes = (refresh: Effect.Effect<void, StoreError>) =>
  Effect.flatMap(StorePace, (pace) =>
    startPeriodic(pace(refresh_ms), refresh, pace(refresh_ms), (cause) =>
      Effect.logDebug("the kill switches of tenants could not be read, or stored", cause)
    )
  )

/** One that fails keeps the others from nothing. */
const forEachIgnoring = (
  tenants: ReadonlyArray<Tenant>,
  store: (tenant: Tenant) => Effect.Effect<void, StoreError>
) => Effect.forEach(tenants, (tenant) => Effect.ignore(store(tenant)), { discard: true })

/** The switches of tenants. What cannot be stored stays on: the store is asked again at each refresh. */
const makeTenants = Effect.gen(function* () {
  const stops = yield* ToolStops
  const clock = yield* Clock.Clock
  const stopped = new Set(yield* stops.tenants)
  yield* warnOfStops(stopped)
  /** The last time that each was turned on here: who turns it off does so only for what was on when that began. */
  const turnedOn = new Map<Tenant, object>()
  /** The times of these that are not stored yet. */
  const unstored = new Map<Tenant, object>()
  let turns = 0
  // One write at a time, in the order of the turns.
  const writing = yield* Semaphore.make(1)
  const store = (tenant: Tenant, on: boolean) =>
    stops.set(tenant, on, clock.currentTimeMillisUnsafe())
  /** Stores that it is on, unless that has happened, or it was turned off, before this one's turn to write. */
  const storeStop = (tenant: Tenant) =>
    writing.withPermits(1)(
      Effect.suspend(() => {
        const time = unstored.get(tenant)
        if (time === undefined) return Effect.void
        return Effect.andThen(
          store(tenant, true),
          Effect.sync(() => {
            turns++
            // It may have been turned off and on again meanwhile: that is written behind this one.
            if (unstored.get(tenant) !== time) return
            // What was last read may be from before it.
            stopped.add(tenant)
            unstored.delete(tenant)
          })
        )
      })
    )

  const read = Effect.gen(function* () {
    const before = turns
    const found = yield* stops.tenants
    // What was turned meanwhile may be missing in what was read.
    if (turns !== before) return
    stopped.clear()
    for (const tenant of found) stopped.add(tenant)
  })
  // Apart from one another: a store that takes nothing, or hangs while it does, may still say what others have turned.
  yield* startRefreshes(Effect.suspend(() => forEachIgnoring([...unstored.keys()], storeStop)))
  yield* startRefreshes(read)

  const turnOn = Effect.fnUntraced(function* (tenant: Tenant) {
    turns++
    const time = {}
    stopped.add(tenant)
    unstored.set(tenant, time)
    turnedOn.set(tenant, time)
    yield* Effect.mapError(storeStop(tenant), () => not_stored)
  })
  const storeStart = Effect.fnUntraced(function* (tenant: Tenant, on: object | undefined) {
    yield* store(tenant, false)
    turns++
    if (turnedOn.get(tenant) !== on) return
    stopped.delete(tenant)
    unstored.delete(tenant)
    turnedOn.delete(tenant)
  })
  const turnOff = (tenant: Tenant) =>
    Effect.suspend(() => writing.withPermits(1)(storeStart(tenant, turnedOn.get(tenant))))
  return {
    isOn: (tenant: Tenant) => stopped.has(tenant) || unstored.has(tenant),
    turn: (tenant: Tenant, on: boolean) => (on ? turnOn(tenant) : turnOff(tenant))
  }
})

const make = Effect.gen(function* () {
  let all = false
  const tenants = yield* makeTenants
  return KillSwitch.of({
    isOn: (tenant) => all || tenants.isOn(tenant),
    turn: Effect.fn("KillSwitch.turn")(function* (given, who) {
      const on = yield* Entries.flag(given, "on")
      const by = yield* Entries.entitled(who, "stopTools")
      yield* Effect.ensuring(
        tenants.turn(by.tenant, on),
        Effect.suspend(() =>
          Effect.logWarning(
            tenants.isOn(by.tenant)
              ? "every tool of a tenant is stopped"
              : "a tenant's tools may run again"
          ).pipe(Effect.annotateLogs({ tenant: by.tenant, by: by.id }))
        )
      )
    }),
    turnAll: Effect.fn("KillSwitch.turnAll")(function* (given) {
      const on = yield* Entries.flag(given, "on")
      all = on
      yield* Effect.logWarning(on ? "every tool is stopped" : "tools may run again")
    })
  })
})

/** Fails where the store cannot say which tenants' tools are stopped. */
export const layer: Layer.Layer<KillSwitch, StoreError, ToolStops> = Layer.effect(KillSwitch, make)
