/**
 * The tool with which an agent of another context asks the agent of a world. The caller sees only a tool. `WorldAgentRunner`
 * answers it, in this process or over HTTP, with the name and roles of the sender of the message.
 */
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import {
  ToolError,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../../../src/error/ToolError.ts"
import { Principal } from "../../../src/principal/Principal.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import type { WorldAgentError } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { WorldQuestion } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { WorldAgentRunner } from "../../../services/spectral/worlds/contracts/WorldAgentRunner.ts"

const AskWorldAgent = Tool.make("ask_world_agent", {
  description:
    "Asks the agent of a world model one question about its rules, their tests and where they come from. It knows nothing of this conversation and of earlier questions: say all that it needs.",
  parameters: Schema.Struct({
    world_id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100)),
    question: WorldQuestion
  }),
  success: Schema.Struct({ world_id: Schema.String, answer: Schema.String, run: Schema.String }),
  failure: ToolError
})

const Bridge = Toolkit.make(AskWorldAgent)

/** Longer than the longest answer takes, so that the runner reports why there is no answer. */
const timeout_ms = 150_000

const toolError = (error: WorldAgentError): ToolError => {
  switch (error._tag) {
    case "WorldUnknown":
      return new ToolUserError({
        kind: "not_found",
        reason: "WORLD_NOT_FOUND",
        message: error.message
      })
    case "WorldRefused":
      return new ToolPolicyError({
        kind: "permission",
        reason: "WORLD_REFUSED",
        message: error.message
      })
    case "WorldUnanswered":
      return error.kind === "unavailable"
        ? new ToolTransientError({
            kind: "external",
            reason: "WORLD_UNAVAILABLE",
            message: error.message
          })
        : new ToolTerminalError({
            kind: "internal",
            reason: "WORLD_UNANSWERED",
            message: error.message
          })
  }
}

const handlers = Effect.map(WorldAgentRunner, (runner) =>
  Bridge.of({
    ask_world_agent: ({ question, world_id }, context) => {
      const { principal: id, roles, tenant } = callOf(context)
      return runner.ask(question, world_id, new Principal({ id, roles: [...roles], tenant })).pipe(
        Effect.map(({ run, text, world }) => ({ world_id: world, answer: text, run })),
        Effect.mapError(toolError)
      )
    }
  })
)

/** The tool, for a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  WorldAgentRunner
> = govern(
  Bridge,
  { ask_world_agent: { namespace: "worlds", side_effects: "read", timeout_ms } },
  handlers
)
