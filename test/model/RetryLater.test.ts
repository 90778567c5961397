/** A provider that asks for a longer wait than a turn has, as the caller of a run sees it. */
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { error, finish, say, serve, status, stream } from "./ChatServer.ts"

const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help." })
const message = { agent: "shop", text: "hi" }
const busy = status(429, error("slow down"), { "retry-after": "90" })

it.live("the run ends with the time to wait, and no run asks before it is over", () =>
  Effect.gen(function* () {
    const { asked, base_url } = yield* serve([busy, stream([say("never"), finish("stop")])])
    const env = { TROUPE_MODEL_BASE_URL: base_url }
    const environment = ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
    yield* Effect.gen(function* () {
      const troupe = yield* Troupe
      for (let asks = 0; asks < 2; asks++) {
        const answer = yield* troupe.ask(message)
        assert.deepInclude(answer, { status: "failed", reason: "model_transient" })
        const wait = "retry_after_ms" in answer ? answer.retry_after_ms : undefined
        assert.isAtMost(wait!, 90_000)
        assert.isAbove(wait!, 30_000)
      }
    }).pipe(
      Effect.provide(
        Layer.provide(Troupe.layer({ agents: [shop], model: "openai-compatible/m" }), environment)
      )
    )
    assert.lengthOf(asked, 1)
  }).pipe(Effect.scoped)
)
