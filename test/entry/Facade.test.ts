import { assert, describe, it } from "vitest"
import { Effect, Schema } from "effect"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { hostile } from "./HostileValues.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const stranger = new Principal({ id: "x", tenant: Tenant.make("other"), roles: ["admin"] })

interface Rejected {
  readonly _tag?: string
  readonly message?: string
  readonly field?: string
}
const rejected = (promise: Promise<unknown>): Promise<Rejected> =>
  promise.then(
    () => ({}),
    (error: Rejected) => error
  )

/** A shop that asks before it pays; `asks` questions one after the other. */
const shop = async (
  use: (troupe: NodeService, paid: ReadonlyArray<string>) => Promise<void>,
  asks = 1
) => {
  const paid: Array<string> = []
  const refund = tool(
    {
      namespace: "shop",
      name: "refund",
      description: "Pays an order back.",
      side_effects: "external",
      input: Schema.Struct({ order: Schema.String }),
      output: Schema.String
    },
    ({ order }) =>
      Effect.sync(() => {
        paid.push(order)
        return order
      })
  )
  const troupe = await start({
    agents: [
      AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help.", tools: ["refund"] })
    ],
    tools: [refund],
    model: layer(({ transcript }) => {
      const results = transcript.filter(({ role }) => role === "tool").length
      return results < asks ? call("refund", { order: String(results) }) : text("done")
    })
  })
  try {
    await use(troupe, paid)
  } finally {
    await troupe.stop()
  }
}

/** A run of four results of three million characters each. */
const largeRun = async (use: (troupe: NodeService, run: string) => Promise<void>) => {
  const look = tool(
    {
      namespace: "shop",
      name: "look",
      description: "Looks.",
      side_effects: "read",
      input: Schema.Struct({ n: Schema.Int }),
      output: Schema.String
    },
    () => Effect.succeed("x".repeat(3_000_000))
  )
  const troupe = await start({
    agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["look"] })],
    tools: [look],
    model: layer(({ step }) => (step <= 4 ? call("look", { n: step }) : text("done")))
  })
  try {
    await use(troupe, (await troupe.ask({ agent: "shop", text: "Look" })).run)
  } finally {
    await troupe.stop()
  }
}

const message = { agent: "shop", text: "Pay it back" }
const nobody = "00000000-0000-4000-8000-000000000000"

describe("the facade", () => {
  it("gives the rows of a large run in pages, each of which ends behind 8 million characters", () =>
    largeRun(async (troupe, run) => {
      const seqs: Array<number> = []
      const sizes: Array<number> = []
      for (let rows = await troupe.runEvents(run, { limit: 500 }); rows.length > 0;) {
        sizes.push(rows.reduce((sum, { event }) => sum + JSON.stringify(event).length, 0))
        seqs.push(...rows.map(({ seq }) => seq))
        rows = await troupe.runEvents(run, { limit: 500, after: seqs.length - 1 })
      }
      assert.lengthOf(sizes, 2)
      for (const size of sizes) assert.isBelow(size, 11_100_000)
      assert.deepStrictEqual(
        seqs,
        Array.from(seqs, (_, seq) => seq)
      )
    }))

  it("ask returns at each question, and result goes on to the end", () =>
    shop(async (troupe, paid) => {
      const first = await troupe.ask(message)
      assert.strictEqual(first.status, "awaiting_approval")
      if (first.status !== "awaiting_approval") return
      assert.strictEqual(first.approvals[0]?.payload.tool_name, "refund")
      // Nothing has changed: the same again.
      assert.deepStrictEqual(await troupe.result(first.run), first)
      await troupe.decide(first.approvals[0]!.id, { decision: "approve" }, boss)
      const second = await troupe.result(first.run)
      if (second.status !== "awaiting_approval") return assert.fail(second.status)
      assert.strictEqual(second.approvals.length, 1)
      await troupe.decide(second.approvals[0]!.id, { decision: "deny", reason: "fraud" }, boss)
      const end = await troupe.result(first.run)
      assert.deepInclude(end, { status: "complete", text: "done", run: first.run })
      assert.deepStrictEqual(paid, ["0"])
      assert.deepStrictEqual(await troupe.result(first.run), end)
    }, 2))

  // What this says in types is checked by the compiler: a tenant is a branded text, and a text may be given.
  it("takes a plain object as a principal", () =>
    shop(async (troupe, paid) => {
      const tenant: string = "default"
      const olga = { id: "olga", tenant, roles: ["operator", "approver"] } as const
      const asked = await troupe.ask(message, olga)
      const [question] = await troupe.pending(olga)
      await troupe.decide(question!.id, { decision: "approve" }, olga)
      const end = await troupe.result(asked.run, olga)
      for await (const item of troupe.watch(asked.run, undefined, olga)) assert.isString(item._tag)
      assert.deepInclude(end, { status: "complete", text: "done" })
      assert.deepStrictEqual(paid, ["0"])
    }))

  it("a decision of an unknown shape starts no payment", () =>
    shop(async (troupe, paid) => {
      const asked = await troupe.ask(message)
      if (asked.status !== "awaiting_approval") return assert.fail(asked.status)
      const { id } = asked.approvals[0]!
      for (const value of hostile) {
        const error = await rejected(troupe.decide(id, value as never, boss))
        assert.strictEqual(error._tag, "InvalidInput")
      }
      assert.deepStrictEqual(await troupe.result(asked.run), asked)
      assert.deepStrictEqual(paid, [])
    }))

  it("every error has a tag and a message, also for ids of no shape", () =>
    shop(async (troupe) => {
      const none = "00000000-0000-4000-8000-000000000000"
      const say = { _tag: "Approve" } as const
      const errors: ReadonlyArray<readonly [string, Promise<unknown>]> = [
        ["InvalidInput", troupe.decide("x", say, boss)],
        ["InvalidInput", troupe.cancel("x", service_principal, "enough")],
        ["InvalidInput", troupe.records("x")],
        ["InvalidInput", troupe.rawEvents(nobody, { after: 1.5 })],
        ["InvalidInput", troupe.rawEvents(nobody, { after: -2 })],
        ["InvalidInput", troupe.rawEvents(nobody, "x" as never)],
        ["InvalidInput", troupe.rawEvents(nobody, { after: 1e12 })],
        ["InvalidInput", troupe.rawEvents(nobody, null as never)],
        ["InvalidInput", troupe.result("x")],
        ["InvalidInput", troupe.ask({ agent: "shop", text: "" })],
        ["InvalidInput", troupe.ask(message, boss, { timeout_ms: 0 })],
        ["InvalidInput", troupe.ask(message, boss, { cancel: "yes" } as never)],
        ["InvalidInput", troupe.ask(message, boss, { signal: {} } as never)],
        ["InvalidInput", troupe.ask(message, boss, { foo: 1 } as never)],
        ["InvalidInput", troupe.ask(message, boss, null as never)],
        ["InvalidInput", troupe.pending("boss" as never)],
        ["InvalidInput", troupe.stopTools("no" as never, service_principal)],
        ["ApprovalNotFound", troupe.decide(none, say, boss)],
        ["RunNotFound", troupe.cancel(none, service_principal, "enough")],
        ["RunNotFound", troupe.records(none)],
        ["RunNotFound", troupe.settle(none, "0/1.0", { _tag: "RunAgain" }, service_principal)],
        ["NotEntitled", troupe.cancel(none, boss, "enough")],
        ["NotEntitled", troupe.send(message, boss)],
        ["RunNotFound", troupe.result(none)],
        ["AgentNotFound", troupe.send({ agent: "nobody", text: "x" })],
        ["NotEntitled", troupe.stopTools(true, boss)]
      ]
      for (const [tag, promise] of errors) {
        const error = await rejected(promise)
        assert.strictEqual(error._tag, tag)
        assert.isNotEmpty(error.message, tag)
      }
      // What is wrong with a wait is found before anything is sent.
      assert.deepStrictEqual(await troupe.runs({}, boss), [])
    }))

  it("a wait ends by its time and by its signal, and the run goes on unless it is cancelled too", () =>
    shop(async (troupe) => {
      await troupe.stopAllTools(false)
      const { run, conversation } = await troupe.send(message)
      const before = new AbortController()
      before.abort(new Error("too late"))
      assert.strictEqual(
        (await rejected(troupe.ask(message, boss, { signal: before.signal }))).message,
        "too late"
      )
      const asked = await troupe.result(run)
      assert.strictEqual(asked.status, "awaiting_approval")
      // Behind a run that waits for a person the next one waits too.
      const next = await troupe.send({ ...message, conversation })
      const late = await rejected(troupe.result(next.run, boss, { timeout_ms: 5 }))
      assert.strictEqual(late._tag, "WaitTimedOut")
      assert.isNotEmpty(late.message)
      const gone = new AbortController()
      const waiting = rejected(troupe.result(next.run, boss, { signal: gone.signal }))
      gone.abort(new Error("gone"))
      assert.strictEqual((await waiting).message, "gone")
      assert.strictEqual((await troupe.result(run)).status, "awaiting_approval")
      await rejected(troupe.result(next.run, service_principal, { timeout_ms: 5, cancel: true }))
      await troupe.cancel(run, service_principal, "enough")
      assert.strictEqual((await troupe.result(next.run)).status, "cancelled")
    }))

  it("watch takes a run or a conversation, says where the past is over, and refuses what is neither", () =>
    shop(async (troupe) => {
      const asked = await troupe.ask(message)
      const seen: Array<string> = []
      const of = async (id: string, by?: Principal) => {
        for await (const item of troupe.watch(id, undefined, by)) {
          seen.push(item._tag === "Event" ? item.entry.event._tag : item._tag)
          if (item._tag === "CaughtUp") return
        }
      }
      await of(asked.run)
      assert.strictEqual(seen[0], "RunAccepted")
      assert.strictEqual(seen.at(-2), "ApprovalRequested")
      const length = seen.length
      await of(asked.conversation)
      assert.strictEqual(seen.length, 2 * length)
      for (const id of ["nothing", "00000000-0000-4000-8000-000000000000"]) {
        assert.strictEqual((await rejected(of(id)))._tag, "ConversationNotFound")
      }
      assert.strictEqual((await rejected(of(asked.run, stranger)))._tag, "ConversationNotFound")
      assert.strictEqual(
        (await rejected(troupe.records(asked.run, {}, stranger)))._tag,
        "RunNotFound"
      )
      assert.strictEqual((await rejected(of("a b")))._tag, "InvalidInput")
      // A run's own watch ends with it.
      await troupe.cancel(asked.run, service_principal, "enough")
      let last: string | undefined
      for await (const item of troupe.watch(asked.run)) {
        if (item._tag === "Event") last = item.entry.event._tag
      }
      assert.strictEqual(last, "RunEnded")
    }))

  it("watch of a run that has ended gives its past, says that it is over, and ends", () =>
    shop(async (troupe) => {
      const first = await troupe.ask(message)
      await troupe.cancel(first.run, service_principal, "enough")
      // What came after it in the conversation, and goes on, is not waited for.
      const later = await troupe.ask({ ...message, conversation: first.conversation })
      const of = async (run: string, after?: { ordinal: number; seq: number }) => {
        const seen: Array<string> = []
        for await (const item of troupe.watch(run, after)) {
          seen.push(item._tag === "Event" ? item.entry.event._tag : item._tag)
        }
        return seen
      }
      const all = await of(first.run)
      assert.strictEqual(all[0], "RunAccepted")
      assert.deepStrictEqual(all.slice(-2), ["RunEnded", "CaughtUp"])
      assert.strictEqual(all.filter((each) => each === "CaughtUp").length, 1)
      // Behind its last event there is nothing.
      assert.deepStrictEqual(await of(first.run, { ordinal: 1, seq: all.length - 2 }), ["CaughtUp"])
      assert.deepStrictEqual(await of(first.run, { ordinal: 1, seq: all.length - 3 }), [
        "RunEnded",
        "CaughtUp"
      ])
      assert.deepStrictEqual(await of(first.run, { ordinal: 2, seq: -1 }), ["CaughtUp"])
      await troupe.cancel(later.run, service_principal, "enough")
      assert.deepStrictEqual(await of(later.run, { ordinal: 2, seq: 10_000 }), ["CaughtUp"])
    }))
})
