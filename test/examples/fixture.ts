import { Effect, Stream } from "effect"
import { AgentName, AgentSpec, ConversationId, Principal, tool } from "troupe"
import { Troupe } from "troupe/layers"
import { replay, toFixture } from "troupe/replay"
import { AgentRuntime } from "troupe/services"
import { call, runFixture, scripted, text } from "troupe/testing"

const look = tool(
  { namespace: "shop", name: "look", description: "Looks into orders.", side_effects: "read" },
  () => "order 1003 is on its way"
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["look"] })
const app = Troupe.layer({
  agents: [shop],
  tools: [look],
  model: scripted([call("look"), text("It is on its way.")])
  // Of a service: its `store`. `npx troupe replay RUN --to-test run.json` does the same.
})
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

const record = Effect.gen(function* () {
  const runtime = yield* AgentRuntime
  const conversation = ConversationId.make("c-1")
  const message = { agent: AgentName.make("shop"), conversation, text: "Where is order 1003?" }
  const { task } = yield* runtime.send(message, olga)
  yield* runtime.watch(conversation, { ordinal: 0, seq: -1 }, olga).pipe(
    Stream.takeUntil((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded"),
    Stream.runDrain
  )
  return toFixture(yield* replay(task.id))
})
const fixture = await Effect.runPromise(Effect.provide(record, app))

// In a test of yours: `await runFixture(await readFile("run.json", "utf8"))`. No store, no agent and no model.
const report = await runFixture(fixture)
console.log(report.same === report.events, report.steps.length, "steps")
// A result that is not the recorded one any more.
const changed = fixture.replace("on its way", "lost")
console.log(await runFixture(changed).catch(({ _tag }: { readonly _tag: string }) => _tag))

// Output:
// true 2 steps
// FixtureDiverged
