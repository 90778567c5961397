/**
 * A tool whose body runs in another process. Here it is a governed tool like any other: this runtime approves and journals
 * its calls, and sends each through a queue, under the call's own key, to a worker that has the body.
 *
 * ```ts
 * const refund = { namespace: "shop", name: "refund", side_effects: "external", input: Refund } as const
 * tools: [remote(refund)]          // in the runtime
 * tools: [tool(refund, body)]      // in the worker
 * ```
 */
import type { Tracer } from "effect"
import { Clock, Effect, Exit, Option, Result } from "effect"
import { readJson } from "../../../src/value/BoundedJson.ts"
import type { Spend } from "../../../src/cost/Spending.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import {
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../../src/error/ToolError.ts"
import type { Governance } from "../../../src/tool/Governance.ts"
import { declaredSpec } from "../../../src/tool/DeclaredSpec.ts"
import type {
  CallContext,
  GovernedContext,
  GovernedTool,
  MisdeclaredTool,
  Reconciled
} from "../../../src/tool/GovernedTool.ts"
import { bindTool } from "../../../src/tool/GovernedTool.ts"
import { traceparentOf } from "../../../src/run/Nesting.ts"
import type { CallMessage, ResultMessage } from "../../../src/queue/CallMessage.ts"
import { misdeclared } from "../../../src/tool/MisdeclaredTool.ts"
import type { AnySchema } from "../../../src/tool/ToolCodec.ts"
import type { Reply } from "../../../src/queue/ToolMessage.ts"
import {
  call_length_max,
  readReply,
  remote_provider,
  spentIn
} from "../../../src/queue/ToolMessage.ts"
import type { ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { isDispatched, isRepeatable, toolKeyOf } from "../../../src/tool/ToolSpec.ts"
import type { ToolOffer } from "../../../src/queue/ToolOffer.ts"
import { differingFields } from "../../../src/queue/ToolOffer.ts"
import type { ToolMessageConflict, ToolQueueFull } from "../../../services/ToolQueue.ts"
import { ToolQueue } from "../../../services/ToolQueue.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { outcome_unknown_reason } from "../tool/FailedOutcome.ts"
import { expired_reason } from "./QueueReply.ts"

const warningOf = (
  spec: ToolSpec,
  offers: ReadonlyArray<ToolOffer>,
  wait_ms: number
): string | undefined => {
  const available = offers.filter(({ available }) => available)
  if (available.length === 0) {
    return `no worker offers the tool "${toolKeyOf(spec)}" now; each call of it waits up to ${wait_ms} ms for one`
  }
  const differences = available.flatMap(({ provider, spec: offered }) => {
    const fields = differingFields(spec, offered)
    return fields.length === 0 ? [] : [`"${provider}" in ${fields.join(", ")}`]
  })
  return differences.length === 0
    ? undefined
    : `the tool "${toolKeyOf(spec)}" is declared here unlike at the worker ${[...new Set(differences)].join(" and ")}. Declare it alike at both ends`
}

/** Warns where no worker offers the tool now, or one offers it with other fields than are declared here. Never fails. */
const warnOfMissingWorkers = (
  queue: ToolQueue["Service"],
  spec: ToolSpec,
  wait_ms: number
): Effect.Effect<void> =>
  queue.list([toolKeyOf(spec)]).pipe(
    Effect.map((offers) => warningOf(spec, offers, wait_ms)),
    Effect.catch(({ message }) =>
      Effect.succeed(`what workers offer of the tool "${toolKeyOf(spec)}" is not known: ${message}`)
    ),
    Effect.flatMap((warning) => (warning === undefined ? Effect.void : Effect.logWarning(warning)))
  )

export interface RemoteOptions extends Governance {
  readonly name: string
  readonly description?: string
  readonly documentation?: string
  readonly input?: AnySchema
  readonly output?: AnySchema
}

/** The end of a call's timeout that is kept for withdrawing it, or for finding that its outcome is unknown. */
const margin_ms = 1_000

const sendFailure = (error: ToolMessageConflict | ToolQueueFull | StoreError): ToolError => {
  switch (error._tag) {
    case "ToolQueueFull":
      return new ToolTransientError({
        kind: "external",
        reason: "QUEUE_FULL",
        message: `${error.waiting_max} calls of this tool wait already; nothing was done.`
      })
    case "ToolMessageConflict":
      return new ToolTerminalError({
        kind: "internal",
        reason: "QUEUE_CONFLICT",
        message: "another call was sent under the id of this one; this one was not sent."
      })
    case "StoreError":
      return queueUnavailable()
  }
}

/** The outcome is lost: the call may have been queued, and may run. */
const queueUnavailable = () =>
  new ToolTransientError({
    kind: "network",
    reason: "QUEUE_UNAVAILABLE",
    message: "the queue did not answer."
  })

const valueOf = (reply: Reply): Effect.Effect<unknown, ToolError> => {
  switch (reply._tag) {
    case "Value":
      return Effect.succeed(reply.value)
    case "Failed":
      return Effect.fail(reply.error)
    case "Unknown":
      return Effect.fail(
        new ToolTransientError({
          kind: "timeout",
          reason: outcome_unknown_reason,
          message: "its worker ended, and nobody knows what it did."
        })
      )
  }
}

/** The queue runs each id once: the call's key, unless that is one of several calls, of which a later one may do more. */
const idOf = ({ idempotency }: ToolSpec, { call, key, run }: CallContext): string =>
  key === undefined || idempotency !== null ? `${run}/${call}` : key

const messageOf = (
  spec: ToolSpec,
  id: string,
  args: unknown,
  call: CallContext,
  span: Tracer.AnySpan | undefined
): CallMessage => ({
  id,
  name: toolKeyOf(spec),
  arguments: args as NonNullable<CallMessage["arguments"]>,
  loop_id: call.run,
  trace_id: call.trace_id,
  ...(call.approved_by === undefined ? undefined : { approved_by: call.approved_by }),
  metadata: {
    call: call.call,
    principal: call.principal,
    // A worker whose declaration says otherwise refuses the call.
    repeatable: isRepeatable(spec),
    // For a body that starts runs in another system.
    ...(call.nested === undefined
      ? undefined
      : { nested: { ...call.nested, nesting: { ...call.nested.nesting } } }),
    // The span of the worker is a child of this one.
    ...(span === undefined ? undefined : { traceparent: traceparentOf(span) }),
    // The gate here has let the call run. Where no approval was needed here, the worker's gate requests none either.
    ...(call.approved_by === undefined ? { permission: "allow" } : undefined)
  }
})

const reportSpent = (result: ResultMessage, spent: Spend): void => {
  for (const use of spentIn(result)) spent(use)
}

/** The call's result, with what its body spent. One that leaves the outcome open is not read twice: the queue runs it again. */
const resultOf = (result: ResultMessage, spent: Spend): Effect.Effect<unknown, ToolError> => {
  reportSpent(result, spent)
  return valueOf(readReply(result))
}

/** Passes on the preliminary results of the worker's body while `wait` runs; some may be lost. */
const withPreliminaryResults = <A, E>(
  queue: ToolQueue["Service"],
  id: string,
  show: (result: unknown) => void,
  wait: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const pass = (json: string) => {
    const value = readJson(json)
    if (Result.isSuccess(value)) show(value.success)
  }
  return Effect.scoped(Effect.andThen(Effect.ignore(queue.onShown(id, pass)), wait))
}

/** Fails where no worker has claimed the call: then it is taken back. Otherwise it never ends, because a worker runs the call. */
const takenBack = (
  queue: ToolQueue["Service"],
  id: string
): Effect.Effect<never, ToolTransientError> =>
  Effect.flatMap(
    Effect.orElseSucceed(queue.withdraw(id), () => false),
    (isTakenBack) =>
      isTakenBack
        ? Effect.fail(
            new ToolTransientError({
              kind: "external",
              reason: "TAKEN_BACK",
              message: "its run was stopped before a worker took it; nothing was done."
            })
          )
        : Effect.never
  )

/** Sends a call and waits for its result, for `wait_ms` at most. A call that no worker has is taken back with its run. */
const sendAndWait = Effect.fnUntraced(function* (
  queue: ToolQueue["Service"],
  message: CallMessage,
  { call, stopped = Effect.never }: GovernedContext,
  wait_ms: number
) {
  const { id, name } = message
  if (JSON.stringify(message).length > call_length_max) {
    return yield* new ToolUserError({
      kind: "invalid_args",
      reason: "ARGUMENTS_TOO_LARGE",
      message: `the arguments are longer than ${call_length_max} characters.`
    })
  }
  const now = yield* Clock.currentTimeMillis
  const recorded = yield* Effect.mapError(
    queue.send({
      id,
      tool: name,
      tenant: call.tenant,
      expires_at: now + wait_ms,
      payload: { ...message }
    }),
    sendFailure
  )
  if (recorded !== undefined) return yield* resultOf(recorded, call.spent)
  const result = yield* queue.awaited(id).pipe(
    Effect.mapError(queueUnavailable),
    Effect.timeoutOption(wait_ms),
    Effect.raceFirst(Effect.andThen(stopped, takenBack(queue, id))),
    // Without a waiter, a call that no worker has claimed must not begin.
    Effect.onInterrupt(() => Effect.ignore(queue.withdraw(id)))
  )
  if (Option.isSome(result)) return yield* resultOf(result.value, call.spent)
  if (yield* Effect.mapError(queue.withdraw(id), queueUnavailable)) {
    return yield* new ToolTransientError({
      kind: "external",
      reason: "NO_WORKER",
      message: `no worker took it within ${wait_ms} ms; it was taken back, and nothing was done.`
    })
  }
  return yield* new ToolTransientError({
    kind: "timeout",
    reason: "TIMEOUT",
    message: `its worker did not answer within ${wait_ms} ms.`
  })
})

/** Every queue keeps results for at least this long: a younger call that it does not know was never sent. */
const kept_ms = 3_600_000

const reconciledOf = (result: ResultMessage, spent: Spend): Reconciled => {
  reportSpent(result, spent)
  const reply = readReply(result)
  switch (reply._tag) {
    case "Value":
      return { _tag: "Happened", result: reply.value }
    case "Unknown":
      return reply
    case "Failed": {
      const { error } = reply
      if (error.reason === expired_reason) return { _tag: "NotHappened" }
      const isLost = error.kind === "timeout" || error.kind === "network"
      return isLost && error._tag === "ToolTransientError"
        ? { _tag: "Unknown" }
        : { _tag: "Failed", error }
    }
  }
}

/** What became of a call, by what the queue has under its key. Waits up to `wait_ms` for a worker that still runs it. */
const reconcile = Effect.fnUntraced(function* (
  queue: ToolQueue["Service"],
  spec: ToolSpec,
  { call }: GovernedContext,
  wait_ms: number
) {
  const id = idOf(spec, call)
  const known = yield* queue.status(id)
  if (known === undefined) {
    const age = (yield* Clock.currentTimeMillis) - (call.over_at ?? 0)
    return (age < kept_ms ? { _tag: "NotHappened" } : { _tag: "Unknown" }) satisfies Reconciled
  }
  if (known.result !== undefined) return reconciledOf(known.result, call.spent)
  if (known.status !== "waiting") return { _tag: "Unknown" } satisfies Reconciled
  if (yield* queue.withdraw(id)) return { _tag: "NotHappened" } satisfies Reconciled
  const result = yield* Effect.timeoutOption(queue.awaited(id), wait_ms)
  return Option.isSome(result)
    ? reconciledOf(result.value, call.spent)
    : ({ _tag: "Unknown" } satisfies Reconciled)
}, Effect.mapError(queueUnavailable))

/**
 * A tool of this runtime whose calls a worker runs. `timeout_ms` covers the wait for a worker, the worker's attempts, and
 * the way back. The worker applies `retry` and the body's `reconcile`; what became of a call that this runtime lost is read
 * from the queue. Preliminary results of the body are shown here too: the last of every 100 ms, up to 7,000 bytes of JSON;
 * some may be lost.
 */
export const remote = (
  options: RemoteOptions
): Effect.Effect<readonly [GovernedTool], MisdeclaredTool, ToolQueue> =>
  Effect.gen(function* () {
    const { description, documentation, input: takes, name, output: gives, ...governing } = options
    const { retry: _, ...governance } = governing
    const { input, output, spec } = yield* declaredSpec(
      {
        name,
        description,
        documentation,
        input: takes,
        output: gives,
        // The queue keeps the result of a call, or that its outcome is unknown.
        reconcile: isDispatched(governance) && governance.transactional !== true
      },
      governance
    )
    if (spec.transactional) {
      return yield* misdeclared(
        name,
        "transactional",
        "the body runs in the transaction of its run, which does not reach another process",
        "Give the runtime the tool with its body, or drop transactional"
      )
    }
    const queue = yield* ToolQueue
    const wait_ms = spec.timeout_ms - Math.min(margin_ms, Math.ceil(spec.timeout_ms / 4))
    yield* warnOfMissingWorkers(queue, spec, wait_ms)
    const governed = yield* bindTool<never>(spec, {
      // Both ends validate. What is sent is JSON, and only the worker decodes it.
      input: { ...input, decode: (given) => Exit.map(input.decode(given), () => given) },
      output: { ...output, encode: (json) => Exit.map(output.check(json), () => json) },
      services: yield* Effect.context<never>(),
      handler: (args, context) =>
        Effect.withFiber((fiber) => {
          const { call } = context
          const id = idOf(spec, call)
          const message = messageOf(spec, id, args, call, fiber.cache.span)
          const result = sendAndWait(queue, message, context, wait_ms)
          return withPreliminaryResults(queue, id, call.show, result)
        }),
      ...(spec.reconcile
        ? { reconcile: (_, context) => reconcile(queue, spec, context, wait_ms) }
        : undefined)
    })
    return [{ ...governed, provider: remote_provider }] as const
  })
