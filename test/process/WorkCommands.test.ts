/** `troupe runs`, `decide`, `settle` and `erase`, as processes beside a service that shares their database. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Children from "./Child.ts"

const olga = new Principal({ id: "olga", tenant: Tenant.make("default"), roles: ["operator"] })

/** The money of the outside world: what was paid, and whether it still answers. */
const world = { paid: 0, isHung: false }

const pay = tool(
  {
    namespace: "shop",
    name: "pay",
    description: "Pays an order back.",
    side_effects: "external",
    timeout_ms: 200,
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }) => {
    world.paid++
    if (world.isHung) await new Promise(() => {})
    return `order ${order} is paid back`
  }
)

const service = (postgres: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [
          AgentSpec.make({
            name: AgentName.make("shop"),
            instructions: "Help.",
            tools: ["pay"]
          })
        ],
        tools: [pay],
        model: scripted(({ transcript }) =>
          transcript.at(-1)?.role === "tool" ? text("done") : call("pay", { order: "1003" })
        ),
        store: { postgres }
      })
    ),
    (troupe) => Effect.promise(() => troupe.stop())
  )

it.live(
  "show what waits, decide and settle it in the services, and erase who asked",
  () =>
    Effect.gen(function* () {
      const postgres = yield* EmbeddedPostgres.database
      const troupe = yield* service(postgres)
      const command = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
        const env = { TROUPE_DATABASE_URL: postgres }
        const child = yield* Children.start("scripts/troupe.ts", args, env)
        const { code } = yield* child.ended
        return { code, text: child.text() }
      })
      const send = Effect.promise(() => troupe.ask({ agent: "shop", text: "Pay it back" }, olga))

      const approved = yield* send
      const [question] = yield* Effect.promise(() => troupe.pending(olga))
      const listed = yield* command("runs")
      assert.include(listed.text, approved.run)
      assert.include(listed.text, `asks     ${question!.id}`)
      assert.strictEqual(world.paid, 0)
      const decided = yield* command("decide", question!.id, "approve", "--reason", "as agreed")
      assert.strictEqual(decided.code, 0, decided.text)
      const ended = yield* Effect.promise(() => troupe.result(approved.run, olga))
      assert.deepInclude(ended, { status: "complete", text: "done" })
      assert.strictEqual(world.paid, 1)
      const twice = yield* command("decide", question!.id, "deny")
      assert.strictEqual(twice.code, 1)
      assert.include(twice.text, "not done: ")

      world.isHung = true
      const lost = yield* send
      const [other] = yield* Effect.promise(() => troupe.pending(olga))
      yield* command("decide", other!.id, "approve")
      const waits = yield* Effect.promise(() => troupe.result(lost.run, olga))
      assert.strictEqual(waits.status, "awaiting_approval")
      const runs = JSON.parse((yield* command("runs", "--json", "--limit", "1")).text)
      assert.lengthOf(runs, 1)
      const [{ call: id }] = runs[0].unknown_calls
      const settled = yield* command("settle", lost.run, id, "succeeded", "--value", '"paid"')
      assert.strictEqual(settled.code, 0, settled.text)
      const after = yield* Effect.promise(() => troupe.result(lost.run, olga))
      assert.deepInclude(after, { status: "complete", text: "done" })
      assert.strictEqual(world.paid, 2)

      const asked = yield* command("erase", "olga")
      assert.strictEqual(asked.code, 2)
      assert.include(asked.text, "add --yes")
      const erased = yield* command("erase", "olga", "--yes")
      assert.strictEqual(erased.code, 0, erased.text)
      assert.match(erased.text, /^erasure \S+\n {2}erased /)
      const [record] = yield* Effect.promise(() =>
        troupe.erasures({}, new Principal({ ...olga, roles: ["admin"] }))
      )
      assert.match(record!.by, /^command line \(/)

      const unknown = yield* command("forget", "olga")
      assert.strictEqual(unknown.code, 2)
    }),
  240_000
)
