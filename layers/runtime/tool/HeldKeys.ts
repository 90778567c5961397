/**
 * Side effects that happen once in a conversation or a tenant, because their tool's `idempotency` says so. A call holds its key
 * from the transaction of its dispatch on. Another call with the key gets the outcome of the holder, which is read from the
 * journal of the holder's run and never guessed:
 *
 * - a result: it is given back, without an approval, because nothing is done;
 * - a failure that came before any effect: the key is free, and the call may hold it;
 * - still at work: the call waits, at most as long as one attempt of its tool, and is then refused (`KEY_IN_FLIGHT`);
 * - unknown, or a failure that may have had its effect: refused (`KEY_OUTCOME_UNKNOWN`), until an operator says that it had none
 *   (`settle`, also after its end), who is named in the journal of the next call;
 * - a result that is not kept any more, because its run was removed or erased: refused (`KEY_RESULT_GONE`).
 *
 * A call that asks for something else under the key is refused as well (`KEY_REUSED`).
 */
import type { Clock } from "effect"
import { Effect } from "effect"
import type { Digest } from "effect/crypto"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolPolicyError, ToolTransientError, ToolUserError } from "../../../src/error/ToolError.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallSettled, RunEvent } from "../../../src/run/RunEvent.ts"
import { businessKey, key_holds_ms_default } from "../../../src/tool/Idempotency.ts"
import type { Idempotency } from "../../../src/tool/Idempotency.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { IdempotencyKeys, KeyClaim, KeyHolder } from "../../../services/IdempotencyKeys.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { askedDigest, sideEffectIdempotencyKey } from "./CallDigests.ts"
import type { AgentTool, CallHost, KeyReservation } from "./CallHost.ts"
import { KeyNotReserved } from "./CallHost.ts"
import { callFinished, callLost, duplicateFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"

export interface Services {
  readonly keys: IdempotencyKeys["Service"]
  readonly reader: Pick<RunReader["Service"], "read">
  readonly digest: Digest.Digest["Service"]
  readonly clock: Clock.Clock
}

/** Runs `begin` once for all calls of one side effect; the end of any other call is that of the first. */
export type RunHeld = (
  host: CallHost,
  tool: AgentTool,
  identity: string,
  begin: () => Effect.Effect<RunInput | undefined, never, AgentMemory>
) => Effect.Effect<RunInput | undefined, never, AgentMemory>

type Unreadable = JournalError | RunQuarantined | StoreError

const page_max = 10_000
/** How often a call tries to hold a key that others hold and free meanwhile. */
const tries_max = 8
/** The first wait for a holder that is at work, and the longest. */
const wait_ms = 25
const wait_ms_max = 1_000

/** What became of the call that holds a key. */
type HolderState =
  | { readonly _tag: "InFlight" }
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Settled"; readonly settled: CallSettled }
  /** Its journal does not have it any more. */
  | { readonly _tag: "Gone" }

const in_flight: HolderState = { _tag: "InFlight" }

const stateAfter = (state: HolderState, event: RunEvent): HolderState => {
  switch (event._tag) {
    case "CallUnknown":
      return { _tag: "Unknown" }
    case "CallReopened":
      return in_flight
    case "CallSettled":
      return { _tag: "Settled", settled: event }
    default:
      return state
  }
}

/** Follows the journal of a holder's run from its dispatch on; each event is read once. */
class HolderWatch {
  readonly holder: KeyHolder
  readonly #reader: Services["reader"]
  #next: number
  #state: HolderState = in_flight

  constructor(holder: KeyHolder, reader: Services["reader"]) {
    this.holder = holder
    this.#reader = reader
    this.#next = holder.seq
  }

  /** The state as the journal has it now. */
  readonly current: Effect.Effect<HolderState, Unreadable> = Effect.suspend(() =>
    Effect.flatMap(this.#reader.read(this.holder.run, this.#next, page_max), (page) => {
      if (page.length === 0 && this.#next === this.holder.seq)
        return Effect.succeed({ _tag: "Gone" } as const)
      for (const { event } of page) {
        if ("call" in event && event.call === this.holder.call) {
          this.#state = stateAfter(this.#state, event)
        }
      }
      this.#next += page.length
      return page.length < page_max ? Effect.succeed(this.#state) : this.current
    })
  )
}

/** Did the holder fail before it had any effect? Then nothing stands in the way of another call. */
const isFree = ({ outcome }: CallSettled): boolean =>
  outcome._tag === "Failed" && outcome.error.kind !== "internal"

const reasons = {
  in_flight: "KEY_IN_FLIGHT",
  unknown: "KEY_OUTCOME_UNKNOWN",
  gone: "KEY_RESULT_GONE",
  reused: "KEY_REUSED",
  unavailable: "KEYS_UNAVAILABLE"
} as const

/** Whether a call was refused for this reason because of its key. */
export const isKeyReason = (reason: string | undefined): boolean =>
  Object.values<string | undefined>(reasons).includes(reason)

const inFlight = (text: string) =>
  new ToolTransientError({
    kind: "external",
    reason: reasons.in_flight,
    message: `another call is doing this ("${text}") and has not ended. Nothing was done; ask again later.`
  })

const outcomeUnknown = (text: string) =>
  new ToolPolicyError({
    kind: "permission",
    reason: reasons.unknown,
    message: `another call did this ("${text}"), and nobody knows whether it took effect. It is not done again.`
  })

const resultGone = (text: string, at: number) =>
  new ToolPolicyError({
    kind: "permission",
    reason: reasons.gone,
    message: `this ("${text}") was done at ${new Date(at).toISOString()}, and its result is not kept any more. It is not done again.`
  })

const reused = (text: string, at: number) =>
  new ToolUserError({
    kind: "invalid_args",
    reason: reasons.reused,
    message: `its key ("${text}") was used at ${new Date(at).toISOString()} for a call with other arguments, or for somebody else. Nothing was done.`
  })

const keysUnavailable = () =>
  new ToolTransientError({
    kind: "network",
    reason: reasons.unavailable,
    message: "the store of idempotency keys did not answer. Nothing was done."
  })

/** A key that a call is about to hold, and what came of its last try. */
interface Reservation extends KeyReservation {
  result: "none" | "reserved" | "held" | "failed"
}

const makeReservation = (
  { clock, keys }: Services,
  claim: Claim,
  holds_ms: number,
  over: KeyHolder | undefined
): Reservation => {
  let expires_at = Infinity
  const reservation: Reservation = {
    freed: over?.freed && { run: over.run, call: over.call, ...over.freed },
    isOver: () => clock.currentTimeMillisUnsafe() >= expires_at,
    result: "none",
    reserve: (seq) => {
      const at = clock.currentTimeMillisUnsafe()
      expires_at = at + holds_ms
      const tried = keys.reserve({ ...claim, seq, at, expires_at }, over)
      const result = Effect.match(tried, {
        onFailure: () => "failed" as const,
        onSuccess: (isReserved) => (isReserved ? "reserved" : "held")
      })
      return Effect.flatMap(result, (found) => {
        reservation.result = found
        return found === "reserved" ? Effect.void : Effect.fail(new KeyNotReserved())
      })
    }
  }
  return reservation
}

/** What a call holds its key with; when it does is not known before its dispatch. */
type Claim = Omit<KeyClaim, "at" | "expires_at" | "seq">

const claimOf = Effect.fnUntraced(function* (
  { digest }: Services,
  host: CallHost,
  { scope }: Idempotency,
  identity: string
): Effect.fn.Return<Claim> {
  return {
    tenant: host.accepted.tenant,
    key: yield* sideEffectIdempotencyKey(digest, host, scope, identity),
    run: host.run,
    call: host.call().id,
    asked: yield* askedDigest(digest, host)
  }
})

/** The end of a call that another one with its key decides; undefined = the key is free. */
const endBy = Effect.fnUntraced(function* (
  { reader }: Services,
  host: CallHost,
  tool: AgentTool,
  text: string,
  asked: string,
  holder: KeyHolder
): Effect.fn.Return<RunInput | undefined, Unreadable> {
  const { at, call, run } = holder
  const own = host.call().id
  const refuse = (error: ToolError) => callFinished(own, failedOutcome(error))
  const watch = new HolderWatch(holder, reader)
  let state = yield* watch.current
  if (state._tag === "Settled" && isFree(state.settled)) return undefined
  if (holder.asked !== asked) return refuse(reused(text, at))
  let left_ms = tool.spec.timeout_ms
  for (let pause_ms = wait_ms; state._tag === "InFlight"; pause_ms *= 2) {
    if (left_ms <= 0) return refuse(inFlight(text))
    const waited_ms = Math.min(pause_ms, wait_ms_max, left_ms)
    yield* Effect.sleep(waited_ms)
    left_ms -= waited_ms
    state = yield* watch.current
  }
  if (state._tag === "Gone") return refuse(resultGone(text, at))
  const refuseUnknown = Effect.as(
    Effect.annotateLogs(
      Effect.logWarning(
        "a call is not done, because nobody knows what became of another: settle it"
      ),
      { run_id: run, call_id: call, tenant: host.accepted.tenant }
    ),
    refuse(outcomeUnknown(text))
  )
  if (state._tag === "Unknown") return yield* refuseUnknown
  const { settled } = state
  if (isFree(settled)) return undefined
  const { outcome } = settled
  if (outcome._tag !== "Value") return yield* refuseUnknown
  if (isErased(outcome.json)) return refuse(resultGone(text, at))
  return duplicateFinished(host, tool, own, outcome, { run, call, at })
})

export const make = (services: Services): RunHeld => {
  const { clock, keys } = services

  const runHeld = Effect.fnUntraced(function* (
    host: CallHost,
    tool: AgentTool,
    idempotency: Idempotency,
    identity: string,
    begin: () => Effect.Effect<RunInput | undefined, never, AgentMemory>
  ) {
    const { arguments: args, id, phase } = host.call()
    const text = businessKey(idempotency, args)
    const { holds_ms = key_holds_ms_default } = idempotency
    // A call that was dispatched holds its key, and is sent again.
    const isAgain = phase._tag === "Dispatched"
    const claim = yield* claimOf(services, host, idempotency, identity)
    for (let tries = 1; tries <= tries_max; tries++) {
      const over = isAgain
        ? undefined
        : yield* keys.find(claim.tenant, claim.key, clock.currentTimeMillisUnsafe())
      const isHeld = over !== undefined && over.freed === undefined
      if (isHeld && !(over.run === host.run && over.call === id)) {
        const end = yield* endBy(services, host, tool, text, claim.asked, over)
        if (end !== undefined) return end
      }
      const reservation = makeReservation(services, claim, holds_ms, over)
      host.reservation = reservation
      const end = yield* begin()
      if (reservation.result === "failed") {
        return callFinished(id, failedOutcome(keysUnavailable()))
      }
      if (reservation.result !== "held") return end
      // Its key has expired, and another call holds it: what this one did before is not known.
      if (isAgain) return callLost(host, id)
    }
    return callFinished(id, failedOutcome(inFlight(text)))
  })

  return (host, tool, identity, begin) => {
    const { idempotency } = tool.spec
    if (idempotency === null) return begin()
    return Effect.catch(runHeld(host, tool, idempotency, identity, begin), () =>
      Effect.succeed(callFinished(host.call().id, failedOutcome(keysUnavailable())))
    )
  }
}
