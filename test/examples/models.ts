import { Effect } from "effect"
import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { gatewayOf, ResilientModelGateway } from "troupe/models"
import { fails, scripted, text } from "troupe/testing"

// Any layers of ModelGateway: AiSdkModelGateway, LanguageModelGateway, CassetteModelGateway. These have no network.
const large = scripted(() => fails("transient", "the provider answered 529"))
const small = scripted(() => text("It is paid back."))

const model = ResilientModelGateway.layer(
  Effect.gen(function* () {
    return {
      models: [
        { name: "large", provider: "acme", gateway: yield* gatewayOf(large) },
        { name: "small", provider: "local", gateway: yield* gatewayOf(small) }
      ],
      retry: { attempts_max: 2, backoff_initial_ms: 50 },
      circuit: { failures_max: 5, open_ms: 15_000 },
      limits: { acme: { concurrent_max: 16, tokens_per_minute: 400_000 } }
    }
  })
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help." })

const troupe = await start({ agents: [shop], model })
const { text: answer } = await troupe.ask({ agent: "shop", text: "Is order 1003 paid back?" })
console.log(answer)
await troupe.stop()

// Output:
// It is paid back.
