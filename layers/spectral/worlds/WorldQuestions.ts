/**
 * What every runner does: the checks before it asks a world's agent, the wait for the answer, and the errors of a question without
 * one.
 */
import { createHash } from "node:crypto"
import { Context, Effect } from "effect"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { principal } from "../../../src/entry/ArgumentReaders.ts"
import { ConversationId } from "../../../src/value/Ids.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { principalHasRole } from "../../../src/principal/Principal.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type {
  WorldAgentError,
  WorldAnswer
} from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import {
  WorldQuestion,
  WorldRefused,
  WorldUnanswered,
  WorldUnknown
} from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { SessionId, WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import { WorldAgentRunner } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"

/** How long an answer may take, in ms; after that the run is cancelled. */
export const AnswerLimit = Context.Reference<number>("troupe/worlds/AnswerLimit", {
  defaultValue: () => 120_000
})

const read = {
  world: inputReader(WorldId),
  session: inputReader(SessionId),
  question: inputReader(WorldQuestion)
}

const refused = ({ message }: InvalidInput) => new WorldRefused({ message })

export const unavailable = (message: string) =>
  new WorldUnanswered({ kind: "unavailable", message })

const notInTime = (limit_ms: number) =>
  unavailable(`the agent did not answer within ${limit_ms} ms`)

const asksAPerson = new WorldUnanswered({
  kind: "failed",
  message: "the agent asked for an approval, which a question cannot wait for"
})

/**
 * The conversation of a session. Sessions of two principals are two conversations, even if they have the same id. A memory of the
 * agent, however, would be the same for both.
 */
const conversationOf = (world: WorldId, session: SessionId, by: Principal): ConversationId =>
  ConversationId.make(
    `${world}:${createHash("sha256")
      .update(JSON.stringify([world, session, by.id]))
      .digest("hex")
      .slice(0, 40)}`
  )

/** A question whose caller, world and text were checked; in a session it has a conversation. */
export interface Question {
  readonly by: Principal
  readonly question: string
  readonly world: WorldId
  readonly conversation?: ConversationId
}

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

/** The runner that puts checked questions so. */
export const runnerOf = (
  put: (question: Question) => Effect.Effect<WorldAnswer, WorldAgentError>
): WorldAgentRunner["Service"] =>
  WorldAgentRunner.of({
    ask: Effect.fn("WorldAgentRunner.ask")(function* (text, world_id, who) {
      return yield* put(yield* checked(text, world_id, who))
    }),
    chat: Effect.fn("WorldAgentRunner.chat")(function* (text, session_id, world_id, who) {
      const question = yield* checked(text, world_id, who)
      const session = yield* Effect.mapError(read.session(session_id, "session_id"), refused)
      const conversation = conversationOf(question.world, session, question.by)
      return yield* put({ ...question, conversation })
    })
  })

/** The end of a run, as far as it is read. */
interface Ended {
  readonly status: string
  readonly text: string
  readonly reason: string
  readonly finish?: string | undefined
}

/** The end of the run, or that it asks a person, which nobody here can answer. */
export type Settled = Ended | "asked"

/** The answer in the end of a run. Fails if the run did not complete. */
const answerOf = (world: WorldId, run: RunId, ended: Ended) =>
  ended.status === "complete"
    ? Effect.succeed({ world, text: ended.text, run })
    : Effect.fail(
        new WorldUnanswered({
          kind: "failed",
          message: `the run of the question ended ${ended.status}: ${ended.finish ?? ended.reason}`
        })
      )

/** The message of a question, once it was accepted: its run, what settles it, and how the run is cancelled. */
export interface Sent {
  readonly run: RunId
  readonly settled: Effect.Effect<Settled, WorldAgentError>
  readonly cancel: Effect.Effect<void>
}

/**
 * Sends the question and waits for its end. The run is cancelled if the caller is interrupted, the time is up, or the agent asks
 * a person. An interruption while the message is being accepted takes effect only after that, because otherwise the run would go
 * on with nobody waiting for it.
 */
export const answered = (
  world: WorldId,
  send: Effect.Effect<Sent, WorldAgentError>
): Effect.Effect<WorldAnswer, WorldAgentError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const duration = yield* AnswerLimit
      const { cancel, run, settled } = yield* send
      return yield* settled.pipe(
        Effect.flatMap((end) =>
          end === "asked" ? Effect.fail(asksAPerson) : answerOf(world, run, end)
        ),
        Effect.timeoutOrElse({ duration, orElse: () => Effect.fail(notInTime(duration)) }),
        restore,
        // A run that has ended is not changed by this.
        Effect.onError(() => cancel)
      )
    })
  )
