/**
 * Calls of a run that are one side effect, because their tool's `idempotency` gives them one identity: the body runs for
 * the first, and the others get its result. Calls of earlier steps are found in the run's state, calls in flight in its loop,
 * calls of other runs by the key that they hold (`HeldKeys`).
 */
import { Deferred, Effect, Exit } from "effect"
import { canonical } from "../../../src/value/Canonical.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import { ToolUserError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome, Repeats } from "../../../src/run/RunEvent.ts"
import type { CallState, RunState } from "../../../src/run/RunState.ts"
import { holdsKeys } from "../../../src/tool/ToolSpec.ts"
import { sideEffectIdentity } from "../../../src/tool/Idempotency.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentTool, CallHost, StartedWork } from "./CallHost.ts"
import { duplicateFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"
import type { RunHeld } from "./HeldKeys.ts"
import type { ToolBody } from "./ToolBody.ts"

/** It ended without a value, which nothing changes any more: its side effect may be tried again. */
const isWithoutValue = ({ phase }: CallState): boolean =>
  phase._tag === "Settled" && phase.outcome._tag !== "Value"

const no_calls: ReadonlySet<CallState> = new Set()

/**
 * The calls of a run by the identity of their side effects, so that a call finds those that are the same side effect without a
 * look at all others. It is made from the run's state for the first call of a tool with an `idempotency`, and goes with that
 * state: a state that was folded anew has an index of its own. Each call is looked at once.
 */
class IdempotencyIndex {
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
    const identity = tool === undefined ? undefined : sideEffectIdentity(tool.spec, call.arguments)
    if (tool !== undefined && identity !== undefined) this.file(tool, call, identity)
  }
}

export interface Services {
  readonly agentOf: (name: string) => ResolvedAgent | undefined
  readonly body: Pick<ToolBody, "run">
  /** Absent = nothing is known of other runs: in a replay, and in a worker, whose calls' senders hold the keys. */
  readonly held?: RunHeld | undefined
}

const refused = (reason: "DUPLICATE_CALL" | "KEY_REUSED", message: string): Outcome =>
  failedOutcome(new ToolUserError({ kind: "invalid_args", reason, message }))

const refusedAsDuplicate = (first: CallId, how: string): Outcome =>
  refused(
    "DUPLICATE_CALL",
    `this is the same effect as call ${first}, ${how}. It is not done twice.`
  )

const refusedAsReused = (first: CallId): Outcome =>
  refused(
    "KEY_REUSED",
    `its key was used by call ${first}, with other arguments. Nothing was done.`
  )

/** What an earlier call of the same side effect came to, and the call that did it. */
interface Earlier {
  readonly outcome: Outcome
  readonly call: CallId
  readonly repeats?: Repeats | undefined
}

/** What a call came to that waited for the same side effect of `first`; undefined = `first` has no end and may run again. */
const sharedOutcome = (first: CallId, end: RunInput | undefined): Earlier | undefined => {
  switch (end?._tag) {
    case undefined:
      return undefined
    case "Finished":
      return { outcome: end.settled.outcome, repeats: end.settled.repeats, call: first }
    default:
      return { call: first, outcome: refusedAsDuplicate(first, "which waits for a person") }
  }
}

/** What an earlier call of the same side effect came to, where it has a result or a person has to decide it first. */
const earlierOutcome = (others: Iterable<CallState>): Earlier | undefined => {
  for (const { id, phase } of others) {
    if (phase._tag === "AwaitingApproval" || phase._tag === "Unknown") {
      return { call: id, outcome: refusedAsDuplicate(id, "which waits for a person") }
    }
    if (phase._tag !== "Settled") continue
    // A long result was cut to the model's copy, and the whole one is not in the state.
    return phase.copy === true
      ? { call: id, outcome: refusedAsDuplicate(id, "whose result was shown to you") }
      : { call: id, outcome: phase.outcome, repeats: phase.repeats }
  }
  return undefined
}

/** Beyond a run a key stands for one set of arguments; within a run for those that it names, as Stargraph has it. */
const isReused = ({ spec }: AgentTool, own: CallState, other: CallState | undefined): boolean =>
  holdsKeys(spec) && other !== undefined && canonical(other.arguments) !== canonical(own.arguments)

/** The end of a call by an earlier one of its run. */
const endBy = (host: CallHost, tool: AgentTool, { call, outcome, repeats }: Earlier): RunInput => {
  const own = host.call()
  return isReused(tool, own, host.state.calls.get(call)) && outcome._tag === "Value"
    ? duplicateFinished(host, tool, own.id, refusedAsReused(call), { run: host.run, call })
    : duplicateFinished(host, tool, own.id, outcome, repeats ?? { run: host.run, call })
}

export const make = ({ agentOf, body, held }: Services) => {
  const indexOf = memoised((state: RunState) => new IdempotencyIndex(agentOf, state))

  const runBody = (host: CallHost, tool: AgentTool, identity: string, begin: () => StartedWork) => {
    const run = () => body.run(begin())
    return held === undefined || !holdsKeys(tool.spec) ? run() : held(host, tool, identity, run)
  }

  /** Runs the first call, and gives its end to the calls that wait for it. */
  const runFirst = (
    host: CallHost,
    tool: AgentTool,
    identity: string,
    begin: () => StartedWork
  ): StartedWork => {
    const { begunSideEffects } = host
    const done = Deferred.makeUnsafe<RunInput | undefined>()
    begunSideEffects.set(identity, { call: host.call().id, done })
    return {
      effect: Effect.onExit(runBody(host, tool, identity, begin), (exit) =>
        Effect.sync(() => {
          const end = Exit.isSuccess(exit) ? exit.value : undefined
          // Without an end there is nothing to share, and the next call runs the body.
          if (end === undefined) begunSideEffects.delete(identity)
          Deferred.doneUnsafe(done, Exit.succeed(end))
        })
      )
    }
  }

  /** Starts a call whose side effect happens once in its run; `begin` starts its body where it is the first. */
  return (
    host: CallHost,
    tool: AgentTool,
    identity: string,
    begin: () => StartedWork
  ): StartedWork => {
    const own = host.call()
    const { begunSideEffects } = host
    const index = indexOf(host.state)
    index.file(tool, own, identity)
    const begun = begunSideEffects.get(identity)
    if (begun !== undefined && begun.call !== own.id) {
      if (host.state.calls.get(begun.call)?.phase._tag !== "Settled") {
        return {
          effect: Effect.map(Deferred.await(begun.done), (end) => {
            const earlier = sharedOutcome(begun.call, end)
            return earlier === undefined ? undefined : endBy(host, tool, earlier)
          })
        }
      }
      begunSideEffects.delete(identity)
    }
    // A call that was dispatched before is sent again under its key, whatever others came to.
    const known =
      own.phase._tag === "Dispatched"
        ? undefined
        : earlierOutcome(index.others(tool, own, identity))
    return known === undefined
      ? runFirst(host, tool, identity, begin)
      : { effect: Exit.succeed(endBy(host, tool, known)) }
  }
}
