/** kill -9 while side runs are at work, and messages behind them: the next process goes on with each of them. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import { olga, options } from "./SideShop.ts"

const said = /open (\[.*\])/

type Opened = Readonly<Record<"conversation" | "waiting" | "approval" | "side" | "behind", string>>

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: side runs and what is behind them are answered by the next process, once and in order`,
    () =>
      Effect.gen(function* () {
        const store = yield* home
        const child = yield* Children.start("test/process/sideasker.ts", [JSON.stringify(store)])
        yield* child.printed(said)
        const [open, decided] = JSON.parse(said.exec(child.text())?.[1] ?? "") as [Opened, Opened]
        yield* child.kill
        yield* Effect.promise(async () => {
          const troupe = await start({
            ...options(false),
            store: store as { readonly directory: string }
          })
          const tags = async (run: string) => {
            const entries = await troupe.runEvents(run, { limit: 500 }, olga)
            return entries.map(({ event }) => event._tag)
          }
          const texts = async ({ behind, side, waiting }: Opened) => {
            const ends = [waiting, side, behind].map((run) => troupe.result(run, olga))
            return (await Promise.all(ends)).map((each) => "text" in each && each.text)
          }
          try {
            for (const run of [open.side, open.behind]) {
              const { status } = await troupe.result(run, olga)
              assert.strictEqual(status, "complete")
            }
            assert.notInclude(await tags(open.waiting), "ApprovalDecided")
            await troupe.decide(open.approval, { _tag: "Approve" }, olga)
            assert.deepStrictEqual(await texts(open), ["done: pay", "beside: two", "beside: three"])
            // The second run was a side run when the process was killed, and the third had not begun.
            assert.deepStrictEqual(await texts(decided), [
              "done: pay",
              "beside: two",
              "done: three"
            ])
            for (const run of [open.side, open.behind, decided.side]) {
              const all = await tags(run)
              assert.lengthOf(
                all.filter((tag) => tag === "RunBeside" || tag === "RunEnded"),
                2
              )
              assert.notInclude(all, "CallDispatched")
            }
            assert.notInclude(await tags(decided.behind), "RunBeside")
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    120_000
  )
}
