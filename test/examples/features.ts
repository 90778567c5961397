import { Effect, Layer } from "effect"
import { AgentSpec, Principal, Tenant } from "troupe"
import { Troupe } from "troupe/layers"
import { feature } from "troupe/spectral"
import { scripted, text } from "troupe/testing"

const clerk = AgentSpec.make({ name: "clerk", instructions: "Explain." })
const model = scripted([text("Good morning.")])
const olga = new Principal({ id: "olga", tenant: Tenant.make("acme"), roles: ["operator"] })

const spectral = feature()
const program = Effect.gen(function* () {
  const troupe = yield* Troupe
  const { draft, scans } = troupe.of(spectral)
  console.log(yield* scans({ limit: 10 }, olga))
  const missing = yield* Effect.flip(draft("draft-1", olga))
  console.log(missing._tag)
})

const app = Troupe.layer({ agents: [clerk], model, features: [spectral] })
await Effect.runPromise(Effect.provide(program, Layer.orDie(app)))

// Output:
// []
// RecordNotFound
