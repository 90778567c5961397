/** A replay, and a dry run of a policy, of a run in which the conversation changed hands. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { no_policy } from "../../src/permission/Policy.ts"
import * as H from "../runtime/Harness.ts"

const seen: Array<string> = []
const tools: H.Options["tools"] = {
  write: {
    governance: {
      side_effects: "write",
      permission: (_: object, { agent }) => {
        seen.push(agent)
        return agent === "billing" ? "deny" : "allow"
      }
    },
    body: Effect.succeed
  }
}
const billing = AgentSpec.make({ name: "billing", instructions: "Bill.", tools: ["write"] })

it.live("knows which agent made each call", () => {
  const options: H.Options = {
    tools,
    agent: { handoffs: ["billing"] },
    agents: [billing],
    script: [
      calls([call("write", { n: 1 }), call("transfer_to_billing")]),
      call("write", { n: 2 }),
      text("done")
    ]
  }
  return Effect.gen(function* () {
    const run = yield* H.send("hi")
    const all = yield* H.ended(run)
    assert.deepInclude(H.end(all), { agent: billing.name })
    const app = { agents: H.agentsOf(options), tools: [H.toolsOf(tools)] }
    const { divergence, gate } = yield* Replay.replay(run, { app })
    assert.isUndefined(divergence)
    assert.isUndefined(typeof gate === "string" ? gate : gate.divergence)
    seen.length = 0
    const tried = yield* Replay.dryRun({ run }, app, no_policy)
    assert.deepStrictEqual(seen, [H.agentName, "billing"])
    assert.deepInclude(tried, { calls: 2, changed: 0, unknown: 0 })
  }).pipe(Effect.provide(H.layer(options)))
})
