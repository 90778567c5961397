/**
 * Asks the agents of worlds, from any context. The composition root decides whether this runs in the process or over HTTP.
 * Operators and admins only.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Principal } from "../../../../src/principal/Principal.ts"
import type {
  WorldAgentError,
  WorldAnswer
} from "../../../../src/spectral/worlds/contracts/WorldAnswer.ts"

export class WorldAgentRunner extends Context.Service<
  WorldAgentRunner,
  {
    /**
     * Asks one question of 1 to 20,000 UTF-16 units. It is stateless: the agent knows nothing of earlier questions, proposes
     * nothing, and nothing of this one is stored except in its journal. If the caller is interrupted, the agent's run is
     * cancelled.
     */
    ask(
      question: string,
      world_id: string,
      by: Principal
    ): Effect.Effect<WorldAnswer, WorldAgentError>
    /**
     * Sends a message in a session; the agent knows the session's earlier messages. A session belongs to its principal: the same
     * id of another principal is another session.
     */
    chat(
      message: string,
      session_id: string,
      world_id: string,
      by: Principal
    ): Effect.Effect<WorldAnswer, WorldAgentError>
  }
>()("troupe/services/spectral/worlds/contracts/WorldAgentRunner") {}
