/** The kill switch of a tenant, in the processes of one store, through `start`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { Store } from "../../layers/compose/options/ServiceOptions.ts"
import { refresh_ms } from "../../layers/runtime/approval/LocalKillSwitch.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { inLongForm } from "../InLongForm.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["admin"] })

const count = tool(
  {
    namespace: "shop",
    name: "count",
    description: "Counts orders.",
    side_effects: "read",
    output: Schema.Int
  },
  () => 3
)

const open = (store: Store) =>
  start({
    agents: [AgentSpec.make({ name: "shop" as never, instructions: "Help.", tools: ["count"] })],
    tools: [count],
    model: scripted(({ step, transcript }) => {
      const last = transcript.at(-1)
      return step === 1
        ? call("count")
        : text(last?.role === "tool" ? (last.outcome._tag === "Value" ? "ran" : "refused") : "none")
    }),
    store
  })

type Service = Awaited<ReturnType<typeof open>>

const answerOf = async (troupe: Service): Promise<string | undefined> => {
  const answer = await troupe.ask({ agent: "shop", text: "How many?" })
  return answer.status === "complete" ? answer.text : answer.status
}

/** Asks until the answer is this one, for as long as it takes other processes to know, and some. */
const becomes = async (troupe: Service, answer: string): Promise<void> => {
  let last: string | undefined
  for (const until = Date.now() + 10 * refresh_ms; Date.now() < until;) {
    if ((last = await answerOf(troupe)) === answer) return
    await new Promise((resume) => setTimeout(resume, 100))
  }
  assert.strictEqual(last, answer)
}

describe("AG-62 the kill switch of a tenant", () => {
  inLongForm("holds after a restart over the same store, until it is turned off", () =>
    Effect.flatMap(Homes.durable, (store) =>
      Effect.promise(async () => {
        const first = await open(store)
        assert.strictEqual(await answerOf(first), "ran")
        await first.stopTools(true, boss)
        assert.strictEqual(await answerOf(first), "refused")
        await first.stop()
        const second = await open(store)
        assert.strictEqual(await answerOf(second), "refused")
        await second.stopTools(false, boss)
        assert.strictEqual(await answerOf(second), "ran")
        await second.stop()
        const third = await open(store)
        assert.strictEqual(await answerOf(third), "ran")
        await third.stop()
      })
    )
  )

  it.live("holds in every process over one PostgreSQL", () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.migrated
      yield* Effect.promise(async () => {
        const [first, second] = [await open({ postgres }), await open({ postgres })]
        await first.stopTools(true, boss)
        assert.strictEqual(await answerOf(first), "refused")
        await becomes(second, "refused")
        await second.stopTools(false, boss)
        await becomes(first, "ran")
        await Promise.all([first.stop(), second.stop()])
      })
    })
  )
})
