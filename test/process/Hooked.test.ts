/** kill -9 while webhooks are delivered: the next process delivers all of it, signed with the same secret, under the same ids. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { setTimeout } from "node:timers/promises"
import { start } from "../../layers/compose/entries/Embed.ts"
import { eventIn, receiver, verifies } from "../channel/Receiver.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import { ada, options } from "./HookedShop.ts"

const said = /open (\{.*\})/

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: what was written, and what was under way, is delivered by the next process`,
    () =>
      Effect.gen(function* () {
        const store = yield* home
        const hook = yield* Effect.acquireRelease(Effect.promise(receiver), ({ close }) =>
          Effect.sync(close)
        )
        hook.always("never")
        const child = yield* Children.start("test/process/hooked.ts", [
          JSON.stringify(store),
          hook.url
        ])
        yield* child.printed(said)
        const { id, runs, secret } = JSON.parse(said.exec(child.text())?.[1] ?? "") as {
          readonly id: string
          readonly runs: ReadonlyArray<string>
          readonly secret: string
        }
        yield* Effect.promise(async () => {
          while (hook.seen.length === 0) await setTimeout(10)
        })
        yield* child.kill
        const before = hook.seen.length
        hook.always({ status: 204 })
        yield* Effect.promise(async () => {
          const troupe = await start({
            ...options,
            store: store as { readonly directory: string }
          })
          try {
            for (;;) {
              const found = await troupe.webhookDeliveries(id, { status: "delivered" }, ada)
              if (found.length === 3) break
              await setTimeout(20)
            }
            const after = hook.seen.slice(before)
            assert.deepStrictEqual(
              after.map((request) => String(eventIn(request).subject)).toSorted(),
              runs.toSorted()
            )
            const idOf = new Map(after.map(eventIn).map(({ id, subject }) => [subject, id]))
            for (const request of hook.seen) {
              const event = eventIn(request)
              assert.strictEqual(event.id, idOf.get(event.subject))
              assert.isTrue(verifies(secret, request))
            }
            assert.notInclude(child.text().replace(said, ""), secret.slice(6))
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    120_000
  )
}
