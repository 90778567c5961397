/**
 * Starts the fiber of an actor, over the memory of its address, and ends all of them when the process stops.
 */
import { Effect, FiberMap, Scope } from "effect"
import type { Address, Tenant } from "../../../src/Ids.ts"
import { actorKey } from "../../../src/Ids.ts"
import { AgentMemories } from "../../../services/AgentMemory.ts"
import type { RunHead } from "../../../services/RunJournal.ts"
import { drainRun, wakeRun } from "../loop/RunWakeup.ts"
import { reportFailedExit } from "../tool/Faults.ts"
import { makeActor, notifyMail, supervise, wakeIfBehind } from "./Actor.ts"
import type { Actor } from "./Actor.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { HeldTask } from "./HeldDispatches.ts"

/** Wakes the actor of an address, or starts it, with its first run if that was just found. */
export type WakeActor = (tenant: Tenant, address: Address, found?: RunHead) => void

/** Has the actor of its address begin the run of a task whose dispatch this process holds. */
export type BeginTask = (held: HeldTask) => void

export const make = Effect.fnUntraced(function* (host: ActorHost) {
  const { config, dispatches, hosting, loop, owner, table } = host
  const memories = yield* AgentMemories
  const fibers = yield* FiberMap.make<string, void, never>()
  const fork = yield* FiberMap.runtime(fibers)<never>()

  const giveBack = ({ dispatch }: HeldTask) => host.background(dispatches.giveBack(dispatch.claim))

  const start = (actor: Actor): void => {
    table.add(actor)
    // The scope is not in the fiber's context: a context of its own would be most of what a waiting actor holds
    // (bench row `waiting`).
    const scope = Scope.makeUnsafe()
    const life = Effect.onExit(
      Effect.flatMap(Scope.provide(memories.get(actor.tenant, actor.address), scope), (memory) =>
        supervise(host, actor, memory)
      ),
      (exit) => Scope.close(scope, exit)
    )
    fork(actor.key, life).addObserver((exit) => {
      table.remove(actor, undefined)
      if (actor.given !== undefined) giveBack(actor.given)
      reportFailedExit(loop.report, "an actor broke", exit, {
        address: actor.key,
        run_id: actor.run
      })
    })
  }

  const wake: WakeActor = (tenant, address, found) => {
    // What is not hosted here waits for a process that has it: here it could only fail.
    if (!hosting.has(address)) return
    const present = table.actorOf(actorKey(tenant, address))
    if (present === undefined) {
      if (!table.isDraining) start(makeActor(tenant, address, { found }))
    } else if (found === undefined) notifyMail(present)
    else wakeIfBehind(present, found)
  }

  const begin: BeginTask = (held) => {
    const { address, tenant } = held.task
    const present = table.actorOf(actorKey(tenant, address))
    if (present === undefined && !table.isDraining) {
      start(makeActor(tenant, address, { given: held }))
    } else if (present !== undefined && present.given === undefined) {
      present.given = held
      // No run of the address is open: one that the actor has in hand has ended elsewhere, or is just ending.
      if (present.run !== undefined) wakeRun(present.wakeup)
      notifyMail(present)
    } else giveBack(held)
  }

  /** Ends what is in flight within `drain_ms`, interrupts the rest, and lets other processes have the runs at once. */
  const stop = Effect.suspend(() => {
    for (const actor of table.drain()) {
      drainRun(actor.wakeup)
      notifyMail(actor)
    }
    return Effect.timeoutOption(FiberMap.awaitEmpty(fibers), config.drain_ms).pipe(
      Effect.andThen(FiberMap.clear(fibers)),
      Effect.andThen(dispatches.giveBackAll),
      Effect.andThen(Effect.ignore(loop.journal.release(owner)))
    )
  })

  return { begin, wake, stop }
})
