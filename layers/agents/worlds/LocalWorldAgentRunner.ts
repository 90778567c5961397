/**
 * Asks the agents of worlds that run in this process. An answer is the end of a run: the question is a message, durable and
 * journaled like any other, and the caller waits for its end. A caller that goes away cancels the run.
 *
 * The tools of other agents may need the runner before there is a runtime, so that it is given in two steps: `layer` before the
 * runtime, `connected` over it. Until then it answers that it is unavailable.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Layer, Option, Result, Stream } from "effect"
import type { InvalidInput } from "../../../src/entry/InvalidInput.ts"
import { inputReader } from "../../../src/entry/InvalidInput.ts"
import { principal } from "../../../src/entry/Entries.ts"
import { ConversationId } from "../../../src/Ids.ts"
import { principalHasRole } from "../../../src/Principal.ts"
import type { Principal } from "../../../src/Principal.ts"
import type { RunEnded } from "../../../src/run/RunEvent.ts"
import type { WorldAnswer } from "../../../src/worlds/contracts/WorldAnswer.ts"
import {
  WorldQuestion,
  WorldRefused,
  WorldUnanswered,
  WorldUnknown
} from "../../../src/worlds/contracts/WorldAnswer.ts"
import { SessionId, worldAgentName, WorldId } from "../../../src/worlds/contracts/WorldId.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { Accepted } from "../../../services/TaskStore.ts"
import { WorldAgentRunner } from "../../../services/worlds/contracts/WorldAgentRunner.ts"

/** How long an answer may take, in ms; then the run is cancelled. */
export const AnswerLimit = Context.Reference<number>("troupe/worlds/AnswerLimit", {
  defaultValue: () => 120_000
})

/** The runtime that answers, once there is one. */
class WorldRuntime extends Context.Service<
  WorldRuntime,
  { agents: AgentRuntime["Service"] | undefined }
>()("troupe/worlds/WorldRuntime") {}

const read = {
  world: inputReader(WorldId),
  session: inputReader(SessionId),
  question: inputReader(WorldQuestion)
}

const refused = ({ field, message }: InvalidInput) =>
  new WorldRefused({ message: `${field}: ${message}` })

const unavailable = (message: string) => new WorldUnanswered({ kind: "unavailable", message })

/** Sessions of two principals are two conversations, whatever their ids; a memory of the agent would be the world's. */
const conversationOf = (world: WorldId, session: SessionId, by: Principal): ConversationId =>
  ConversationId.make(
    `${world}:${createHash("sha256")
      .update(JSON.stringify([world, session, by.id]))
      .digest("hex")
      .slice(0, 40)}`
  )

/** The caller, the world and the text, each checked. */
const checked = Effect.fnUntraced(function* (text: string, world_id: string, who: Principal) {
  const by = yield* Effect.mapError(principal(who, "by"), refused)
  if (!principalHasRole(by, ["operator"])) {
    return yield* new WorldRefused({ message: "the agents of worlds are for operators" })
  }
  const question = yield* Effect.mapError(read.question(text, "question"), refused)
  const world = yield* Effect.mapError(
    read.world(world_id, "world_id"),
    () => new WorldUnknown({ world: String(world_id).slice(0, 100) })
  )
  return { by, question, world }
})

const send = (agents: AgentRuntime["Service"], message: Message, by: Principal, world: WorldId) =>
  Effect.mapError(agents.send(message, by), (error) => {
    switch (error._tag) {
      case "AgentNotFound":
        return new WorldUnknown({ world })
      case "MailboxFull":
      case "AgentBusy":
      case "ShuttingDown":
      case "StoreError":
        return unavailable(`the agent of the world ${world} takes no question now`)
      default:
        return new WorldRefused({ message: error.message })
    }
  })

/** The first event that settles the question: the end of the run, or a question to a person, whom nobody here can ask. */
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

const answerOf = (
  world: WorldId,
  { id }: Accepted["task"],
  { finish, reason, status, text }: RunEnded
): Effect.Effect<WorldAnswer, WorldUnanswered> =>
  status === "complete"
    ? Effect.succeed({ world, text, run: id })
    : Effect.fail(
        new WorldUnanswered({
          kind: "failed",
          message: `the run of the question ended ${status}: ${finish ?? reason}`
        })
      )

/** Waits for the answer, at most so many ms. */
const waited = (
  agents: AgentRuntime["Service"],
  task: Accepted["task"],
  by: Principal,
  world: WorldId,
  limit_ms: number
) =>
  settled(agents, task, by).pipe(
    Effect.flatMap((event) =>
      event._tag === "RunEnded"
        ? answerOf(world, task, event)
        : Effect.fail(
            new WorldUnanswered({
              kind: "failed",
              message: "the agent asked for an approval, which a question cannot wait for"
            })
          )
    ),
    Effect.timeoutOrElse({
      duration: limit_ms,
      orElse: () => Effect.fail(unavailable(`the agent did not answer within ${limit_ms} ms`))
    })
  )

/**
 * Sends the question and waits for its end. The run is cancelled where the caller goes away or the time is over. A caller that
 * goes away while the message is accepted is held until that is known: the run would go on for nobody.
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
        // One that has ended stays as it ended.
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
      const { by, question, world } = yield* checked(text, world_id, who)
      const message = {
        agent: worldAgentName(world),
        text: question,
        channel_origin: "world_ask",
        initiated_by: "agent"
      } as const
      return yield* answered(yield* through, message, by, world)
    }),
    chat: Effect.fn("WorldAgentRunner.chat")(function* (text, session_id, world_id, who) {
      const { by, question, world } = yield* checked(text, world_id, who)
      const session = yield* Effect.mapError(read.session(session_id, "session_id"), refused)
      const message = {
        agent: worldAgentName(world),
        conversation: conversationOf(world, session, by),
        text: question,
        channel_origin: "world_chat"
      }
      return yield* answered(yield* through, message, by, world)
    })
  })
})

/** The runner, before there is a runtime. */
export const layer: Layer.Layer<WorldAgentRunner | WorldRuntime> = Layer.effect(
  WorldAgentRunner,
  make
).pipe(Layer.provideMerge(Layer.sync(WorldRuntime, () => ({ agents: undefined }))))

/** From here on the runtime answers, until it stops. */
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
