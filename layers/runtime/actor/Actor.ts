/**
 * The actor of one address, as the process keeps it. What it does is in `ActorLoop.ts`. What it holds while its run waits is
 * bounded by the bench row `waiting`.
 */
import type { Past } from "../../../src/conversation/Compaction.ts"
import type { Address, RunId, Tenant } from "../../../src/value/Ids.ts"
import { actorKey } from "../../../src/value/Ids.ts"
import type { AnchorKind } from "../../../src/memory/MemoryAnchors.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import type { ActorInfo, RunPlace } from "../../../services/AgentRuntime.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import type { RunShare } from "../loop/RunMemory.ts"
import type { RunWakeup } from "../loop/RunWakeup.ts"
import { makeWakeup, wakeRun } from "../loop/RunWakeup.ts"
import { ActorMemory } from "./ActorMemory.ts"
import type { LoadedRun } from "./LoadedRun.ts"
import type { ClaimedTask } from "./ClaimedDispatches.ts"

export interface Actor {
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
}

export const makeActor = (
  memories: AgentMemories["Service"],
  tenant: Tenant,
  address: Address,
  { acceptedTask, claimed, firstRun }: ActorStart,
  kind?: AnchorKind
): Actor => ({
  tenant,
  address,
  key: actorKey(tenant, address),
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

/**
 * A sweep found `head` as the first unfinished run of the actor's address: the actor reads its journal if that is longer
 * than what it has read, because a wakeup from another process may have been lost.
 */
export const wakeIfBehind = ({ run, wakeup }: Actor, head: RunHead): void => {
  // Where the first unfinished run is another one, the claimed run has ended elsewhere.
  if (head.run_id === run ? head.length > wakeup.seenLength : run !== undefined) wakeRun(wakeup)
}
