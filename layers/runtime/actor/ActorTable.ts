/**
 * The actors of one process: which of them run, which run each has claimed, which runs are parked, and which actors
 * crashed too often. Every method is synchronous, so that no wakeup comes between a check and the change that follows
 * from it.
 */
import type { RunId, Tenant } from "../../../src/value/Ids.ts"
import { actorKey, parseActorKey } from "../../../src/value/Ids.ts"
import type { ActorInfo, RunPlace } from "../../../services/AgentRuntime.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import * as OpenQuestions from "../approval/OpenQuestions.ts"
import type { Actor } from "./Actor.ts"

/** Stopped actors that are remembered, for the list. */
const stopped_max = 1_000

export class ActorTable {
  readonly #questions: OpenQuestions.OpenQuestions["Service"]
  /** By address. Each has a fiber or is idle (`IdleActors`): any other entry would swallow every later message. */
  readonly #actors = new Map<string, Actor>()
  /** Resident runs, at work or waiting: the actor that has claimed each. */
  readonly #residents = new Map<RunId, Actor>()
  /** Parked runs: the address of each, which is all that the process keeps of it. */
  readonly #parked = new Map<RunId, string>()
  /** Runs that a store may have begun for this process, which does not know it yet: the message is being accepted. */
  readonly #accepting = new Set<RunId>()
  /** Runs that others amended and that no actor here has taken up since: each sweep looks at them again. */
  readonly #amended = new Set<RunId>()
  /** By address: actors that crashed too often. */
  readonly #stopped = new Map<string, Actor>()
  #isDraining = false

  constructor(questions: OpenQuestions.OpenQuestions["Service"]) {
    this.#questions = questions
  }

  /** Is the process stopping? Then no actor is started, and each is removed when what it has in flight has ended. */
  get isDraining(): boolean {
    return this.#isDraining
  }

  /** From here on the process is draining. Gives the actors that are to end. */
  drain(): Iterable<Actor> {
    this.#isDraining = true
    return this.#actors.values()
  }

  /** The conversation so far is read again where it is next needed: of the tenant's actors, or of all. */
  forgetPast(tenant: Tenant | undefined): void {
    for (const actor of this.#actors.values()) {
      if (tenant !== undefined && actor.tenant !== tenant) continue
      actor.past = undefined
      actor.past_to = 0
    }
  }

  actorOf(key: string): Actor | undefined {
    return this.#actors.get(key)
  }

  add(actor: Actor): void {
    this.#actors.set(actor.key, actor)
    this.#stopped.delete(actor.key)
  }

  /** Removes an actor that ends. `parked` is the head of its run, if that waits for a person and for nothing else. */
  remove(actor: Actor, parked: RunHead | undefined): void {
    if (this.#actors.get(actor.key) === actor) this.#actors.delete(actor.key)
    actor.share?.leave()
    actor.share = undefined
    // An actor that came after this one may have the run already.
    if (actor.run !== undefined && this.#residents.get(actor.run) === actor) {
      this.#residents.delete(actor.run)
      OpenQuestions.dropQuestions(this.#questions, actor.run, "parked")
    }
    if (parked !== undefined) this.#parked.set(parked.run_id, actor.key)
    if (actor.state !== "stopped") return
    this.#stopped.set(actor.key, actor)
    const [oldest] = this.#stopped.keys()
    if (this.#stopped.size > stopped_max && oldest !== undefined) this.#stopped.delete(oldest)
  }

  residentOf(run: RunId): Actor | undefined {
    return this.#residents.get(run)
  }

  /** Where a resident run of the tenant is. */
  placeOf(run: RunId, tenant: Tenant): RunPlace | undefined {
    const actor = this.#residents.get(run)
    return actor?.tenant === tenant ? actor.place : undefined
  }

  get residents(): Iterable<Actor> {
    return this.#residents.values()
  }

  /** A store may begin the run and claim it for this process, until `endAccepting`: then its answer is there. */
  beginAccepting(run: RunId): void {
    this.#accepting.add(run)
  }

  endAccepting(run: RunId): void {
    this.#accepting.delete(run)
  }

  /** Is the run, if it has begun, about to be given to its actor? A second claim would fence off the first. */
  isAccepting(run: RunId): boolean {
    return this.#accepting.has(run)
  }

  /** Is an actor about to take the run as it was when its message was accepted? */
  isStartPending({ address, run_id, tenant }: RunHead): boolean {
    const acceptedTask = this.#actors.get(actorKey(tenant, address))?.acceptedTask
    return this.#accepting.has(run_id) || acceptedTask?.task.id === run_id
  }

  /** The actor claims the run, which is there. */
  takeRun(actor: Actor, run: RunId, place: RunPlace): void {
    this.#residents.set(run, actor)
    actor.place = place
    this.#parked.delete(run)
    this.#amended.delete(run)
  }

  /** No actor here has the run any more: it is over, or for another process. */
  releaseRun(run: RunId): void {
    OpenQuestions.dropQuestions(this.#questions, run, "amended")
    this.#residents.delete(run)
    this.#parked.delete(run)
  }

  /** Lists a run that waits for a person as parked, unless it is resident. */
  park(head: RunHead): void {
    if (this.#residents.has(head.run_id)) return
    this.#parked.set(head.run_id, actorKey(head.tenant, head.address))
  }

  unpark(run: RunId): void {
    this.#parked.delete(run)
  }

  /** Runs that were amended, and that neither an actor has taken since nor `clearAmended` has cleared. */
  get amendedRuns(): Iterable<RunId> {
    return this.#amended
  }

  isAmended(run: RunId): boolean {
    return this.#amended.has(run)
  }

  markAmended(run: RunId): void {
    this.#amended.add(run)
  }

  clearAmended(run: RunId): void {
    this.#amended.delete(run)
  }

  /** At most `limit` actors, of one tenant or of all: in the process, then with parked runs, then those that crashed too often. */
  list(limit: number, only: Tenant | undefined): ReadonlyArray<ActorInfo> {
    const found: Array<ActorInfo> = []
    const show = ({ address, restarts, run, state, tenant }: Actor) => {
      if (found.length >= limit || (only !== undefined && tenant !== only)) return
      found.push({ tenant, address, state, run, restarts })
    }
    for (const actor of this.#actors.values()) show(actor)
    for (const [run, key] of this.#parked) {
      if (found.length >= limit) break
      if (this.#actors.has(key) || (only !== undefined && !key.startsWith(`${only}/`))) continue
      found.push({ ...parseActorKey(key), state: "parked", run, restarts: 0 })
    }
    for (const actor of this.#stopped.values()) show(actor)
    return found
  }
}
