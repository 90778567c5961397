/**
 * The memory of an actor's address, built when a body first uses it: most actors never do, and a Layer, its scope and its
 * fibers cost more than a short run (bench row `send`).
 */
import { Context, Effect, Exit, Scope } from "effect"
import type { Address, Tenant } from "../../../src/value/Ids.ts"
import type { AnchorKind } from "../../../src/memory/MemoryAnchors.ts"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"

type Memory = AgentMemory["Service"]

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
