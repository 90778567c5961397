/** kill -9 while a person is asked about an answer, and while a guard judges a message: the next process goes on. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Children from "./Child.ts"
import { clerk, doubts, payOf } from "./GuardedShop.ts"
import * as Homes from "./Homes.ts"

const olga = new Principal({ id: "olga", tenant: Tenant.make("default"), roles: ["operator"] })

/** Starts a process, kills it once it has printed its line, and gives what is in that line. */
const killed = Effect.fnUntraced(function* (store: object, guard: string, line: RegExp) {
  const child = yield* Children.start("test/process/guarded.ts", [JSON.stringify(store), guard])
  yield* child.printed(line)
  const said = JSON.parse(line.exec(child.text())?.[1] ?? "") as Record<string, string>
  yield* child.kill
  return said
})

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: the answer that guards ask about stands once a person approves it, and its call runs once`,
    () =>
      Effect.gen(function* () {
        const store = (yield* home) as { readonly directory: string }
        const { id, run } = yield* killed(store, "doubts", /asking (\{.*\})/)
        yield* Effect.promise(async () => {
          const paid = { times: 0 }
          const troupe = await start({
            agents: [clerk],
            store,
            tools: [payOf(paid)],
            guards: [doubts],
            model: layer(() => text("It is paid."))
          })
          try {
            await troupe.decide(id!, { decision: "approve" }, olga)
            const ended = await troupe.result(run!, olga)
            assert.deepInclude(ended, { status: "complete", text: "It is paid." })
            assert.strictEqual(paid.times, 1)
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    90_000
  )

  it.live(
    `kill -9 on ${engine}: a message whose guard had not answered is judged again`,
    () =>
      Effect.gen(function* () {
        const store = (yield* home) as { readonly directory: string }
        const { run } = yield* killed(store, "silent", /judging (\{.*\})/)
        yield* Effect.promise(async () => {
          let turns = 0
          const troupe = await start({
            agents: [clerk],
            store,
            tools: [payOf({ times: 0 })],
            guards: [doubts],
            model: layer(() => (turns++ === 0 ? call("pay") : text("It is paid.")))
          })
          try {
            const ended = await troupe.result(run!, olga)
            assert.deepInclude(ended, { status: "complete", text: "It is paid." })
            assert.strictEqual(turns, 2)
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    90_000
  )
}
