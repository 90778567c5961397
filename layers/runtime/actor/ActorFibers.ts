/**
 * Starts the fiber of an actor where it has something to do, over the memory of its address, and ends all of them when the
 * process stops. An idle actor has no fiber.
 */
import { Context, Effect, Exit, Fiber } from "effect"
import type { Address, Tenant } from "../../../src/value/Ids.ts"
import { actorKey } from "../../../src/value/Ids.ts"
import { pastUnits } from "../../../src/conversation/Compaction.ts"
import { AgentMemories, AgentMemory } from "../../../services/AgentMemory.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import { drainRun, wakeRun } from "../loop/RunWakeup.ts"
import { ActorBase } from "../tool/CallHost.ts"
import { reportFailedExit } from "../tool/FaultReport.ts"
import type { Actor, ActorStart } from "./Actor.ts"
import { makeActor, sideKey, wakeIfBehind } from "./Actor.ts"
import { supervise } from "./ActorLoop.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { ClaimedTask } from "./ClaimedDispatches.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import { Deadline } from "../tool/Deadlines.ts"
import { BufferQuota, boundsWithin } from "../feed/BufferQuota.ts"

/** For the conversations of all idle actors, in UTF-16 units. */
const past_bounds = { tenant_max: 32_000_000, all_max: 64_000_000 }

interface Idle {
  /** In ms of the monotonic clock. */
  readonly since: number
  /** What is held for its conversation. */
  readonly units: number
}

interface Bounds {
  readonly idle_ms: number
  readonly idle_max: number
  /** An eighth as many units are kept of conversations. */
  readonly in_flight_bytes_max: number
}

/**
 * Actors without a run, which wait for the next message of their address without a fiber: only what the next run would
 * otherwise load again. Each leaves after `idle_ms`, and those that have waited longest where there are more than `idle_max`,
 * or where their conversations are beyond `past_bounds`. All of them share one deadline (bench row `send`).
 */
export class IdleActors extends Deadline {
  readonly #deadlines: Deadlines
  readonly #bounds: Bounds
  readonly #leave: (actor: Actor) => void
  /** The oldest first. */
  readonly #idle = new Map<Actor, Idle>()
  readonly #quota: BufferQuota

  constructor(deadlines: Deadlines, bounds: Bounds, leave: (actor: Actor) => void) {
    super()
    this.#deadlines = deadlines
    this.#bounds = bounds
    this.#leave = leave
    this.#quota = new BufferQuota(boundsWithin(past_bounds, bounds.in_flight_bytes_max / 8))
  }

  get size(): number {
    return this.#idle.size
  }

  add(actor: Actor): void {
    const units = actor.past === undefined ? 0 : pastUnits(actor.past)
    if (!this.#hasRoom(actor, units)) return this.#leave(actor)
    this.#idle.set(actor, { since: this.#deadlines.now(), units })
    const [oldest] = this.#idle.keys()
    if (this.#idle.size > this.#bounds.idle_max && oldest !== undefined) this.#end(oldest)
    if (this.index === -1 && this.#idle.size > 0) this.#deadlines.arm(this, this.#bounds.idle_ms)
  }

  /** The actor has something to do. False = it was not idle. */
  take(actor: Actor): boolean {
    return this.#forget(actor)
  }

  fire(): void {
    const due = this.#deadlines.now() - this.#bounds.idle_ms
    for (const [actor, { since }] of this.#idle) {
      if (since > due) return this.#deadlines.arm(this, since - due)
      this.#end(actor)
    }
  }

  /** All of them leave. */
  clear(): void {
    this.#deadlines.disarm(this)
    for (const actor of this.#idle.keys()) this.#end(actor)
  }

  #end(actor: Actor): void {
    this.#forget(actor)
    this.#leave(actor)
  }

  #forget(actor: Actor): boolean {
    const idle = this.#idle.get(actor)
    if (idle === undefined) return false
    this.#quota.release(actor.tenant, idle.units)
    return this.#idle.delete(actor)
  }

  /** Those that have waited longest leave until there is; of the actor's tenant, where it is the tenant's bound. */
  #hasRoom({ tenant }: Actor, units: number): boolean {
    for (;;) {
      const passed = this.#quota.reserve(tenant, units)
      if (passed === undefined) return true
      const oldest = this.#oldest(passed === "tenant" ? tenant : undefined)
      if (oldest === undefined) return false
      this.#end(oldest)
    }
  }

  #oldest(tenant: Tenant | undefined): Actor | undefined {
    for (const [actor, { units }] of this.#idle) {
      if (units > 0 && (tenant === undefined || actor.tenant === tenant)) return actor
    }
    return undefined
  }
}

export class ActorFibers {
  readonly #host: ActorHost
  readonly #memories: AgentMemories["Service"]
  /** What the runtime was built with. */
  readonly #services: Context.Context<never>
  readonly #fibers = new Set<Fiber.Fiber<boolean>>()
  readonly #idle: IdleActors

  constructor(
    host: ActorHost,
    memories: AgentMemories["Service"],
    services: Context.Context<never>
  ) {
    this.#host = host
    this.#memories = memories
    this.#services = Context.add(services, ActorBase, services)
    this.#idle = new IdleActors(host.loop.deadlines, host.config, (actor) => this.#leave(actor))
  }

  /** Wakes the actor of an address, or starts it, with its first run if that was just found. */
  readonly wake = (tenant: Tenant, address: Address, firstRun?: RunHead): void => {
    // What is not hosted here waits for a process that has it: here it could only fail.
    if (!this.#host.hosting.has(address)) return
    this.#wakeFirst(tenant, address, firstRun)
    if (firstRun === undefined) this.wakeBeside({ tenant, address })
  }

  /** The same for the actor of its side runs, where its agent's mailbox is `answer`: the first run may wait for people. */
  readonly wakeBeside = ({ address, tenant }: Pick<Actor, "address" | "tenant">): void => {
    const { loop, memory, table } = this.#host
    if (loop.directory.get(address.agent)?.spec.mailbox !== "answer") return
    const present = table.actorOf(sideKey(tenant, address))
    if (present !== undefined) this.#notifyMail(present)
    else if (memory.hasRoom(tenant)) this.#start(tenant, address, { isBeside: true })
    else memory.leftOne(tenant)
  }

  #wakeFirst(tenant: Tenant, address: Address, firstRun?: RunHead): void {
    const present = this.#host.table.actorOf(actorKey(tenant, address))
    if (present === undefined) {
      if (this.#host.memory.hasRoom(tenant)) this.#start(tenant, address, { firstRun })
      else this.#host.memory.leftOne(tenant)
      return
    }
    if (firstRun !== undefined) wakeIfBehind(present, firstRun)
    this.#notifyMail(present)
  }

  /** Starts the actor of a run that was claimed for it with an amendment. */
  readonly resume = (claimed: Claim): void => {
    const { address, tenant } = claimed.head
    const present = this.#host.table.actorOf(actorKey(tenant, address))
    if (present === undefined) return this.#start(tenant, address, { claimed })
    // The actor finds the run as it finds any other.
    wakeIfBehind(present, claimed.head)
    this.#notifyMail(present)
  }

  /** Has the actor of its address begin the run of a task whose dispatch this process holds. */
  readonly begin = (held: ClaimedTask): void => {
    const { address, tenant } = held.task
    const { table } = this.#host
    const present = table.actorOf(actorKey(tenant, address))
    if (present === undefined) {
      if (table.isDraining) this.#giveBack(held)
      else this.#start(tenant, address, { acceptedTask: held })
      return
    }
    // A run that has begun is found like every other.
    if (present.acceptedTask !== undefined) this.#giveBack(held)
    else {
      present.acceptedTask = held
      // No run of the address is open: one that the actor has in hand has ended elsewhere, or is just ending.
      if (present.run !== undefined) wakeRun(present.wakeup)
    }
    this.#notifyMail(present)
  }

  /** No actor starts work from here on. */
  readonly drain: Effect.Effect<void> = Effect.sync(() => {
    for (const { wakeup } of this.#host.table.drain()) drainRun(wakeup)
  })

  /** Ends what is in flight within `drain_ms`, interrupts the rest, and lets other processes have the runs at once. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() => {
    const { config, dispatches, ownership, owner } = this.#host
    this.#idle.clear()
    return this.drain.pipe(
      Effect.andThen(Effect.timeoutOption(Fiber.awaitAll(this.#fibers), config.drain_ms)),
      Effect.andThen(this.interrupt),
      Effect.andThen(dispatches.giveBackAll),
      Effect.andThen(Effect.ignore(ownership.release(owner)))
    )
  })

  readonly interrupt: Effect.Effect<void> = Effect.suspend(() => Fiber.interruptAll(this.#fibers))

  #start(tenant: Tenant, address: Address, start: ActorStart): void {
    const { table } = this.#host
    if (table.isDraining) return
    const kind = this.#host.loop.directory.get(address.agent)?.spec.memory?.anchor
    const actor = makeActor(this.#memories, tenant, address, start, kind)
    table.add(actor)
    this.#run(actor)
  }

  #run(actor: Actor): void {
    // Added to what the runtime has, and not merged: what fibers look up at their start is then found once for all actors.
    const fork = Effect.runForkWith(Context.add(this.#services, AgentMemory, actor.memory))
    const fiber = fork(supervise(this.#host, actor, this.wakeBeside))
    if (fiber.pollUnsafe() === undefined) this.#fibers.add(fiber)
    fiber.addObserver((exit) => {
      this.#fibers.delete(fiber)
      this.#ended(actor, exit)
    })
  }

  #ended(actor: Actor, exit: Exit.Exit<boolean>): void {
    const { loop, table } = this.#host
    const isIdle = Exit.isSuccess(exit) && exit.value && !table.isDraining
    // The run before its side runs may have ended meanwhile: then what is behind them begins now.
    if (actor.isBeside && actor.place !== undefined && !table.isDraining) {
      actor.place = undefined
      this.#wakeFirst(actor.tenant, actor.address)
    }
    // A message may have come since it last looked.
    if (isIdle && actor.hasMail) return this.#run(actor)
    if (isIdle) return this.#idle.add(actor)
    this.#leave(actor)
    if (actor.acceptedTask !== undefined) this.#passOn(actor, actor.acceptedTask)
    reportFailedExit(loop.report, "an actor broke", exit, {
      address: actor.key,
      run_id: actor.run
    })
  }

  /** New messages may have come. */
  #notifyMail(actor: Actor): void {
    actor.hasMail = true
    if (this.#idle.take(actor)) this.#run(actor)
  }

  #leave(actor: Actor): void {
    const { background, table } = this.#host
    table.remove(actor, undefined)
    if (actor.memory.isUsed) background(actor.memory.release())
  }

  /** Passes on a task that the actor was given and did not take. A run that has begun has no dispatch to give back. */
  #passOn({ address, tenant }: Actor, held: ClaimedTask): void {
    if (held.begun === undefined) this.#giveBack(held)
    else this.wake(tenant, address)
  }

  #giveBack({ dispatch }: ClaimedTask): void {
    const { background, dispatches } = this.#host
    background(dispatches.giveBack(dispatch.claim))
  }
}

export const make = Effect.fnUntraced(function* (host: ActorHost) {
  const fibers = new ActorFibers(host, yield* AgentMemories, yield* Effect.context<never>())
  yield* Effect.addFinalizer(() => fibers.interrupt)
  return fibers
})
