/**
 * The tools of a replay. They have their names, schemas and permissions, so that the same gate judges each call. In place of the
 * body, a call does what `routeOf` says.
 */
import { Effect, Exit, Result } from "effect"
import type { Digest } from "effect/crypto"
import { bounds_carried, readJson } from "../../../src/value/BoundedJson.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import { Cassette, erasedReplay, refusedReplay, routeOf } from "../../../src/replay/Cassette.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import type { ToolFailure } from "../../../src/error/ToolError.ts"
import {
  errorOfFailure,
  failureOf,
  ToolPolicyError,
  ToolTerminalError
} from "../../../src/error/ToolError.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import type { ReplayError, Situation } from "../../../src/replay/Cassette.ts"
import type { ContextReader } from "../../../src/run/RunContext.ts"
import type { CallSettled, Outcome } from "../../../src/run/RunEvent.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { digestOf } from "../tool/CallDigests.ts"
import type { AgentTool } from "../tool/CallHost.ts"
import { handlerEffect } from "../tool/HandlerEffect.ts"

/** What became of one call of a replay. */
export interface ReplayedCall {
  readonly call: CallId
  readonly tool: string
  /** `replayed`: the result came from the recording. `run`: the body ran. Otherwise the reason why neither was possible. */
  readonly how: "replayed" | "run" | ReplayError["reason"]
}

/** Its policy refuses a tool that may not be replayed; a result that is missing or erased cannot be obtained again. */
const failureOfRefusal = ({ message, reason: why }: ReplayError): ToolFailure => {
  const reason = `REPLAY_${why.toUpperCase()}`
  return failureOf(
    why === "fail_loud"
      ? new ToolPolicyError({ kind: "permission", reason, message })
      : new ToolTerminalError({ kind: "internal", reason, message })
  )
}

/** A recorded result. Limits count what the call spent, but no ledger is charged again. */
type RecordedResult = Pick<CallSettled, "files" | "outcome" | "spent">

/** What became of each call that passed the gate, and what takes the place of the results of bodies. */
export class ReplayedCalls {
  readonly #calls: Array<ReplayedCall> = []
  readonly #refusals = new Map<CallId, ReplayError>()
  readonly #results = new Map<CallId, Partial<RecordedResult>>()

  /** The calls, in the order in which they passed the gate. */
  get calls(): ReadonlyArray<ReplayedCall> {
    return this.#calls
  }

  /** Why a call could not be replayed; undefined if it could. */
  refusalOf(call: CallId): ReplayError | undefined {
    return this.#refusals.get(call)
  }

  /** `recorded`: only what the recorded call spent counts. */
  addRun(call: CallId, tool: string, recorded: RecordedResult | undefined): void {
    this.#calls.push({ call, tool, how: "run" })
    this.#results.set(call, spentIn(recorded))
  }

  addReplayed(call: CallId, tool: string, result: RecordedResult): void {
    this.#calls.push({ call, tool, how: "replayed" })
    this.#results.set(call, result)
  }

  addRefused(call: CallId, error: ReplayError, recorded: RecordedResult | undefined): void {
    this.#calls.push({ call, tool: error.tool, how: error.reason })
    const outcome: Outcome = { _tag: "Failed", error: failureOfRefusal(error) }
    this.#results.set(call, { ...spentIn(recorded), outcome })
    this.#refusals.set(call, error)
  }

  /** The call's result with the recorded outcome, spending and files in place of those of its body. */
  settled({ spent: own, ...made }: CallSettled): CallSettled {
    const {
      files,
      outcome: recorded = made.outcome,
      spent = own
    } = this.#results.get(made.call) ?? {}
    // The gate may still have refused the recorded result, because of its output schema or its size.
    const outcome = made.outcome._tag === "Value" ? recorded : made.outcome
    return {
      ...made,
      outcome,
      ...(spent === undefined ? undefined : { spent }),
      ...(files === undefined || outcome._tag !== "Value" ? undefined : { files })
    }
  }
}

const spentIn = (recorded: RecordedResult | undefined): Pick<RecordedResult, "spent"> =>
  recorded?.spent === undefined ? {} : { spent: recorded.spent }

/** Takes the place of a body's result on its way through the gate. */
class BodyResult {
  readonly encode: () => Exit.Exit<unknown, unknown>

  constructor(encode: () => Exit.Exit<unknown, unknown>) {
    this.encode = encode
  }
}

/** The result of a call whose outcome is not a value; `ReplayedCalls` has the outcome. */
const noValue = new BodyResult(() => Exit.succeed(null))

/** The recorded results by tool name and arguments, in the order of the recording. */
class RecordedResults {
  readonly #digest: Digest.Digest["Service"]
  /** By name and arguments, the indices of `#results`. */
  readonly #cassette = new Cassette()
  readonly #results: Array<RecordedResult> = []

  constructor(digest: Digest.Digest["Service"]) {
    this.#digest = digest
  }

  add(name: string, args: unknown, result: RecordedResult): Effect.Effect<void> {
    return Effect.map(digestOf(this.#digest, args), (hash) => {
      this.#cassette.record(name, hash, this.#results.length)
      this.#results.push(result)
    })
  }

  /** The next result for these arguments; after the last one, that one again. Undefined if none was recorded. */
  take(name: string, args: unknown): Effect.Effect<RecordedResult | undefined> {
    return Effect.map(digestOf(this.#digest, args), (hash) => {
      const index = this.#cassette.take(name, hash)
      return typeof index === "number" ? this.#results[index] : undefined
    })
  }
}

const resultsOf = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  { calls }: Recording
) {
  const results = new RecordedResults(digest)
  for (const { arguments: args, files, name, outcome, spent } of calls) {
    if (outcome === undefined) continue
    yield* results.add(name, args, {
      outcome,
      ...(spent === undefined ? undefined : { spent }),
      ...(files === undefined ? undefined : { files })
    })
  }
  return results
})

const refuse = (
  calls: ReplayedCalls,
  call: CallId,
  error: ReplayError,
  recorded: RecordedResult | undefined
): BodyResult => {
  calls.addRefused(call, error, recorded)
  return noValue
}

const replay = (
  calls: ReplayedCalls,
  tool: AgentTool,
  call: CallId,
  recorded: RecordedResult
): BodyResult => {
  const { outcome } = recorded
  calls.addReplayed(call, tool.key, recorded)
  if (outcome._tag !== "Value") return noValue
  // A recording may be a file that somebody edited. A text in it that is not JSON is itself the result, which the tool's schema
  // accepts or refuses.
  const json: unknown = Result.getOrElse(readJson(outcome.json, bounds_carried), () => outcome.json)
  return new BodyResult(() => Exit.map(tool.check(json), () => json))
}

/** The failed calls that were not dispatched; their precondition may have refused them. `asked`: a person was asked before. */
type Refusals = ReadonlyMap<CallId, { readonly asked: boolean; readonly error: ToolFailure }>

const refusalsOf = ({ calls, entries, questions }: Recording): Refusals => {
  const asked = new Set(questions.map(({ request }) => request.call))
  const dispatched = new Set(
    entries.flatMap(({ event }) => (event._tag === "CallDispatched" ? [event.call] : []))
  )
  return new Map(
    calls.flatMap(({ id, outcome }) =>
      outcome?._tag === "Failed" && !dispatched.has(id)
        ? [[id, { asked: asked.has(id), error: outcome.error }] as const]
        : []
    )
  )
}

/** A precondition that asks no store: it refuses what was refused, before the question or after its approval as recorded. */
const recordedPrecondition = (
  tool: AgentTool,
  refusals: Refusals,
  calls: ReplayedCalls
): NonNullable<AgentTool["precondition"]> =>
  Effect.fnUntraced(function* (_args, context) {
    const { approved_by, call } = context.call
    const refusal = refusals.get(call)
    if (refusal === undefined || (refusal.asked && approved_by === undefined)) return undefined
    calls.addReplayed(call, tool.key, { outcome: { _tag: "Failed", error: refusal.error } })
    return yield* errorOfFailure(refusal.error)
  })

const secretless: ContextReader = { decode: () => Exit.succeed(undefined), secrets: [] }

const replayTool = (
  tool: AgentTool,
  results: RecordedResults,
  refusals: Refusals,
  calls: ReplayedCalls
): AgentTool => {
  const { rate_limit: _none, ...spec } = tool.spec
  // A replay asks nobody outside: not whether a call may run, what became of it or what to fill in, and no client for its result.
  const { client: _away, fillIn: _unfilled, precondition, reconcile: _nobody, ...parts } = tool
  /** The arguments that the model gave, by the decoded ones. The recording has those that the model gave. */
  const given = new WeakMap<object, unknown>()
  return {
    ...parts,
    ...(precondition === undefined
      ? undefined
      : { precondition: recordedPrecondition(tool, refusals, calls) }),
    // A recording has no secrets, so a tool that needs them runs without them: its results are recorded.
    ...(parts.context === undefined || parts.context.secrets.length === 0
      ? undefined
      : { context: secretless }),
    // A recorded result uses up no rate limit, needs no transaction and is never lost.
    spec: { ...spec, transactional: false, reconcile: false },
    decode: (args) => {
      const exit = tool.decode(args)
      if (Exit.isSuccess(exit) && typeof exit.value === "object" && exit.value !== null) {
        given.set(exit.value, args)
      }
      return exit
    },
    encode: (result) => (result instanceof BodyResult ? result.encode() : tool.encode(result)),
    handler: Effect.fnUntraced(function* (args, context) {
      const { call } = context.call
      const isObject = typeof args === "object" && args !== null
      const found = yield* results.take(spec.name, isObject ? (given.get(args) ?? args) : args)
      const situation: Situation = { ...spec, recorded: found !== undefined }
      const route = routeOf(situation)
      if (route === "run") {
        calls.addRun(call, tool.key, found)
        return yield* handlerEffect(tool.handler, args, context)
      }
      if (route === "fail" || found === undefined) {
        return refuse(calls, call, refusedReplay(tool.key, situation), found)
      }
      const { outcome } = found
      return outcome._tag === "Value" && isErased(outcome.json)
        ? refuse(calls, call, erasedReplay(tool.key), found)
        : replay(calls, tool, call, found)
    })
  }
}

export const make = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  recording: Recording
) {
  const results = yield* resultsOf(digest, recording)
  const refusals = refusalsOf(recording)
  const calls = new ReplayedCalls()
  return {
    calls,
    /** The agent with the tools of the replay. The same agent gives the same result each time. */
    agent: memoised((agent: ResolvedAgent): ResolvedAgent => ({
      ...agent,
      tools: new Map(
        [...agent.tools].map(([name, tool]) => [name, replayTool(tool, results, refusals, calls)])
      )
    }))
  }
})
