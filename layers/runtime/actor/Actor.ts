/**
 * The actor of one address, as the process keeps it, with its memory and the run that it has loaded. What it does is in
 * `ActorLoop.ts`. What it holds while its run waits is bounded by the bench row `waiting`.
 */
import { Context, Effect, Exit, Scope } from "effect"
import type { Past } from "../../../src/conversation/Compaction.ts"
import type { Address, RunId, Tenant } from "../../../src/value/Ids.ts"
import { actorKey } from "../../../src/value/Ids.ts"
import type { AnchorKind } from "../../../src/memory/MemoryAnchors.ts"
import type { RunBeside } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ActorInfo, RunPlace } from "../../../services/AgentRuntime.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import type { RunShare } from "../loop/RunMemory.ts"
import type { RunWakeup } from "../loop/RunWakeup.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import type { ClaimedTask } from "./ClaimedDispatches.ts"

type Memory = AgentMemory["Service"]

/**
 * The memory of an actor's address, built when a body first uses it: most actors never do, and a Layer, its scope and its
 * fibers cost more than a short run (bench row `send`).
 */
export class ActorMemory implements Memory {
  readonly #memories: AgentMemories["Service"]
  readonly #tenant: Tenant
  readonly #address: Address
  readonly #kind: AnchorKind | undefined
  /** Holds the memory in the process; undefined where nobody has used it. */
  #scope: Scope.Closeable | undefined
  #built: Memory | undefined

  constructor(
    memories: AgentMemories["Service"],
    tenant: Tenant,
    address: Address,
    kind?: AnchorKind
  ) {
    this.#kind = kind
    this.#memories = memories
    this.#tenant = tenant
    this.#address = address
  }

  // Getters of functions, because a body may take them out of the service, and most actors need none of them.
  get remember(): Memory["remember"] {
    return (note, origin) => Effect.flatMap(this.#memory, (memory) => memory.remember(note, origin))
  }

  get recall(): Memory["recall"] {
    return (query) => Effect.flatMap(this.#memory, (memory) => memory.recall(query))
  }

  get get(): Memory["get"] {
    return (id) => Effect.flatMap(this.#memory, (memory) => memory.get(id))
  }

  get list(): Memory["list"] {
    return (tier, page, run) =>
      Effect.flatMap(this.#memory, (memory) => memory.list(tier, page, run))
  }

  get undo(): Memory["undo"] {
    return (id, by) => Effect.flatMap(this.#memory, (memory) => memory.undo(id, by))
  }

  get endRun(): Memory["endRun"] {
    return (run) => Effect.flatMap(this.#memory, (memory) => memory.endRun(run))
  }

  get endConversation(): Memory["endConversation"] {
    return Effect.flatMap(this.#memory, (memory) => memory.endConversation)
  }

  get isUsed(): boolean {
    return this.#scope !== undefined
  }

  /** Lets go of the memory, which is built again by the next use. */
  release(): Effect.Effect<void> {
    const scope = this.#scope
    this.#scope = undefined
    this.#built = undefined
    return scope === undefined ? Effect.void : Effect.uninterruptible(Scope.close(scope, Exit.void))
  }

  get #memory(): Effect.Effect<Memory> {
    return Effect.suspend(() => {
      if (this.#built !== undefined) return Effect.succeed(this.#built)
      // Calls that come while it is built wait for the same one: `AgentMemories` builds one for an address.
      const scope = (this.#scope ??= Scope.makeUnsafe())
      return Effect.map(
        Scope.provide(this.#memories.get(this.#tenant, this.#address, this.#kind), scope),
        (context) => {
          const memory = Context.get(context, AgentMemory)
          if (this.#scope === scope) this.#built = memory
          return memory
        }
      )
    })
  }
}

/** A claimed run of which nothing is in flight: it was claimed just now, or it waits for people. */
export interface LoadedRun {
  readonly head: RunHead
  readonly state: RunState
  /** How long it has been at work, in ms. */
  readonly worked_ms: number
  /** When the last entry of its journal was appended, in ms since 1970; undefined for one that has waited here. */
  readonly last_append_at: number | undefined
  readonly past: Past
  /** It is to answer beside a run that waits. Absent = it is the first of its address. */
  readonly beside?: RunBeside | undefined
}

export interface Actor {
  /** It takes side runs, beside the actor that has the first run of the address. */
  readonly isBeside: boolean
  readonly tenant: Tenant
  readonly address: Address
  readonly key: string
  readonly wakeup: RunWakeup
  state: Exclude<ActorInfo["state"], "parked">
  /** The run that the actor has claimed. */
  run: RunId | undefined
  /** Where the last run is that the actor took. */
  place: RunPlace | undefined
  /** The same run with its state, while it waits here for people and nothing of it is in flight. */
  waiting: LoadedRun | undefined
  /** Messages may have come since the actor last looked for them. */
  hasMail: boolean
  /** The memory of its address, built when a body first uses it. */
  readonly memory: ActorMemory
  restarts: number
  /** When it crashed, within the window of its supervision; ms since 1970. */
  crashes: Array<number>
  /** The conversation up to and including the run of the ordinal `past_to`, loaded once. */
  past: Past | undefined
  past_to: number
  /** The first unfinished run of the address, as a sweep found it: the actor need not look for it. */
  firstRun: RunHead | undefined
  /** A task that this process accepted and holds, whose run the actor is to begin. */
  acceptedTask: ClaimedTask | undefined
  /** A run that was claimed for the actor with an amendment. */
  claimed: Claim | undefined
  /** What its run takes of the memory for runs; undefined = it has none. */
  share: RunShare | undefined
}

/** What an actor is started for, where that is known. */
export interface ActorStart {
  readonly firstRun?: RunHead | undefined
  readonly acceptedTask?: ClaimedTask
  readonly claimed?: Claim
  readonly isBeside?: boolean
}

/** The key of the actor that takes the side runs of an address. No tenant has a space in its name. */
export const sideKey = (tenant: Tenant, address: Address): string =>
  `beside ${actorKey(tenant, address)}`

export const makeActor = (
  memories: AgentMemories["Service"],
  tenant: Tenant,
  address: Address,
  { acceptedTask, claimed, firstRun, isBeside = false }: ActorStart,
  kind?: AnchorKind
): Actor => ({
  isBeside,
  tenant,
  address,
  key: isBeside ? sideKey(tenant, address) : actorKey(tenant, address),
  wakeup: makeWakeup(),
  state: "running",
  run: undefined,
  place: undefined,
  waiting: undefined,
  hasMail: false,
  memory: new ActorMemory(memories, tenant, address, kind),
  restarts: 0,
  crashes: [],
  past: undefined,
  past_to: 0,
  firstRun,
  acceptedTask,
  claimed,
  share: undefined
})

/** A sweep found `head` as the first unfinished run: the actor reads a longer journal, as a wakeup may have been lost. */
export const wakeIfBehind = ({ run, wakeup }: Actor, head: RunHead): void => {
  // Where the first unfinished run is another one, the claimed run has ended elsewhere.
  if (head.run_id === run ? head.length > wakeup.seenLength : run !== undefined) wakeRun(wakeup)
}
