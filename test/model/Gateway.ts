/**
 * The live gateway pointed at a server of the test, with waits too short to notice.
 */
import { ConfigProvider, Effect, Option } from "effect"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import type { TurnPolicy } from "../../layers/model/providers/AiSdkModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelError, ModelRequest } from "../../services/ModelGateway.ts"
import { AgentName, FrameId, RunId } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"

export const key = "sk-test-1234567890abcdef"

export const request = (over: Partial<ModelRequest> = {}): ModelRequest => ({
  run: RunId.make("00000000-0000-4000-8000-000000000001"),
  agent: AgentName.make("operations"),
  frame: FrameId.make("0"),
  step: 1,
  model: undefined,
  system: "You are terse.",
  history: [],
  transcript: [{ role: "user", text: "hello" }],
  tools: [],
  ...over
})

export const environment = (env: Record<string, string>) =>
  ConfigProvider.layer(ConfigProvider.fromEnv({ env }))

export interface Said {
  readonly turn: Turn
  readonly deltas: ReadonlyArray<ModelDelta>
}

/** Calls the endpoint once; the deltas are those of all attempts. */
export const ask = (
  base_url: string,
  over: Partial<ModelRequest> = {},
  policy: Partial<TurnPolicy> = {},
  sent: { readonly key: string | undefined } = { key }
): Effect.Effect<Said, ModelError> =>
  Effect.gen(function* () {
    const chosen = yield* ModelFromEnv.choose({
      backoff_initial_ms: 1,
      retry_after_ms_max: 5,
      ...policy
    })
    const deltas: Array<ModelDelta> = []
    const { layer } = Option.getOrThrow(chosen)
    const turn = yield* ModelGateway.use((gateway) =>
      gateway.turn(request(over), (delta) => deltas.push(delta))
    ).pipe(Effect.provide(layer))
    return { turn, deltas }
  }).pipe(
    Effect.provide(
      environment({
        TROUPE_MODEL_BASE_URL: base_url,
        TROUPE_MODEL: "wire-model",
        ...(sent.key === undefined ? {} : { TROUPE_MODEL_API_KEY: sent.key })
      })
    )
  )
