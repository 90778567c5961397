/**
 * The checks that every runner makes before it asks a world's agent, and the errors of a question without an answer.
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
import type { WorldAnswer } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import {
  WorldQuestion,
  WorldRefused,
  WorldUnanswered,
  WorldUnknown
} from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { SessionId, WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"

/** How long an answer may take, in ms; after that the run is cancelled. */
export const AnswerLimit = Context.Reference<number>("troupe/worlds/AnswerLimit", {
  defaultValue: () => 120_000
})

const read = {
  world: inputReader(WorldId),
  session: inputReader(SessionId),
  question: inputReader(WorldQuestion)
}

const refused = ({ field, message }: InvalidInput) =>
  new WorldRefused({ message: `${field}: ${message}` })

export const unavailable = (message: string) =>
  new WorldUnanswered({ kind: "unavailable", message })

export const notInTime = (limit_ms: number) =>
  unavailable(`the agent did not answer within ${limit_ms} ms`)

export const asksAPerson = new WorldUnanswered({
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

/** Checks the caller, the world and the text. */
export const checkQuestion = Effect.fnUntraced(function* (
  text: string,
  world_id: string,
  who: Principal
) {
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

/** Checks a message of a session, and gives its conversation. */
export const checkChat = Effect.fnUntraced(function* (
  text: string,
  session_id: string,
  world_id: string,
  who: Principal
) {
  const checked = yield* checkQuestion(text, world_id, who)
  const session = yield* Effect.mapError(read.session(session_id, "session_id"), refused)
  return { ...checked, conversation: conversationOf(checked.world, session, checked.by) }
})

/** The answer in the end of a run. Fails if the run did not complete. */
export const answerOf = (
  world: WorldId,
  run: RunId,
  ended: {
    readonly status: string
    readonly text: string
    readonly reason: string
    readonly finish?: string | undefined
  }
): Effect.Effect<WorldAnswer, WorldUnanswered> =>
  ended.status === "complete"
    ? Effect.succeed({ world, text: ended.text, run })
    : Effect.fail(
        new WorldUnanswered({
          kind: "failed",
          message: `the run of the question ended ${ended.status}: ${ended.finish ?? ended.reason}`
        })
      )
