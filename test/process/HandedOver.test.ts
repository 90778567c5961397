/** kill -9 of the process that a conversation was handed over in: the next one goes on with the agent and the context. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as Children from "./Child.ts"
import * as HandedShop from "./HandedShop.ts"
import * as Homes from "./Homes.ts"

const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const said = /waiting (\{.*\})/
const token = "a-token-of-olga-1234"

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: a handed over run goes on with its typed context, without its secrets`,
    () =>
      Effect.gen(function* () {
        const store = (yield* home) as { readonly directory: string }
        const child = yield* Children.start("test/process/talker.ts", [JSON.stringify(store)])
        yield* child.printed(said)
        const { conversation, run } = JSON.parse(said.exec(child.text())?.[1] ?? "") as {
          readonly [name in "conversation" | "run"]: string
        }
        yield* child.kill
        yield* Effect.promise(async () => {
          const asked: Array<ReadonlyArray<string>> = []
          const turns = [call("verify"), text("It is paid."), text("Yesterday.")]
          const troupe = await start({
            ...HandedShop.options,
            store,
            http: { tokens: [{ token, principal: olga }] },
            model: layer(({ agent, system }) => {
              asked.push([agent, system])
              return turns.shift()
            })
          })
          try {
            const [question] = await troupe.pending(olga)
            assert.strictEqual(question?.payload.agent_name, "billing")
            await troupe.decide(question?.id ?? "", { decision: "approve" }, olga)
            const ended = await troupe.result(run, olga)
            assert.deepInclude(ended, { status: "complete", text: "It is paid." })
            assert.deepInclude(ended as object, { agent: "billing" })
            const settled: Array<unknown> = []
            for await (const item of troupe.watch(run, undefined, olga)) {
              const event = item._tag === "Event" ? item.entry.event : undefined
              if (event?._tag !== "CallSettled") continue
              const { outcome } = event
              settled.push(outcome._tag === "Failed" ? outcome.error.reason : outcome)
            }
            assert.deepStrictEqual(settled.slice(1), [
              { _tag: "Value", json: "1008" },
              "RUN_CONTEXT_SECRETS"
            ])
            const next = { text: "When?", conversation, context: HandedShop.context }
            const second = await troupe.ask(next, olga)
            assert.strictEqual(second.text, "Yesterday.")
            const bill = ["billing", "Bill customer 1003."]
            assert.deepStrictEqual(asked, [bill, bill, bill])
            // Each that had a run's conversation finds the run; the message after the handoff was billing's alone.
            const runs = async (agent: string) =>
              (await troupe.runs({ agent }, olga)).map(({ id }) => id)
            assert.deepStrictEqual(
              [await runs("triage"), await runs("billing")],
              [[run], [second.run, run]]
            )
            const headers = { authorization: `Bearer ${token}` }
            const url = `http://localhost/v1/runs/${run}`
            const shown = await troupe.handler(new Request(url, { headers }))
            assert.deepInclude(await shown.json(), { agent: "billing", status: "complete" })
          } finally {
            await troupe.stop()
          }
        })
      }).pipe(Effect.scoped),
    60_000
  )
}
