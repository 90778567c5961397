/**
 * Asks the agents of worlds that run in this process. A question is a message, durable and journaled like any other, and the
 * caller waits for the end of its run, which is the answer. If the caller is interrupted, the run is cancelled.
 *
 * The tools of other agents may need the runner before there is a runtime. Therefore it has two layers: `layer` is built before
 * the runtime, and `connected` over it. Until then every question fails as unavailable.
 */
import { Context, Effect, Layer, Result, Stream } from "effect"
import type { Principal } from "../../../src/principal/Principal.ts"
import { WorldRefused, WorldUnknown } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { question_context } from "../../../src/spectral/worlds/WorldAgent.ts"
import type { WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { worldAgentName } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { Accepted } from "../../../services/TaskStore.ts"
import { WorldAgentRunner } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import type { Settled } from "./WorldQuestions.ts"
import { answered, runnerOf, unavailable } from "./WorldQuestions.ts"

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

/** Waits for the event that settles the question. */
const settled = (
  agents: AgentRuntime["Service"],
  { conversation, id, ordinal }: Accepted["task"],
  by: Principal
) =>
  agents.watch(conversation, { ordinal, seq: -1 }, by).pipe(
    Stream.filterMap((item): Result.Result<Settled, undefined> => {
      if (item._tag !== "Event" || item.run !== id) return Result.fail(undefined)
      const { event } = item.entry
      if (event._tag === "RunEnded") return Result.succeed(event)
      return event._tag === "ApprovalRequested" || event._tag === "ClientRequested"
        ? Result.succeed("asked")
        : Result.fail(undefined)
    }),
    Stream.runHead,
    Effect.flatMap(Effect.fromOption),
    Effect.mapError(() => unavailable("the run of the question cannot be watched"))
  )

const make = Effect.map(WorldRuntime, (runtime) => {
  const through = Effect.suspend(() =>
    runtime.agents === undefined
      ? Effect.fail(unavailable("no runtime answers for worlds yet"))
      : Effect.succeed(runtime.agents)
  )
  return runnerOf(({ by, conversation, question, world }) =>
    Effect.flatMap(through, (agents) => {
      const message = { agent: worldAgentName(world), text: question }
      const sent = send(
        agents,
        conversation === undefined
          ? {
              ...message,
              context: question_context,
              channel_origin: "world_ask",
              initiated_by: "agent"
            }
          : { ...message, conversation, channel_origin: "world_chat" },
        by,
        world
      )
      return answered(
        world,
        Effect.map(sent, ({ task }) => ({
          run: task.id,
          settled: settled(agents, task, by),
          cancel: Effect.ignore(agents.interrupt(task.id, by, "whoever asked waits no more"))
        }))
      )
    })
  )
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
