import { Effect, Stream } from "effect"
import { AgentName, AgentSpec, ConversationId, policyOf, Principal, Tenant, tool } from "troupe"
import { Troupe } from "troupe/layers"
import { dryRun } from "troupe/replay"
import { AgentRuntime } from "troupe/services"
import { call, scripted, text } from "troupe/testing"

const look = tool(
  { namespace: "shop", name: "look", description: "Looks into orders.", side_effects: "read" },
  () => "order 1003 is on its way"
)
const agents = [AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["look"] })]
const tenant = Tenant.make("default")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const model = scripted(({ step }) => (step === 1 ? call("look") : text("It is on its way.")))
const app = Troupe.layer({ agents, tools: [look], model })

const program = Effect.gen(function* () {
  const runtime = yield* AgentRuntime
  for (const conversation of ["c-1", "c-2"].map((id) => ConversationId.make(id))) {
    const message = { agent: AgentName.make("shop"), conversation, text: "Where is order 1003?" }
    yield* runtime.send(message, olga)
    yield* runtime.watch(conversation, { ordinal: 0, seq: -1 }, olga).pipe(
      Stream.takeUntil((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded"),
      Stream.runDrain
    )
  }
  // No tool runs, and nothing is written.
  return yield* dryRun({ tenant }, { agents, tools: [look] }, policyOf({ mode: "ask" }))
})
const { calls, now, runs, was } = await Effect.runPromise(Effect.provide(program, app))
console.log(calls, "calls of", runs, "runs")
console.log("then:", was)
console.log("now:", now)

// Output:
// 2 calls of 2 runs
// then: { allow: 2, ask: 0, deny: 0 }
// now: { allow: 0, ask: 2, deny: 0 }
