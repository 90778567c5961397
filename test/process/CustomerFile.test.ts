/** kill -9 between a file that a tool attached for the customer and the end of its run: the next process answers with the file. */
import { createHash } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import * as PaintedShop from "./PaintedShop.ts"

const { carl } = PaintedShop
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const said = /waiting (\{.*\})/
const digestOf = (data: string) => createHash("sha256").update(data).digest("hex")

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: a file for the customer is in the answer of the next process`,
    () =>
      Effect.gen(function* () {
        const store = (yield* home) as { readonly directory: string }
        const child = yield* Children.start("test/process/painter.ts", [JSON.stringify(store)])
        yield* child.printed(said)
        const { conversation, run } = JSON.parse(said.exec(child.text())?.[1] ?? "") as {
          readonly [name in "conversation" | "run"]: string
        }
        yield* child.kill
        yield* Effect.promise(async () => {
          const model = layer(() => text("Here is the bill."))
          const troupe = await start({ ...PaintedShop.options, store, model })
          try {
            const [question] = await troupe.pending(olga)
            await troupe.decide(question?.id ?? "", { decision: "approve" }, olga)
            const answer = await troupe.result(run, carl)
            assert.deepInclude(answer, { status: "complete" })
            const { files } = answer as { readonly files?: ReadonlyArray<object> }
            assert.lengthOf(files ?? [], 1)
            assert.deepInclude(files?.[0], { name: "bill.txt", digest: digestOf("bill") })
            const { data } = await troupe.file(conversation, digestOf("bill"), carl)
            assert.strictEqual(Buffer.from(data).toString(), "bill")
            const hidden = await troupe
              .file(conversation, digestOf("margin"), carl)
              .catch((error: { readonly _tag: string }) => error._tag)
            assert.strictEqual(hidden, "FileNotFound")
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    60_000
  )
}
