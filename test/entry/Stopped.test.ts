import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Store } from "../../layers/compose/options/ServiceOptions.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { either } from "../Long.ts"
import * as Homes from "../process/Homes.ts"
import { inLongFormPlain } from "../InLongForm.ts"

const by = (role: "admin" | "approver") =>
  new Principal({ id: role, tenant: "default" as never, roles: [role] })

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }) => `order ${order} is paid back`
)

/** Asks for a refund, never ends, or answers, as the message says. */
const model = scripted(({ step, transcript }) => {
  const [said] = transcript
  const asked = said?.role === "user" ? said.text : ""
  if (asked === "wait") return Effect.never
  return asked === "refund" && step === 1 ? call("refund", { order: "1003" }) : text("done")
})

const open = (store: Store) =>
  start({
    agents: [AgentSpec.make({ name: "shop" as never, instructions: "Help.", tools: ["refund"] })],
    tools: [refund],
    model,
    store
  })

const rounds = either(1, 4)

const tagOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "resolved",
    (error: { readonly _tag?: string }) => error._tag ?? String(error)
  )

/** The run that a wait ended without, which the stop of its service names. */
const runOf = (promise: Promise<unknown>): Promise<string | undefined> =>
  promise.then(
    () => "none: it ended",
    (error: { readonly run?: string }) => error.run
  )

const readAll = async (items: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of items);
}

const scope = Scope.makeUnsafe()
let durable: Store
beforeAll(async () => {
  durable = await Effect.runPromise(Scope.provide(Homes.durable, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const question = async (troupe: NodeService) => {
  const asked = await troupe.ask({ agent: "shop", text: "refund" })
  assert.strictEqual(asked.status, "awaiting_approval")
  return { ...asked, approval: asked.status === "awaiting_approval" ? asked.approvals[0]!.id : "" }
}

/** Whatever waits when it stops, and nothing else. */
const waits = (troupe: NodeService, run: string, conversation: string) => [
  troupe.result(run),
  troupe.result(run, undefined, { timeout_ms: 60_000, cancel: true }),
  troupe.ask({ agent: "shop", text: "wait" }, undefined, { timeout_ms: 60_000, cancel: true }),
  readAll(troupe.watch(run)),
  readAll(troupe.watch(conversation)),
  readAll(troupe.stream({ agent: "shop", text: "wait" }))
]

const refused = async (troupe: NodeService, run: string, approval: string): Promise<void> => {
  const admin = by("admin")
  const tags = await Promise.all(
    [
      troupe.send({ agent: "shop", text: "hello" }),
      troupe.ask({ agent: "shop", text: "hello" }),
      troupe.result(run),
      troupe.decide(approval, { _tag: "Approve" }, by("approver")),
      troupe.pending(),
      troupe.cancel(run, admin, "no longer needed"),
      troupe.runs(),
      troupe.stopTools(true, admin),
      readAll(troupe.watch(run)),
      readAll(troupe.stream({ agent: "shop", text: "hello" }))
    ].map(tagOf)
  )
  assert.deepStrictEqual(new Set(tags), new Set(["ShuttingDown"]))
}

describe("a service that stops", () => {
  for (const kind of (["durable", "ephemeral"] as const).slice(0, either(1, 2))) {
    it(`ends waits and watches (${kind}), and cancels no run for it`, async () => {
      const store = kind === "ephemeral" ? kind : durable
      const troupe = await open(store)
      const { run } = await troupe.send({ agent: "shop", text: "wait" })
      const { approval, conversation, run: other } = await question(troupe)
      const ends = Promise.all(waits(troupe, run, conversation).map(tagOf))
      const paused = troupe.watch(other)[Symbol.asyncIterator]()
      await paused.next()
      // All of them wait.
      await new Promise((resolve) => setTimeout(resolve, 300))
      await troupe.stop()
      assert.deepStrictEqual(new Set(await ends), new Set(["ShuttingDown"]))
      // What it was given before is there; then it ends too.
      assert.strictEqual(
        await tagOf(readAll({ [Symbol.asyncIterator]: () => paused })),
        "ShuttingDown"
      )
      await refused(troupe, other, approval)
      await troupe.stop()
      if (kind === "ephemeral") return
      const next = await open(store)
      for (const each of await next.runs()) assert.notStrictEqual(each.status, "cancelled")
      await next.decide(approval, { _tag: "Approve" }, by("approver"))
      assert.strictEqual((await next.result(other)).status, "complete")
      for (const { id, status } of await next.runs()) {
        if (status !== "awaiting_approval" && status !== "complete")
          await next.cancel(id, by("admin"), "no longer needed")
      }
      await next.stop()
    })
  }

  inLongFormPlain(
    "names the run that each wait was for, and the next service goes on with it",
    async () => {
      const troupe = await open(durable)
      const begun = await troupe.send({ agent: "shop", text: "wait" })
      const asked = troupe.ask({ agent: "shop", text: "wait" })
      const named = Promise.all([troupe.result(begun.run), asked].map(runOf))
      while ((await troupe.runs()).filter(({ status }) => status === "processing").length < 2) {
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      await troupe.stop()
      const [first, second] = await named
      assert.strictEqual(first, begun.run)
      assert.strictEqual(await runOf(troupe.result(begun.run)), undefined)
      const next = await open(durable)
      for (const run of [first, second]) {
        assert.isDefined(run)
        const end = next.result(run!)
        await next.cancel(run!, by("admin"), "no longer needed")
        assert.strictEqual((await end).status, "cancelled")
      }
      await next.stop()
    }
  )

  it("ends the calls that were begun before it, and what they did is durable", async () => {
    const troupe = await open(durable)
    const { approval, run } = await question(troupe)
    const decided = troupe.decide(approval, { _tag: "Approve" }, by("approver"))
    const sent = troupe.send({ agent: "shop", text: "hello" })
    await Promise.all([troupe.stop(), decided, sent])
    const next = await open(durable)
    assert.strictEqual((await next.result(run)).status, "complete")
    assert.strictEqual((await next.result((await sent).run)).status, "complete")
    await next.stop()
  })

  it("closes its store behind the calls that read it", async () => {
    for (let round = 0; round < rounds; round++) {
      const troupe = await open(durable)
      const { run } = await troupe.ask({ agent: "shop", text: "hello" })
      const times = Array.from({ length: 30 })
      const reads = Promise.all(times.map(() => tagOf(troupe.runs())))
      // They read too, and a stop ends them before or after it.
      const waits = Promise.all(
        times.flatMap(() => [tagOf(troupe.result(run)), tagOf(readAll(troupe.watch(run)))])
      )
      await troupe.stop()
      assert.deepStrictEqual(new Set(await reads), new Set(["resolved"]))
      assert.includeMembers(["resolved", "ShuttingDown"], [...new Set(await waits)])
    }
  })
})
