/**
 * Runs the body of a call that the gate let through: a read within its deadline, a write behind its journaled dispatch, a
 * transactional one inside the journal's transaction. Whatever a body does becomes one of the outcomes.
 */
import { Cause, Effect, Exit, Tracer } from "effect"
import type { Clock, Context } from "effect"
import type { Digest } from "effect/crypto"
import { ToolTerminalError } from "../../src/error/ToolError.ts"
import type { CallId } from "../../src/Ids.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import type { CallState } from "../../src/run/RunState.ts"
import type { CallContext, GovernedContext } from "../../src/tool/GovernedTool.ts"
import { isDispatched, onLossOf } from "../../src/tool/ToolSpec.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import type { Place } from "./BodyPlace.ts"
import { makePlaces } from "./BodyPlace.ts"
import type { CallHost, Fork, Governed, Started, Timed } from "./CallHost.ts"
import { callKey } from "./CallIdentity.ts"
import type { Deadlines } from "./Deadlines.ts"
import { classify, doubted, failed, isLoss, timedOut } from "./Failures.ts"

export interface Services {
  readonly digest: Digest.Digest["Service"]
  readonly clock: Clock.Clock
  readonly deadlines: Deadlines
}

export interface ToolBody {
  /** A call ready to run, its arguments decoded and its permission given. */
  readonly start: (host: CallHost, call: CallId, tool: Governed, args: unknown) => Started
  /** The same inside a call's own fiber. */
  readonly run: (started: Started) => Effect.Effect<RunInput | undefined, never, AgentMemory>
}

export const finished = (call: CallId, outcome: Outcome): RunInput => ({
  _tag: "Finished",
  settled: { call, outcome }
})

/** How a call of this tool ended; a value of one that stops the loop is its frame's answer. */
const at = (
  tool: Governed,
  call: CallId,
  outcome: Outcome,
  started_at: number,
  ended_at: number
): RunInput => ({
  _tag: "Finished",
  settled:
    tool.spec.stop_loop === true && outcome._tag === "Value"
      ? { call, outcome, started_at, ended_at, stop: true }
      : { call, outcome, started_at, ended_at }
})

interface Settling {
  readonly clock: Clock.Clock
  readonly value: (tool: Governed, result: unknown) => Outcome
}

/** What the end of a read means. One object a call: it is the body's continuation and its deadline. */
class Reading implements Timed {
  readonly #settling: Settling
  readonly #call: CallId
  readonly #tool: Governed
  readonly #started_at: number

  constructor(settling: Settling, call: CallId, tool: Governed) {
    this.#settling = settling
    this.#call = call
    this.#tool = tool
    this.#started_at = settling.clock.currentTimeMillisUnsafe()
  }

  get timeout_ms(): number {
    return this.#tool.spec.timeout_ms
  }

  late(): RunInput {
    return this.#ended(failed(timedOut(this.timeout_ms)))
  }

  onSuccess(result: unknown): RunInput {
    return this.#ended(this.#settling.value(this.#tool, result))
  }

  onFailure(cause: Cause.Cause<unknown>): RunInput {
    return this.#ended(failed(classify(cause)))
  }

  #ended(outcome: Outcome): RunInput {
    const ended_at = this.#settling.clock.currentTimeMillisUnsafe()
    return at(this.#tool, this.#call, outcome, this.#started_at, ended_at)
  }
}

/** How often an idempotent call is sent with its key before its outcome counts as unknown. */
const sends_max = 3

const silent = () => Effect.void

export const make = (services: Services): ToolBody => {
  const { clock, deadlines, digest } = services
  const placeOf = makePlaces()

  /** The encoded result as JSON text, once; refused when the schema or the cap refuses it. */
  const value = (tool: Governed, result: unknown): Outcome => {
    const encoded = tool.encode(result)
    if (Exit.isFailure(encoded)) {
      return failed(
        new ToolTerminalError({
          kind: "internal",
          reason: "OUTPUT_SCHEMA",
          message: `${tool.spec.name} returned a value that its schema refuses.`
        })
      )
    }
    const json = JSON.stringify(encoded.value) ?? "null"
    const most = tool.spec.result_bytes_max
    if (json.length * 3 > most && new TextEncoder().encode(json).length > most) {
      return failed(
        new ToolTerminalError({
          kind: "internal",
          reason: "RESULT_TOO_LARGE",
          message: `${tool.spec.name} returned more than ${most} bytes; ask for less.`
        })
      )
    }
    return { _tag: "Value", json }
  }

  const settling: Settling = { clock, value }

  const outcomeOf = (tool: Governed, exit: Exit.Exit<unknown, unknown>): Outcome =>
    Exit.isSuccess(exit) ? value(tool, exit.value) : failed(classify(exit.cause))

  const contextOf = (host: CallHost, call: CallState, key: string | undefined): GovernedContext => {
    const context: CallContext = {
      run: host.run,
      call: call.id,
      tenant: host.accepted.tenant,
      trace_id: host.accepted.trace_id,
      principal: host.accepted.by,
      approved_by: call.approved_by,
      key
    }
    return { toolCallId: call.id, preliminary: silent, call: context }
  }

  /** The body in its place; a throw while it is made is a defect like any other. */
  const bodyIn = (
    place: Place,
    host: CallHost,
    tool: Governed,
    args: unknown,
    key: string | undefined
  ): Effect.Effect<unknown, unknown, AgentMemory> => {
    const body = Effect.suspend(() => tool.handler(args, contextOf(host, host.call(), key)))
    return place.traced ? traced(host, tool, key, body) : body
  }

  /** The same within a fiber of the call. */
  const bodyOf = (
    host: CallHost,
    tool: Governed,
    args: unknown,
    key: string | undefined
  ): Effect.Effect<unknown, unknown, AgentMemory> => {
    const place = placeOf(tool, host.context)
    return Effect.provideContext(bodyIn(place, host, tool, args, key), place.context)
  }

  /**
   * A span only when a tracer listens, of the run's own trace: its message, its calls and whatever happens after a park
   * of days are one trace.
   */
  const traced = (
    host: CallHost,
    tool: Governed,
    key: string | undefined,
    body: Effect.Effect<unknown, unknown, AgentMemory>
  ): Effect.Effect<unknown, unknown, AgentMemory> =>
    Effect.withSpan(body, `execute_tool ${tool.spec.name}`, {
      kind: "internal",
      parent: Tracer.externalSpan({
        traceId: host.accepted.trace_id,
        spanId: host.run.replaceAll("-", "").slice(16)
      }),
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": host.agent.spec.name,
        "gen_ai.tool.name": tool.spec.name,
        "gen_ai.tool.call.id": host.call().id,
        "troupe.run_id": host.run,
        "troupe.trace_id": host.accepted.trace_id,
        ...(key === undefined ? undefined : { "troupe.idempotency_key": key })
      }
    })

  /** A read: its body may be redone after a crash, so nothing is written before it. */
  const read = (host: CallHost, call: CallId, tool: Governed, args: unknown): Started => {
    const place = placeOf(tool, host.context)
    const reading = new Reading(settling, call, tool)
    return {
      effect: Effect.matchCause(bodyIn(place, host, tool, args, undefined), reading),
      fork: place.fork,
      timed: reading
    }
  }

  /** The exit of a body in a fiber of its own, or undefined when its time is over. */
  const within = <A, E>(
    body: Effect.Effect<A, E, AgentMemory>,
    timeout_ms: number,
    fork?: Fork
  ): Effect.Effect<Exit.Exit<A, E> | undefined, never, AgentMemory> =>
    Effect.contextWith((context: Context.Context<AgentMemory>) =>
      Effect.callback((resume) => {
        const fiber = (fork ?? Effect.runForkWith(context))(body)
        let late = false
        const cancel = deadlines.after(timeout_ms, () => {
          // A body may end at once when it is interrupted: that end is the deadline's doing, and not its answer.
          late = true
          fiber.interruptUnsafe()
          resume(Effect.succeed(undefined))
        })
        fiber.addObserver((exit) => {
          cancel()
          if (!late) resume(Effect.succeed(exit))
        })
        return Effect.sync(() => {
          cancel()
          fiber.interruptUnsafe()
        })
      })
    )

  /** A write or an external call: journaled first, and after that never guessed. */
  const write = Effect.fnUntraced(function* (
    host: CallHost,
    call: CallId,
    tool: Governed,
    args: unknown
  ) {
    const key = yield* callKey(digest, host.run, call)
    const on_loss = onLossOf(tool.spec)
    if (!(yield* host.dispatch({ _tag: "Dispatches", call, key, on_loss }))) return undefined
    const started_at = clock.currentTimeMillisUnsafe()
    const lost: RunInput = { _tag: "Lost", call }
    for (let sends = 1; ; sends++) {
      const exit = yield* within(bodyOf(host, tool, args, key), tool.spec.timeout_ms)
      const loss = exit === undefined || (Exit.isFailure(exit) && isLoss(exit.cause))
      if (!loss) {
        const outcome = doubted(outcomeOf(tool, exit))
        return at(tool, call, outcome, started_at, clock.currentTimeMillisUnsafe())
      }
      if (on_loss === "unknown" || sends === sends_max) return lost
    }
  })

  const transact = (host: CallHost, call: CallId, tool: Governed, args: unknown) =>
    Effect.flatMap(callKey(digest, host.run, call), (key) => {
      const started_at = clock.currentTimeMillisUnsafe()
      // A result that the schema or the cap refuses must undo the body's writes, so it fails inside the transaction.
      const body = Effect.flatMap(bodyOf(host, tool, args, key), (result) => {
        const outcome = value(tool, result)
        return outcome._tag === "Value" ? Effect.succeed(outcome) : Effect.fail(outcome)
      })
      // Interruption is waited for: nothing of the body may touch the transaction after it is over.
      const bounded = Effect.timeoutOrElse(body, {
        duration: tool.spec.timeout_ms,
        orElse: () => Effect.fail(timedOut(tool.spec.timeout_ms))
      })
      const record = (exit: Exit.Exit<unknown, unknown>): RunInput =>
        at(tool, call, recorded(exit), started_at, clock.currentTimeMillisUnsafe())
      return Effect.as(host.transact(key, bounded, record), undefined)
    })

  const recorded = (exit: Exit.Exit<unknown, unknown>): Outcome => {
    if (Exit.isSuccess(exit)) return exit.value as Outcome
    const error = Cause.findErrorOption(exit.cause)
    return error._tag === "Some" && isOutcome(error.value)
      ? error.value
      : failed(classify(exit.cause))
  }

  const isOutcome = (value: unknown): value is Outcome =>
    typeof value === "object" && value !== null && "_tag" in value && value._tag === "Failed"

  const start = (host: CallHost, call: CallId, tool: Governed, args: unknown): Started =>
    tool.spec.transactional
      ? { effect: transact(host, call, tool, args) }
      : isDispatched(tool.spec)
        ? { effect: write(host, call, tool, args) }
        : read(host, call, tool, args)

  /** Runs what the gate gave, inside a call's own fiber. */
  const run = ({
    effect,
    fork,
    timed
  }: Started): Effect.Effect<RunInput | undefined, never, AgentMemory> =>
    timed === undefined
      ? effect
      : Effect.flatMap(
          within(effect, timed.timeout_ms, fork),
          (exit) => exit ?? Effect.sync(() => timed.late())
        )

  return { start, run }
}
