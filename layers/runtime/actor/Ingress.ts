/**
 * How messages and commands enter. A message is durable when `send` returns: `TaskStore.accept` has written its task and
 * either its run, claimed for this process, or the outbox row that dispatches it. The run where nothing else of the address
 * waits; a store that does not begin runs lets this process hold the row then, and the actor of the address begins the run
 * (`ClaimedDispatches.ts`). Otherwise, and where the process that holds it dies first, a relay calls `deliver` with the row, which
 * begins the run in the journal and wakes the actor. A cancel and a settlement amend the run's journal, and are durable when
 * they return.
 */
import { Effect } from "effect"
import type { CallId, RunId, Tenant } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { cancelBy, freesKey, settleBy } from "../../../src/run/RunCommand.ts"
import type { Settlement } from "../../../src/run/UnknownCall.ts"
import { IdempotencyKeys } from "../../../services/IdempotencyKeys.ts"
import type { KeyFreed } from "../../../services/IdempotencyKeys.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { amend } from "../feed/Observers.ts"
import { channelKey } from "../feed/ChannelKey.ts"
import { beginRun, supersedeEarlier, withRunBegun } from "./Acceptance.ts"
import type { BeginTask, WakeActor } from "./ActorFibers.ts"
import type { ActorHost } from "./ActorHost.ts"
import * as OtherAgents from "./OtherAgents.ts"
import * as Sending from "./Sending.ts"

/** How actors are started. */
interface Actors {
  readonly begin: BeginTask
  readonly wake: WakeActor
}

export const make = Effect.fnUntraced(function* (host: ActorHost, { begin, wake }: Actors) {
  const { feed, hosting, loop, tasks, onDurable } = host
  const { journal } = loop
  const keys = yield* IdempotencyKeys
  const others = yield* OtherAgents.make(host)
  const send = yield* Sending.make(host, begin, others)

  /** Frees the key of a call that has ended; `refused` where it holds none. */
  const freeKey = Effect.fnUntraced(function* <E>(
    run: RunId,
    call: CallId,
    tenant: Tenant,
    freed: KeyFreed,
    refused: E
  ) {
    const isFreed = yield* Effect.mapError(
      keys.free({ run, call, tenant }, freed),
      ({ message }) => new JournalError({ message, lost: false })
    )
    if (!isFreed) return yield* Effect.fail(refused)
    yield* Effect.annotateLogs(Effect.logInfo("the key of a call that has ended was freed"), {
      run_id: run,
      call_id: call,
      by: freed.by,
      tenant
    })
  })

  const deliver = Effect.fn("TaskDispatch.deliver")(function* (id: RunId) {
    const task = yield* tasks.get(id)
    if (task === undefined || task.status === "complete" || task.status === "failed") return
    // It is for a process that hosts the agent: begun here, its run would have no limits and no definition.
    if (!hosting.has(task.address)) return yield* new StoreError({ message: "not hosted here" })
    yield* beginRun(host, task)
    yield* supersedeEarlier(host, task)
    feed.reached(channelKey(task.tenant, task.conversation), task.ordinal, 1)
    wake(task.tenant, task.address)
  })

  const interrupt = (run: RunId, by: Principal, reason: string) =>
    withRunBegun(
      host,
      run,
      amend(journal, onDurable, run, (state) => cancelBy(state, run, by, reason))
    )

  const settle = (run: RunId, call: CallId, settlement: Settlement, by: Principal) =>
    Effect.suspend(() => {
      let freed: KeyFreed | undefined
      const settled = amend(journal, onDurable, run, (state, now) => {
        freed = freesKey(state, call, settlement) ? { by: by.id, at: now } : undefined
        return settleBy(state, run, call, settlement, by, now)
      })
      return Effect.catchTag(settled, ["CallNotUnknown", "RunIsOver"], (refused) =>
        freed === undefined ? Effect.fail(refused) : freeKey(run, call, by.tenant, freed, refused)
      )
    })

  return { send, currentAgent: others.currentAgent, deliver, interrupt, settle }
})
