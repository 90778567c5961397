/** Services that host different agents on one PostgreSQL, as while a new version is rolled out. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Redacted } from "effect"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { until } from "./Service.ts"

const messages = 30
const { tenant } = service_principal

/** Answers with the name of its agent, once the gate is open where the message says so. */
const host = (postgres: string, name: string, gate: Deferred.Deferred<void>) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      start({
        agents: [AgentSpec.make({ name: AgentName.make(name), instructions: "Help." })],
        model: scripted(({ transcript }) => {
          const first = transcript[0]!
          const waits = first.role === "user" && first.text === "hold"
          return Effect.as(waits ? Deferred.await(gate) : Effect.void, text(`of ${name}`))
        }),
        store: { postgres }
      })
    ),
    (service) => Effect.promise(() => service.stop())
  )

const asked = (service: NodeService, agent: string) =>
  Effect.promise(() =>
    Promise.all(Array.from({ length: messages }, () => service.ask({ agent, text: "hello" })))
  )

it.live(
  "each service takes only the work of its agents, and what nobody hosts waits for one that does",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.migrated
      const gate = yield* Deferred.make<void>()
      const a = yield* host(url, "a", gate)
      const b = yield* host(url, "b", gate)
      const [byA, byB] = yield* Effect.all([asked(a, "a"), asked(b, "b")], { concurrency: 2 })
      for (const [name, answers] of Object.entries({ a: byA, b: byB })) {
        assert.deepStrictEqual(
          answers.map(({ status, text: said }) => `${status} ${said}`),
          answers.map(() => `complete of ${name}`)
        )
      }
      const held = yield* Effect.promise(() => b.send({ agent: "b", text: "hold" }))
      const agent = AgentName.make("c")
      const stores = SqlStores.layer.pipe(
        Layer.provide(Postgres.layer({ url: Redacted.make(url) }))
      )
      const sent = yield* Effect.forEach(["1", "2", "3"], (key) =>
        TaskStore.use((tasks) =>
          tasks.accept(
            Samples.newTask({ tenant, address: { agent, key: ConversationId.make(key) } })
          )
        )
      ).pipe(Effect.provide(stores))
      for (const service of [a, b]) {
        const waiting = yield* until(
          Effect.promise(() => service.unhosted()),
          (all) => !all.some((each) => each.agent === "b")
        )
        assert.deepStrictEqual(
          waiting.map((each) => [each.agent, each.count]),
          [["c", sent.length]]
        )
      }
      yield* Deferred.succeed(gate, undefined)
      const answer = yield* Effect.promise(() => b.result(held.run))
      assert.strictEqual(answer.status, "complete")
      const c = yield* host(url, "c", gate)
      for (const { task } of sent) {
        const { status, text: said } = yield* Effect.promise(() => c.result(task.id))
        assert.strictEqual(`${status} ${said}`, "complete of c")
      }
      assert.deepStrictEqual(yield* Effect.promise(() => a.unhosted()), [])
    }),
  60_000
)
