/**
 * Asks the agents of worlds that run in this process. A question is a message, durable and journaled like any other, and the
 * caller waits for the end of its run, which is the answer. If the caller is interrupted, the run is cancelled.
 *
 * The tools of other agents may need the runner before there is a runtime. Therefore it has two layers: `layer` is built before
 * the runtime, and `connected` over it. Until then every question fails as unavailable.
 */
import { Context, Effect, Layer, Option, Result, Stream } from "effect"
import type { Principal } from "../../../src/principal/Principal.ts"
import { WorldRefused, WorldUnknown } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { question_context } from "../../../src/spectral/worlds/WorldAgent.ts"
import type { WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { worldAgentName } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { Accepted } from "../../../services/TaskStore.ts"
import { WorldAgentRunner } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import {
  AnswerLimit,
  answerOf,
  asksAPerson,
  checkChat,
  checkQuestion,
  notInTime,
  unavailable
} from "./WorldQuestions.ts"

/** Holds the runtime that answers, once there is one. */
export class WorldRuntime extends Context.Service<
  WorldRuntime,
  { agents: AgentRuntime["Service"] | undefined }
>()("troupe/worlds/WorldRuntime") {}

const send = (agents: AgentRuntime["Service"], message: Message, by: Principal, world: WorldId) =>
  Effect.mapError(agents.send(message, by), (error) => {
    switch (error._tag) {
      case "AgentNotFound":
        return new WorldUnknown({ world })
      case "IntakeFull":
      case "MailboxFull":
      case "AgentBusy":
      case "ShuttingDown":
      case "StoreError":
        return unavailable(`the agent of the world ${world} takes no question now`)
      default:
        return new WorldRefused({ message: error.message })
    }
  })

/** Waits for the event that settles the question: the end of the run, or a question to a person, which nobody here can answer. */
const settled = (
  agents: AgentRuntime["Service"],
  { conversation, id, ordinal }: Accepted["task"],
  by: Principal
) =>
  agents.watch(conversation, { ordinal, seq: -1 }, by).pipe(
    Stream.filterMap((item) => {
      if (item._tag !== "Event" || item.run !== id) return Result.fail(undefined)
      const { event } = item.entry
      return event._tag === "RunEnded" ||
        event._tag === "ApprovalRequested" ||
        event._tag === "ClientRequested"
        ? Result.succeed(event)
        : Result.fail(undefined)
    }),
    Stream.runHead,
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.fail(unavailable("the run of the question cannot be watched")),
        onSome: Effect.succeed
      })
    ),
    Effect.mapError((error) =>
      error._tag === "WorldUnanswered"
        ? error
        : unavailable("the run of the question cannot be watched")
    )
  )

const cancel = (agents: AgentRuntime["Service"], { id }: Accepted["task"], by: Principal) =>
  Effect.ignore(agents.interrupt(id, by, "whoever asked waits no more"))

/** Waits for the answer, at most `limit_ms`. */
const waited = (
  agents: AgentRuntime["Service"],
  task: Accepted["task"],
  by: Principal,
  world: WorldId,
  limit_ms: number
) =>
  settled(agents, task, by).pipe(
    Effect.flatMap((event) =>
      event._tag === "RunEnded" ? answerOf(world, task.id, event) : Effect.fail(asksAPerson)
    ),
    Effect.timeoutOrElse({
      duration: limit_ms,
      orElse: () => Effect.fail(notInTime(limit_ms))
    })
  )

/**
 * Sends the question and waits for its end. The run is cancelled if the caller is interrupted, the time is up, or the agent asks
 * a person. An interruption while the message is being accepted takes effect only after that, because otherwise the run would go
 * on with nobody waiting for it.
 */
const answered = (
  agents: AgentRuntime["Service"],
  message: Message,
  by: Principal,
  world: WorldId
) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const limit = yield* AnswerLimit
      const { task } = yield* send(agents, message, by, world)
      return yield* Effect.onError(
        restore(waited(agents, task, by, world, limit)),
        // A run that has ended is not changed by this.
        () => cancel(agents, task, by)
      )
    })
  )

const make = Effect.map(WorldRuntime, (runtime) => {
  const through = Effect.suspend(() =>
    runtime.agents === undefined
      ? Effect.fail(unavailable("no runtime answers for worlds yet"))
      : Effect.succeed(runtime.agents)
  )
  return WorldAgentRunner.of({
    ask: Effect.fn("WorldAgentRunner.ask")(function* (text, world_id, who) {
      const { by, question, world } = yield* checkQuestion(text, world_id, who)
      const message = {
        agent: worldAgentName(world),
        text: question,
        context: question_context,
        channel_origin: "world_ask",
        initiated_by: "agent"
      } as const
      return yield* answered(yield* through, message, by, world)
    }),
    chat: Effect.fn("WorldAgentRunner.chat")(function* (text, session_id, world_id, who) {
      const checked = yield* checkChat(text, session_id, world_id, who)
      const { by, conversation, question, world } = checked
      const message = {
        agent: worldAgentName(world),
        conversation,
        text: question,
        channel_origin: "world_chat"
      }
      return yield* answered(yield* through, message, by, world)
    })
  })
})

/** The runner, which can be built before there is a runtime. */
export const layer: Layer.Layer<WorldAgentRunner | WorldRuntime> = Layer.effect(
  WorldAgentRunner,
  make
).pipe(Layer.provideMerge(Layer.sync(WorldRuntime, () => ({ agents: undefined }))))

/** Connects the runner to the runtime for as long as the runtime runs. */
export const connected: Layer.Layer<never, never, AgentRuntime | WorldRuntime> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* WorldRuntime
      const agents = yield* AgentRuntime
      yield* Effect.acquireRelease(
        Effect.sync(() => void (runtime.agents = agents)),
        () => Effect.sync(() => void (runtime.agents = undefined))
      )
    })
  )
