/**
 * The calls of a run by the identity of their side effects, so that a call finds those that are the same side effect
 * without a look at all others. It is made from the run's state for the first call of a tool with an
 * `idempotency`, and goes with that state: a state that was folded anew has an index of its own. Each call is looked at once.
 */
import type { CallId } from "../../../src/value/Ids.ts"
import type { CallState, RunState } from "../../../src/run/RunState.ts"
import { sideEffectIdentity } from "../../../src/tool/Idempotency.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentTool } from "./CallHost.ts"

/** The identity of a call's side effect, undefined where its tool declares none. */
export const callIdentityOf = ({ spec }: AgentTool, call: CallState): string | undefined =>
  sideEffectIdentity(spec, call.arguments)

/** It ended without a value, which nothing changes any more: its side effect may be tried again. */
const isWithoutValue = ({ phase }: CallState): boolean =>
  phase._tag === "Settled" && phase.outcome._tag !== "Value"

const no_calls: ReadonlySet<CallState> = new Set()

/** The index of one run, as one state of it was folded. */
export class IdempotencyIndex {
  readonly #agentOf: (name: string) => ResolvedAgent | undefined
  readonly #state: RunState
  /**
   * Calls that are not indexed. The iterator of a map goes on with entries that are added later, for as long as it has
   * not reached the end: no more calls are read than there are.
   */
  readonly #rest: Iterator<CallState>
  #seen = 0
  readonly #identities = new Map<CallId, string>()
  readonly #calls = new Map<AgentTool, Map<string, Set<CallState>>>()

  constructor(agentOf: (name: string) => ResolvedAgent | undefined, state: RunState) {
    this.#agentOf = agentOf
    this.#state = state
    this.#rest = state.calls.values()
  }

  /** Indexes a call under its identity, which changes where a person gives the call other arguments. */
  file(tool: AgentTool, call: CallState, identity: string): void {
    const before = this.#identities.get(call.id)
    if (before === identity) return
    let calls = this.#calls.get(tool)
    if (calls === undefined) this.#calls.set(tool, (calls = new Map()))
    if (before !== undefined) calls.get(before)?.delete(call)
    this.#identities.set(call.id, identity)
    const same = calls.get(identity)
    if (same === undefined) calls.set(identity, new Set([call]))
    else same.add(call)
  }

  /** Other calls of the run that are this side effect and have a value, or may come to one. */
  *others(tool: AgentTool, own: CallState, identity: string): Iterable<CallState> {
    for (; this.#seen < this.#state.calls.size; this.#seen++) this.#look(this.#rest.next().value)
    const same = this.#calls.get(tool)?.get(identity)
    for (const call of same ?? no_calls) {
      if (call.id === own.id) continue
      if (isWithoutValue(call)) same?.delete(call)
      else yield call
    }
  }

  #look(call: CallState | undefined) {
    const agent = call === undefined ? undefined : this.#state.frames.get(call.frame)?.agent
    if (call === undefined || agent === undefined) return
    const tool = this.#agentOf(agent)?.tools.get(call.proposed.name)
    const identity = tool === undefined ? undefined : callIdentityOf(tool, call)
    if (tool !== undefined && identity !== undefined) this.file(tool, call, identity)
  }
}

/** Gives the index of a state, the same one each time. */
export const make = (
  agentOf: (name: string) => ResolvedAgent | undefined
): ((state: RunState) => IdempotencyIndex) => {
  const indexes = new WeakMap<RunState, IdempotencyIndex>()
  return (state) => {
    let index = indexes.get(state)
    if (index === undefined) indexes.set(state, (index = new IdempotencyIndex(agentOf, state)))
    return index
  }
}
