/**
 * Asks the agents of worlds, from any context: given at the composition root, in the process or over HTTP. Operators and
 * admins only.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Principal } from "../../../src/Principal.ts"
import type { WorldAgentError, WorldAnswer } from "../../../src/worlds/contracts/WorldAnswer.ts"

export class WorldAgentRunner extends Context.Service<
  WorldAgentRunner,
  {
    /**
     * Asks one question, 1 to 20,000 UTF-16 units. Stateless: the agent knows nothing of earlier questions, and keeps nothing
     * of this one but its journal. An interrupted caller cancels the agent's run.
     */
    ask(
      question: string,
      world_id: string,
      by: Principal
    ): Effect.Effect<WorldAnswer, WorldAgentError>
    /**
     * Says something in a session, whose earlier messages the agent knows. A session belongs to its principal: the same id of
     * another one is another session.
     */
    chat(
      message: string,
      session_id: string,
      world_id: string,
      by: Principal
    ): Effect.Effect<WorldAnswer, WorldAgentError>
  }
>()("troupe/services/worlds/WorldAgentRunner") {}
