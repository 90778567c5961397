/** kill -9 behind a message and behind a decision that a backend made for somebody: what is durable names both. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { anna, carl, options } from "./ActedShop.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

/** Starts a process for one act, and kills it once the act is durable. */
const killed = Effect.fnUntraced(function* (store: object, act: string) {
  const child = yield* Children.start("test/process/acted.ts", [JSON.stringify(store), act])
  yield* child.printed(new RegExp(`did ${act}`))
  yield* child.kill
})

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: run, approval and erasure name the backend and its user`,
    () =>
      Effect.gen(function* () {
        const store = (yield* home) as { readonly directory: string }
        yield* killed(store, "ask")
        yield* killed(store, "decide")
        yield* Effect.promise(async () => {
          const troupe = await start({ ...options, store })
          try {
            const [item] = await troupe.runs({}, anna)
            assert.deepInclude(item, { by: "carl", via: "web" })
            const { status } = await troupe.result(item!.id, carl)
            assert.strictEqual(status, "complete")
            const [approval] = await troupe.approvals({ status: "decided" }, anna)
            assert.deepInclude(approval, {
              asked_by: "carl",
              asked_via: "web",
              decided_by: "anna",
              decided_via: "office"
            })
            const acts = (await troupe.runEvents(item!.id, {}, anna)).flatMap(({ event }) =>
              "by" in event && event.by !== undefined ? [[event._tag, event.by, event.via]] : []
            )
            assert.deepStrictEqual(acts, [
              ["RunAccepted", "carl", "web"],
              ["ApprovalDecided", "anna", "office"]
            ])
            await troupe.deleteConversation(item!.conversation, carl)
            const admin = { id: "admin", tenant: "default", roles: ["admin"] }
            const [erasure] = await troupe.erasures({}, admin)
            assert.deepInclude(erasure, { by: "carl", via: "web" })
            const report = await troupe.erase({ subject: "web" }, admin)
            assert.deepStrictEqual(report.found, [])
            const [, again] = await troupe.erasures({}, admin)
            assert.notInclude(JSON.stringify(again), "web")
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    120_000
  )
}
