/** kill -9 of the process whose run waits for a client: another one takes the answer, and the run goes on. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Children from "./Child.ts"
import { toolConfigs, waiter } from "./ClientShop.ts"
import * as Homes from "./Homes.ts"

const olga = new Principal({ id: "olga", tenant: Tenant.make("default"), roles: ["operator"] })
const said = /waiting (\{.*\})/

for (const [engine, home] of Homes.some) {
  it.live(
    `AG-56 kill -9 on ${engine}: a call that waits for its client is answered by the next process`,
    () =>
      Effect.gen(function* () {
        const store = yield* home
        const child = yield* Children.start("test/process/asker.ts", [JSON.stringify(store)])
        yield* child.printed(said)
        const { conversation, id, run } = JSON.parse(said.exec(child.text())?.[1] ?? "") as {
          readonly [name in "conversation" | "id" | "run"]: string
        }
        yield* child.kill
        yield* Effect.promise(async () => {
          const troupe = await start({
            agents: [waiter],
            store: store as { readonly directory: string },
            toolConfigs,
            model: layer(() => text("It is picked."))
          })
          try {
            const waiting = await troupe.clientCalls(conversation, olga)
            assert.deepStrictEqual(
              waiting.map((each) => each.id),
              [id]
            )
            await troupe.answerClientCall(id, { result: [1, 2] }, olga)
            const ended = await troupe.result(run, olga)
            assert.deepInclude(ended, { status: "complete", text: "It is picked." })
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    60_000
  )
}
