/** A conversation that goes on with another agent: handed over by the model, or addressed by the application. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options, Store } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentSpec, Principal, RunLimits, tool } from "../../src/index.ts"
import type { RunEvent } from "../../src/index.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import * as Homes from "../process/Homes.ts"

const declared = { namespace: "shop", description: "Does it." } as const
const look = tool({ ...declared, name: "look", side_effects: "read" }, () => "seen")
const vault = tool(
  { ...declared, name: "vault", side_effects: "read", capabilities: ["vault.read"] },
  () => "opened"
)
const pay = tool(
  {
    ...declared,
    name: "pay",
    side_effects: "external",
    input: Schema.Struct({ amount: Schema.Finite })
  },
  ({ amount }) => amount
)
const triage = AgentSpec.make({
  name: "triage",
  instructions: "Sort.",
  tools: ["look", "pay"],
  handoffs: ["billing", "back-office"],
  limits: RunLimits.make({ handoffs_max: 2 })
})
const billing = AgentSpec.make({
  name: "billing",
  instructions: "Bill.",
  description: "Knows invoices.",
  tools: ["vault"],
  capabilities: ["vault.read"],
  handoffs: ["triage"]
})
const office = AgentSpec.make({ name: "back-office", instructions: "Run it.", tools: ["look"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const toBilling = call("transfer_to_billing", { note: "about invoice 7" })

const open = (script: Scripted.Script, more?: Partial<Options>) =>
  start({
    agents: [triage, billing, office],
    tools: [look, vault, pay],
    customer_agents: ["triage", "billing"],
    model: Scripted.layer(script),
    ...more
  })

/** Gives the turns one by one, and keeps what was asked. */
const playing = (turns: Array<Turn>) => {
  const asked: Array<ModelRequest> = []
  const script: Scripted.Script = (request) => {
    asked.push(request)
    return turns.shift()
  }
  return { asked, script }
}

const eventsOf = async (troupe: NodeService, id: string, by = olga) => {
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(id, undefined, by)) {
    if (item._tag === "CaughtUp") break
    if (item._tag === "Event") events.push(item.entry.event)
  }
  return events
}

const reasonsOf = (events: ReadonlyArray<RunEvent>) =>
  events.flatMap((event) =>
    event._tag !== "CallSettled"
      ? []
      : [event.outcome._tag === "Failed" ? event.outcome.error.reason : event.outcome._tag]
  )

const rejection = async (promise: Promise<unknown>) => {
  try {
    await promise
  } catch (error) {
    return error as { readonly _tag: string; readonly field?: string; readonly message: string }
  }
  return assert.fail("it did not reject")
}

const agentsOf = (asked: ReadonlyArray<ModelRequest>) => asked.map(({ agent }) => agent as string)

describe("a handoff", () => {
  it("goes on with another agent's instructions and tools, and the same history", async () => {
    const { asked, script } = playing([
      toBilling,
      text("It is paid."),
      ...["1", "2", "3", "4"].map((said) => text(said))
    ])
    const troupe = await open(script)
    const first = await troupe.ask({ agent: "triage", text: "Invoice 7?" }, carl)
    assert.deepInclude(first, { status: "complete", text: "It is paid.", agent: billing.name })
    const { conversation } = first
    assert.deepStrictEqual(
      asked.map(({ system, tools }) => [system, ...tools.map(({ name }) => name)]),
      [
        ["Sort.", "look", "pay", "transfer_to_billing", "transfer_to_back-office"],
        ["Bill.", "vault", "transfer_to_triage"]
      ]
    )
    assert.include(asked[0]?.tools[2]?.description, "Knows invoices.")
    const shown = JSON.stringify(asked[1]?.transcript)
    for (const said of ["Invoice 7?", "about invoice 7"]) assert.include(shown, said)
    // The holder takes the next message; whoever is named takes its own, and holds the conversation then.
    for (const agent of [undefined, "triage", undefined, "billing"] as const) {
      await troupe.ask({ text: "Sure?", conversation, ...(agent && { agent }) }, carl)
    }
    assert.deepStrictEqual(agentsOf(asked).slice(2), ["billing", "triage", "triage", "billing"])
    assert.include(JSON.stringify(asked[2]?.history), "Invoice 7?")
    const messages = await troupe.messages(conversation, undefined, carl)
    assert.deepStrictEqual(
      messages.flatMap(({ agent, role }) => (role === "assistant" ? [agent] : [])),
      ["billing", "billing", undefined, undefined, "billing"]
    )
    const handed = (await eventsOf(troupe, conversation, carl)).filter(
      ({ _tag }) => _tag === "HandedOff"
    )
    assert.deepStrictEqual(handed, [{ _tag: "HandedOff", to: "billing" } as RunEvent])
    await troupe.stop()
  })

  it("is bounded in a run, happens once in a turn, and not below a delegation", async () => {
    const { asked, script } = playing([
      calls([toBilling, call("transfer_to_back-office")]),
      call("transfer_to_triage"),
      toBilling,
      text("I go on with it."),
      call("ask_billing", { task: "hand it over" }),
      call("transfer_to_triage"),
      text("no"),
      text("done")
    ])
    const boss = AgentSpec.make({ name: "boss", instructions: "Ask.", specialists: ["billing"] })
    const troupe = await open(script, { agents: [triage, billing, office, boss] })
    const { agent, run } = await troupe
      .ask({ agent: "triage", text: "Play" }, olga)
      .then((end) => ({
        agent: end.status === "complete" ? end.agent : "?",
        run: end.run
      }))
    assert.isUndefined(agent)
    assert.deepStrictEqual(reasonsOf(await eventsOf(troupe, run)), [
      "Value",
      "HANDOFF_TWICE",
      "Value",
      "HANDOFFS_MAX"
    ])
    assert.deepStrictEqual(agentsOf(asked), ["triage", "billing", "triage", "triage"])
    const nested = await troupe.ask({ agent: "boss", text: "Play" }, olga)
    assert.include(reasonsOf(await eventsOf(troupe, nested.run)), "HANDOFF_NESTED")
    await troupe.stop()
  })

  it("gives no capability that the agent before lacks, in later messages too", async () => {
    const opens = call("vault")
    const { script } = playing([toBilling, opens, text("no"), opens, text("no"), opens, text("ok")])
    const troupe = await open(script)
    const { conversation, run } = await troupe.ask({ agent: "triage", text: "Open" }, olga)
    assert.deepStrictEqual(reasonsOf(await eventsOf(troupe, run)), ["Value", "CAPABILITY_DENIED"])
    const next = await troupe.ask({ text: "Open", conversation }, olga)
    assert.deepStrictEqual(reasonsOf(await eventsOf(troupe, next.run)), ["CAPABILITY_DENIED"])
    const own = await troupe.ask({ agent: "billing", text: "Open" }, olga)
    assert.deepStrictEqual(reasonsOf(await eventsOf(troupe, own.run)), ["Value"])
    await troupe.stop()
  })

  it("gives none through a specialist either, but of who delegated before it", async () => {
    const lead = {
      name: "lead",
      instructions: "",
      specialists: ["billing"],
      specialist_capabilities: ["vault.read"]
    }
    const front = AgentSpec.make({ ...lead, name: "front", handoffs: ["lead"] })
    const agents = [AgentSpec.make(lead), front, triage, billing, office]
    const [toLead, ask] = [call("transfer_to_lead"), call("ask_billing", { task: "Open" })]
    const opens = [call("vault"), text("so")]
    const { script } = playing([
      toLead,
      ask,
      ...opens,
      text("so"),
      calls([ask, toLead]),
      ...opens,
      text("so")
    ])
    const troupe = await open(script, { agents })
    const last = await troupe.ask({ agent: "front", text: "Open" }, olga)
    const reasons = reasonsOf(await eventsOf(troupe, last.run))
    assert.deepStrictEqual(reasons, ["Value", "CAPABILITY_DENIED", "Value"])
    // It asks by itself, in the turn that hands over.
    const own = await troupe.ask({ agent: "front", text: "Open" }, olga)
    assert.notInclude(reasonsOf(await eventsOf(troupe, own.run)), "CAPABILITY_DENIED")
    await troupe.stop()
  })

  it("keeps customers with agents for customers", async () => {
    const away = call("transfer_to_back-office")
    const { asked, script } = playing([away, text("no"), away, text("no"), away, text("ok")])
    const troupe = await open(script)
    const theirs = await troupe.ask({ agent: "triage", text: "Hi" }, carl)
    const { conversation } = theirs
    // An operator that takes part in it does not change whose it is.
    const helped = await troupe.ask({ agent: "triage", text: "Hi", conversation }, olga)
    for (const { run } of [theirs, helped]) {
      assert.deepStrictEqual(reasonsOf(await eventsOf(troupe, run)), ["NOT_FOR_CUSTOMERS"])
    }
    const message = { agent: "back-office", text: "Hi", conversation }
    assert.strictEqual((await rejection(troupe.send(message, olga)))._tag, "AddressConflict")
    assert.strictEqual((await rejection(troupe.send(message, carl)))._tag, "NotForCustomers")
    const own = await troupe.ask({ agent: "triage", text: "Hi" }, olga)
    assert.deepStrictEqual(reasonsOf(await eventsOf(troupe, own.run)), ["Value"])
    assert.strictEqual(asked.at(-1)?.agent as string, "back-office")
    const stray = troupe.send({ text: "Hi", conversation: "nobody-knows" }, olga)
    assert.strictEqual((await rejection(stray))._tag, "ConversationNotFound")
    const nowhere = troupe.send({ text: "Hi" }, olga)
    assert.deepInclude(await rejection(nowhere), { _tag: "InvalidInput", field: "message.agent" })
    await troupe.stop()
  })

  it("is declared to agents that there are, once", async () => {
    for (const handoffs of [["nobody"], ["odd"], ["billing", "billing"]]) {
      const odd = AgentSpec.make({ name: "odd", instructions: "", handoffs })
      const error = await rejection(open([], { agents: [odd, billing, triage, office] }))
      assert.deepInclude(error, { _tag: "MisdeclaredAgent", field: "handoffs" })
      assert.include(String(error), `agent "odd", field "handoffs": `)
    }
    // Two tools of one name would be refused by every provider.
    const twice = { name: "odd", instructions: "", specialists: ["billing", "billing"] }
    const agents = [AgentSpec.make(twice), billing, triage, office]
    const error = await rejection(open([], { agents }))
    assert.deepInclude(error, { _tag: "MisdeclaredAgent", field: "specialists" })
    for (const [field, length] of [
      ["specialists", 60],
      ["handoffs", 52]
    ] as const) {
      const named = (name: string) => [
        AgentSpec.make({ name: "odd", instructions: "", [field]: [name] }),
        AgentSpec.make({ name, instructions: "", tools: ["look"] })
      ]
      // The name of a tool has 64 characters at most.
      await (await open([], { agents: named("x".repeat(length)), customer_agents: [] })).stop()
      const long = rejection(
        open([], { agents: named("x".repeat(length + 1)), customer_agents: [] })
      )
      assert.deepInclude(await long, { _tag: "MisdeclaredAgent", field })
    }
  })

  it.effect(
    "stands after a restart, with a call of its turn that waits for a person",
    () => Effect.flatMap(Homes.durable, (store) => Effect.promise(() => restarted(store))),
    120_000
  )
})

/** The conversation is handed over in a turn whose other call a person decides on after the restart. */
const restarted = async (store: Store) => {
  const first = await open([calls([call("pay", { amount: 5 }), toBilling])], { store })
  const { conversation, run } = await first.ask({ agent: "triage", text: "Pay" }, olga)
  await first.stop()
  const { asked, script } = playing([text("Paid."), text("Yes."), text("Again.")])
  const second = await open(script, { store })
  const [question] = await second.pending(olga)
  assert.strictEqual(question?.payload.agent_name, "triage")
  await second.decide(question?.id ?? "", { _tag: "Approve" }, olga)
  assert.deepInclude(await second.result(run), { status: "complete", agent: billing.name })
  assert.deepStrictEqual(reasonsOf(await eventsOf(second, run)), ["Value", "Value"])
  const keyed = { text: "Sure?", conversation, agent: "billing", idempotency_key: "k" }
  const [sent, again] = [await second.ask(keyed, olga), await second.send(keyed, olga)]
  assert.deepInclude(again, { run: sent.run, created: false })
  const other = second.send({ ...keyed, agent: "triage" }, olga)
  assert.strictEqual((await rejection(other))._tag, "IdempotencyConflict")
  await second.ask({ text: "And?", conversation }, olga)
  assert.deepStrictEqual(agentsOf(asked), ["billing", "billing", "billing"])
  const messages = await second.messages(conversation)
  const agents = messages.flatMap(({ agent, role }) => (role === "assistant" ? [agent] : []))
  assert.deepStrictEqual(agents, [billing.name, billing.name, billing.name])
  await second.stop()
}
