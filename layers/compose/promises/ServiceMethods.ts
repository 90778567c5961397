/**
 * The methods of a started service, as Effects that need its services. `StartedService` runs them as promises; `Troupe` provides
 * them to programs in Effect. Their arguments and results are those of `NodeService`.
 */
import { Effect, Result, Stream } from "effect"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { PrincipalInput, Principal } from "../../../src/principal/Principal.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { Cursor } from "../../../src/run/FeedItem.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { KillSwitch } from "../../../services/KillSwitch.ts"
import type { Wait } from "./Answer.ts"
import { isObject } from "../options/OptionShapes.ts"
import { operations } from "../../service/ServiceOperations.ts"
import { methodsOf } from "./DerivedMethods.ts"
import { sendMessage } from "./MessageSending.ts"
import type { NodeService, Send, Sent, StreamedRun } from "./NodeService.ts"
import { service_principal } from "./ServicePrincipal.ts"
import type { Services } from "./StartedLayer.ts"
import { typedMessage, typedWait, withValue, withValues } from "./TypedAnswer.ts"
import type { RunPart } from "./RunStream.ts"
import { answerOfRun, answerOfTask, readWait, streamAgain, streamRun } from "./Waiting.ts"
import { openFeed, watchFeed } from "./WatchedFeed.ts"

/**
 * The same arguments, with an instance of `Principal`. A principal that is not an instance is decoded by the method that takes
 * it.
 */
type WithPrincipal<Args extends ReadonlyArray<unknown>> = {
  readonly [At in keyof Args]: [Args[At]] extends [PrincipalInput | undefined]
    ? Principal
    : Args[At]
}

/** The methods of `NodeService` that return one value, each as an Effect. */
type AsEffects = {
  readonly [Name in keyof NodeService]?: NodeService[Name] extends (
    ...args: infer Args
  ) => Promise<infer Value>
    ? (...args: WithPrincipal<Args>) => Effect.Effect<Value, unknown, Services>
    : never
}

let decoded: Principal | undefined

/**
 * Decoded on first use and then reused, because a decoded principal is not decoded again (bench row `send`). An import alone runs
 * no Effect.
 */
const service = (): Principal =>
  (decoded ??= Effect.runSync(Entries.principal(service_principal, "by")))

/** Sends a message, and returns the part of its task that a caller gets. */
const sending = (message: object, by: Principal) =>
  Effect.map(sendMessage(message as Message, by), ({ created, queued_behind, task }): Sent => ({
    run: task.id,
    conversation: task.conversation,
    ordinal: task.ordinal,
    created,
    ...(queued_behind && { queued_behind })
  }))

export const send = (message: Send, by: Principal = service()) =>
  Effect.flatMap(typedMessage(message), (typed) => sending(typed.message, by))

/** Whether it names a run that was sent before. What cannot be read is left for the decoder of messages, which refuses it. */
const isAgain = (message: object): message is Readonly<Record<string, unknown>> =>
  Result.getOrElse(
    Result.try(() => isObject(message) && "run" in message),
    () => false
  )

/** Only the wait can be interrupted: a message is sent as a whole or not at all. */
export const ask = (message: Send, by: Principal = service(), wait?: Wait) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      yield* readWait(wait)
      const { codec, message: sent } = yield* typedMessage(message)
      // Whoever may not read the answer sends nothing.
      const who = yield* Entries.entitled(by, "follow")
      const { task } = yield* sendMessage(sent as Message, who)
      const answer = yield* answerOfTask(task, who, wait, restore)
      return codec === undefined ? answer : yield* withValue(codec, answer)
    })
  )

export const result = Effect.fnUntraced(function* (
  run: string,
  by: Principal = service(),
  wait?: Wait
) {
  const { codec, wait: rest } = yield* typedWait(wait)
  const answer = yield* answerOfRun(run, by, rest)
  return codec === undefined ? answer : yield* withValue(codec, answer)
})

type Streams = ReturnType<typeof streamAgain> | ReturnType<typeof streamRun>
type StreamError = Stream.Error<Streams>
type StreamServices = Stream.Services<Streams>

/** The parts of a run, sent now or before, with the value of the answer if the message has an answer schema. */
export const stream = (message: Send | StreamedRun, by: Principal = service()) =>
  Stream.unwrap(
    Effect.map(typedMessage(message), ({ codec, message }) => {
      type Parts = Stream.Stream<RunPart, StreamError, StreamServices>
      const parts: Parts = isAgain(message)
        ? streamAgain(message, by, codec !== undefined)
        : streamRun(message as Message, by)
      return withValues(codec, parts)
    })
  )

export const watch = (id: string, after?: Cursor, by: Principal = service()) =>
  watchFeed(id, after, by)

export const openWatch = (id: string, after?: Cursor, by: Principal = service()) =>
  openFeed(id, after, by)

const decisionMethods = {
  pending: (by = service_principal) => ApprovalDesk.use((desk) => desk.pending(by, 500)),
  stopAllTools: (stopped) => KillSwitch.use(({ turnAll }) => turnAll(stopped))
} satisfies AsEffects

const derivedMethods = methodsOf(operations) satisfies AsEffects

/** All methods that return one value. */
export const methods = {
  ...decisionMethods,
  ...derivedMethods
} satisfies AsEffects
