/** Tools of a client: the run waits for a result from outside, parks, survives restarts, and takes one result in time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ClientTools from "../../layers/builtin/ClientTools.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as Homes from "../process/Homes.ts"

const tenant = Tenant.make("default")
const person = (id: string, roles: ReadonlyArray<Role>, of = tenant) =>
  new Principal({ id, tenant: of, roles: [...roles] })
const olga = person("olga", ["operator"])
const ada = person("ada", ["approver"])
const carl = person("carl", ["customer"])
const cora = person("cora", ["customer"])
const otto = person("otto", ["operator"], Tenant.make("other"))

const pick = {
  type: "client",
  name: "pick_date",
  description: "Lets the user pick a date.",
  permission: "allow",
  input_schema: {
    type: "object",
    properties: { title: { type: "string" } },
    required: ["title"],
    additionalProperties: false
  },
  output_schema: {
    type: "object",
    properties: { date: { type: "string", pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" } },
    required: ["date"],
    additionalProperties: false
  }
} as const

interface Scene extends Partial<Options> {
  readonly config?: object
  readonly times?: number
}

const shop = AgentSpec.make({
  name: AgentName.make("shop"),
  instructions: "Help.",
  tools: ["pick_date"]
})

/** Its model calls the client's tool, so often at once, and answers with what it was given. */
const open = ({ config, times = 1, ...more }: Scene = {}) =>
  start({
    agents: [shop],
    customer_agents: ["shop"],
    model: layer(({ transcript }) => {
      const results = transcript.filter(({ role }) => role === "tool")
      if (results.length > 0) return text(JSON.stringify(results))
      const turns = Array.from({ length: times }, (_, n) => call("pick_date", { title: `T${n}` }))
      return calls(turns)
    }),
    toolConfigs: { tools: [{ ...pick, ...config } as never] },
    ...more
  })

const using = async (scene: Scene, use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await open(scene)
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const eventsOf = async (troupe: NodeService, run: string): Promise<ReadonlyArray<RunEvent>> => {
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(run)) {
    if (item._tag === "Event") events.push(item.entry.event)
    if (item._tag === "CaughtUp") break
  }
  return events
}

const tagsOf = async (troupe: NodeService, run: string) =>
  (await eventsOf(troupe, run)).map(({ _tag }) => _tag)

const settledIn = async (troupe: NodeService, run: string) =>
  (await eventsOf(troupe, run)).flatMap((event) => (event._tag === "CallSettled" ? [event] : []))

interface Refusal {
  readonly _tag: string
  readonly message: string
}
const refusalOf = (promise: Promise<unknown>): Promise<Refusal> =>
  promise.then(
    () => assert.fail("it was not refused"),
    (error: Refusal) => error
  )

/** Sends a message and gives the run, with the call that waits. */
const asked = async (troupe: NodeService, by = olga) => {
  const found = await troupe.ask({ agent: "shop", text: "When?" }, by)
  assert.strictEqual(found.status, "awaiting_approval")
  const { client_calls } = found as {
    readonly client_calls: ReadonlyArray<{ readonly id: string }>
  }
  return { run: found.run, conversation: found.conversation, id: client_calls[0]?.id ?? "" }
}

const date = { result: { date: "2026-11-23" } }

describe("a tool of a client", () => {
  it("AG-56 waits for the result that the client gives, which the model reads", () =>
    using({}, async (troupe) => {
      const { conversation, id, run } = await asked(troupe)
      const [waiting, ...others] = await troupe.clientCalls(conversation, olga)
      assert.deepStrictEqual(others, [])
      const { expires_at = 0, requested_at = 0, ...shown } = { ...waiting }
      assert.deepStrictEqual<object>(shown, {
        id,
        run_id: run,
        call: "0/1.0",
        tool: "pick_date",
        arguments: { title: "T0" },
        output_schema: pick.output_schema
      })
      assert.isAtMost(expires_at - requested_at, 3_600_000)
      // It is no question to approvers.
      assert.deepStrictEqual(await troupe.pending(olga), [])
      await troupe.answerClientCall(id, date, olga)
      const ended = await troupe.result(run, olga)
      assert.strictEqual(ended.status, "complete")
      assert.include(ended.text, "2026-11-23")
      assert.deepStrictEqual(await troupe.clientCalls(conversation, olga), [])
      const [settled] = await settledIn(troupe, run)
      assert.deepInclude(settled, {
        by: "olga",
        outcome: { _tag: "Value", json: '{"date":"2026-11-23"}' }
      })
      assert.notInclude(await tagsOf(troupe, run), "CallDispatched")
    }))

  it("AG-56 AG-58 asks an approver first where it is not allowed, and a denial asks no client", () =>
    using({ config: { permission: "ask" } }, async (troupe) => {
      for (const isApproved of [true, false]) {
        const found = await troupe.ask({ agent: "shop", text: "When?" }, olga)
        const [question, ...others] = await troupe.pending(ada)
        assert.lengthOf(others, 0)
        assert.deepStrictEqual(await troupe.clientCalls(found.conversation, olga), [])
        const decision = isApproved
          ? ({ _tag: "Approve" } as const)
          : ({ _tag: "Deny", reason: "no" } as const)
        await troupe.decide(question!.id, decision, ada)
        if (!isApproved) {
          assert.strictEqual((await troupe.result(found.run, olga)).status, "complete")
          assert.notInclude(await tagsOf(troupe, found.run), "ClientRequested")
          continue
        }
        assert.strictEqual((await troupe.result(found.run, olga)).status, "awaiting_approval")
        const [waiting] = await troupe.clientCalls(found.conversation, olga)
        await troupe.answerClientCall(waiting!.id, date, olga)
        assert.strictEqual((await troupe.result(found.run, olga)).status, "complete")
      }
    }))

  it("refuses a result that does not fit, and waits on for one that does", () =>
    using({}, async (troupe) => {
      const { id, run } = await asked(troupe)
      const loop: Record<string, unknown> = {}
      loop["date"] = loop
      let deep: unknown = 1
      for (let n = 0; n < 200; n++) deep = [deep]
      const hostile = {
        get date(): string {
          throw new Error("hidden-secret")
        }
      }
      for (const [answer, tag] of [
        [{ result: { date: "tomorrow" } }, "ClientResultRefused"],
        [{ result: { date: "2026-11-23", more: 1 } }, "ClientResultRefused"],
        [{ result: {} }, "ClientResultRefused"],
        [{ result: null }, "ClientResultRefused"],
        [{ result: "2026-11-23" }, "ClientResultRefused"],
        [{ result: { date: "x".repeat(1_000_001) } }, "ClientResultRefused"],
        [{ result: loop }, "InvalidInput"],
        [{ result: { date: deep } }, "InvalidInput"],
        [{ result: hostile }, "InvalidInput"],
        [{ result: undefined }, "InvalidInput"],
        [{}, "InvalidInput"],
        [{ error: "" }, "InvalidInput"],
        [{ error: "x".repeat(4_001) }, "InvalidInput"],
        [{ ...date, error: "both" }, "InvalidInput"],
        [{ ...date, by: "boss" }, "InvalidInput"],
        ["a text", "InvalidInput"],
        [undefined, "InvalidInput"]
      ] as const) {
        const error = await refusalOf(troupe.answerClientCall(id, answer as never, olga))
        assert.strictEqual(error._tag, tag, JSON.stringify(error))
        assert.notInclude(JSON.stringify(error), "hidden-secret")
      }
      assert.lengthOf(await settledIn(troupe, run), 0)
      await troupe.answerClientCall(id, date, olga)
      assert.strictEqual((await troupe.result(run, olga)).status, "complete")
    }))

  it("is answered once, by whoever may, and for others it is not there", () =>
    using({}, async (troupe) => {
      const { conversation, id, run } = await asked(troupe, carl)
      const none = "00000000-0000-4000-8000-000000000000"
      for (const [by, tag] of [
        [cora, "ApprovalNotFound"],
        [otto, "ApprovalNotFound"],
        [ada, "NotEntitled"],
        [person("nemo", []), "NotEntitled"]
      ] as const) {
        const error = await refusalOf(troupe.answerClientCall(id, date, by))
        assert.strictEqual(error._tag, tag, by.id)
      }
      for (const [by, tag] of [
        [cora, "ConversationNotFound"],
        [otto, "ConversationNotFound"],
        [ada, "NotEntitled"]
      ] as const) {
        assert.strictEqual((await refusalOf(troupe.clientCalls(conversation, by)))._tag, tag, by.id)
      }
      assert.strictEqual(
        (await refusalOf(troupe.answerClientCall(none, date, carl)))._tag,
        "ApprovalNotFound"
      )
      assert.strictEqual(
        (await refusalOf(troupe.answerClientCall("x", date, carl)))._tag,
        "InvalidInput"
      )
      // A decision is no result.
      for (const decision of ["approve", "deny"] as const) {
        const given = decision === "approve" ? { decision } : { decision, reason: "no" }
        const error = await refusalOf(troupe.decide(id, given, ada))
        assert.strictEqual(error._tag, "DecisionUnfit")
      }
      assert.lengthOf(await settledIn(troupe, run), 0)
      const both = await Promise.allSettled([
        troupe.answerClientCall(id, date, carl),
        troupe.answerClientCall(id, { result: { date: "2026-12-24" } }, olga)
      ])
      assert.lengthOf(
        both.filter(({ status }) => status === "fulfilled"),
        1
      )
      const again = await refusalOf(troupe.answerClientCall(id, date, carl))
      assert.strictEqual(again._tag, "ApprovalSettled")
      assert.strictEqual((await troupe.result(run, carl)).status, "complete")
      assert.lengthOf(await settledIn(troupe, run), 1)
      assert.deepStrictEqual(await troupe.clientCalls(conversation, carl), [])
    }))

  it("cannot be authorised in advance: no dispatch would say by what it ran", () =>
    using({ config: { permission: "ask" } }, async (troupe) => {
      const error = await refusalOf(troupe.authorize({ agent: "shop", action: "pick_date" }, olga))
      assert.strictEqual(error._tag, "AuthorizationRefused")
    }))

  it("takes no result of a question to approvers", () =>
    using({ config: { permission: "ask" } }, async (troupe) => {
      await troupe.ask({ agent: "shop", text: "When?" }, olga)
      const [question] = await troupe.pending(ada)
      const error = await refusalOf(troupe.answerClientCall(question!.id, date, olga))
      assert.strictEqual(error._tag, "DecisionUnfit")
      assert.lengthOf(await troupe.pending(ada), 1)
    }))

  it("fails with what the client says where there is no result", () =>
    using({}, async (troupe) => {
      const { id, run } = await asked(troupe)
      await troupe.answerClientCall(id, { error: "the user closed the dialog" }, olga)
      const ended = await troupe.result(run, olga)
      assert.strictEqual(ended.status, "complete")
      const [settled] = await settledIn(troupe, run)
      assert.deepStrictEqual(settled?.outcome, {
        _tag: "Failed",
        error: {
          class: "ToolTerminalError",
          kind: "external",
          reason: "CLIENT_FAILED",
          message: "the user closed the dialog"
        }
      })
    }))

  it("is cancelled with its run, and takes no result then", () =>
    using({}, async (troupe) => {
      const { conversation, id, run } = await asked(troupe)
      await troupe.cancel(run, olga, "enough")
      assert.deepStrictEqual(await troupe.clientCalls(conversation, olga), [])
      const error = await refusalOf(troupe.answerClientCall(id, date, olga))
      assert.strictEqual(error._tag, "ApprovalSettled")
      assert.include(error.message, "cancelled")
      const [settled] = await settledIn(troupe, run)
      assert.strictEqual(settled?.outcome._tag, "Cancelled")
    }))

  it("several calls of one turn wait side by side, each for its own result", () =>
    using({ times: 3 }, async (troupe) => {
      const { conversation, run } = await asked(troupe)
      const waiting = await troupe.clientCalls(conversation, olga)
      assert.deepStrictEqual(
        waiting.map(({ arguments: args }) => args),
        [{ title: "T0" }, { title: "T1" }, { title: "T2" }]
      )
      for (const [n, { id }] of waiting.toReversed().entries()) {
        await troupe.answerClientCall(id, { result: { date: `2026-01-0${n + 1}` } }, olga)
      }
      assert.strictEqual((await troupe.result(run, olga)).status, "complete")
      const ended = await settledIn(troupe, run)
      assert.deepStrictEqual(
        ended.map(({ call, outcome }) => [call, outcome._tag === "Value" ? outcome.json : ""]),
        [
          ["0/1.2", '{"date":"2026-01-01"}'],
          ["0/1.1", '{"date":"2026-01-02"}'],
          ["0/1.0", '{"date":"2026-01-03"}']
        ]
      )
    }))

  it.live(
    "is answered by another process after a restart, and its record is what the run asked",
    () =>
      Effect.gen(function* () {
        const store = yield* Homes.durable
        yield* Effect.promise(async () => {
          const first = await open({ store })
          const { conversation, id, run } = await asked(first, carl)
          await first.stop()
          // Its agent is not for customers any more, who are shown nothing of it then.
          await using({ store, customer_agents: [] }, async (second) => {
            const closed = await refusalOf(second.clientCalls(conversation, carl))
            assert.strictEqual(closed._tag, "NotForCustomers")
            const stranger = await refusalOf(second.clientCalls(conversation, cora))
            assert.strictEqual(stranger._tag, "ConversationNotFound")
            const [waiting] = await second.clientCalls(conversation, olga)
            assert.strictEqual(waiting?.id, id)
            await second.answerClientCall(id, date, olga)
            assert.strictEqual((await second.result(run, olga)).status, "complete")
            const again = await refusalOf(second.answerClientCall(id, date, carl))
            assert.strictEqual(again._tag, "ApprovalSettled")
          })
        })
      })
  )

  it.effect("AG-56 waits an hour, or as long as its configuration says", () =>
    Effect.gen(function* () {
      for (const [more, expires_ms] of [
        [{}, 3_600_000],
        [{ expires_ms: 5_000 }, 5_000]
      ] as const) {
        const [tool] = yield* ClientTools.tools({ tools: [{ ...pick, ...more }] })
        assert.deepStrictEqual(tool?.client, { expires_ms })
      }
    })
  )

  it("ends the start where its configuration cannot be right", async () => {
    for (const [config, part] of [
      [{ wat: 1 }, "wat"],
      [{ name: "not a name" }, "name"],
      [{ expires_ms: 999 }, "expires_ms"],
      [{ expires_ms: 2_592_000_001 }, "expires_ms"],
      [{ expires_ms: 1_000.5 }, "expires_ms"],
      [{ output_schema: [] }, "output_schema"],
      [{ output_schema: { $ref: "#/no" } }, "output_schema"],
      [
        { output_schema: { $defs: { A: { $ref: "#/$defs/A" } }, $ref: "#/$defs/A" } },
        "output_schema"
      ],
      [{ output_schema: { type: "string", pattern: "(a)\\1" } }, "output_schema"],
      [{ input_schema: { type: "string" } }, "object"]
    ] as const) {
      const error = await refusalOf(open({ config }).then((troupe) => troupe.stop()))
      assert.include(["ToolConfigRefused", "MisdeclaredTool"], error._tag, part)
      assert.include(error.message, part)
    }
  })
})
