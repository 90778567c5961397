/** What people see of guarded texts: over a stream, over HTTP, in the history, and as customers. */
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { scripted, text } from "../../layers/compose/entries/Testing.ts"
import * as Guard from "../../src/agent/Guard.ts"
import { agent, AgentSpec, Principal } from "../../src/index.ts"
import { masks, refuses } from "../runtime/GuardScenes.ts"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const token = "7b0a3c5e9d1f48e2a6c4b8d0f2e4a6c8"

const begin = (answer: string, ...guards: ReadonlyArray<Guard.Guard>) =>
  start({
    agents: [shop],
    model: scripted(
      ({ transcript }) =>
        text(answer, { reasoning: [{ text: `I think of ${answer} ${transcript.length}` }] }),
      { piece_units: 3, piece_delay_ms: 1 }
    ),
    customer_agents: ["shop"],
    guards,
    http: { port: 0, tokens: [{ token, principal: carl }] }
  })

describe("a guarded answer", () => {
  it("is streamed to nobody before it is passed, then whole and as it was left", async () => {
    const cards = Guard.make({ name: "cards", on: ["answer"], judge: masks("4111") })
    const troupe = await begin("the code is 4111, good night", cards)
    for (const by of [carl, olga]) {
      const parts: Array<unknown> = []
      for await (const part of troupe.stream({ agent: "shop", text: "the code?" }, by)) {
        parts.push(part)
      }
      const json = JSON.stringify(parts)
      assert.notInclude(json, "4111")
      assert.include(json, '"the code is ***, good night"')
      assert.lengthOf(
        parts.filter((part) => (part as { type: string }).type === "text"),
        1
      )
    }
    await troupe.stop()
  })

  it("is streamed in pieces where its guard only observes", async () => {
    const cards = Guard.make({
      name: "cards",
      on: ["answer"],
      mode: "observe",
      judge: masks("4111")
    })
    const troupe = await begin("the code is 4111, good night", cards)
    let pieces = 0
    for await (const part of troupe.stream({ agent: "shop", text: "the code?" }, carl)) {
      if (part.type === "text") pieces++
    }
    assert.isAbove(pieces, 3)
    await troupe.stop()
  })

  it("that is refused is told of with the guard's reason: to the stream, in the history, over HTTP", async () => {
    const words = Guard.make({ name: "words", on: ["answer"], judge: refuses("bomb") })
    const troupe = await begin("a bomb is built so", words)
    const seen: Array<unknown> = []
    for await (const part of troupe.stream({ agent: "shop", text: "how?" }, carl)) seen.push(part)
    const json = JSON.stringify(seen)
    assert.notInclude(json, "is built so")
    assert.include(json, "no bomb here")
    assert.notInclude(json, "words")

    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const body = JSON.stringify({ agent: "shop", text: "how?" })
    const sent = await fetch(`${troupe.url}/v1/messages`, { method: "POST", headers, body })
    const { conversation_id, run_id } = (await sent.json()) as Record<string, string>
    const ended = await troupe.result(run_id!, olga)
    assert.deepInclude(ended, { status: "failed", reason: "guard_refused", text: "no bomb here" })
    const url = `${troupe.url}/v1/conversations/${conversation_id}`
    const history = await (await fetch(url, { headers })).text()
    assert.include(history, "no bomb here")
    assert.notInclude(history, "is built so")
    await troupe.stop()
  })
})

describe("an answer that guards ask about", () => {
  it("is shown to nobody but those who may decide, and to all once it is approved", async () => {
    const doubts = Guard.make({
      name: "doubts",
      on: ["answer"],
      approvers: ["operator"],
      judge: () => ({ verdict: "ask", reason: "it is doubtful" })
    })
    const troupe = await begin("the code is 4111", doubts)
    const asked = await troupe.ask({ agent: "shop", text: "the code?" }, carl)
    assert.strictEqual(asked.status, "awaiting_approval")
    const { conversation, run } = asked
    const shown = JSON.stringify([asked, await troupe.messages(conversation, {}, carl)])
    for (const hidden of ["4111", "doubts", "doubtful"]) assert.notInclude(shown, hidden)

    const [question] = await troupe.pending(olga)
    assert.deepInclude(question?.arguments, { text: "the code is 4111" })
    const fails = async (by: Principal) => {
      const error: unknown = await troupe.decide(question!.id, { decision: "approve" }, by).then(
        () => undefined,
        (failure: unknown) => failure
      )
      assert.isDefined(error)
    }
    const stranger = new Principal({ id: "otto", tenant: "other", roles: ["operator"] })
    const ada = new Principal({ id: "ada", tenant: "default", roles: ["approver"] })
    for (const by of [carl, stranger, ada]) await fails(by)
    await troupe.decide(question!.id, { decision: "approve" }, olga)
    const ended = await troupe.result(run, carl)
    assert.deepInclude(ended, { status: "complete", text: "the code is 4111" })
    await troupe.stop()
  })
})

describe("a guarded message", () => {
  it("that is refused is told of to its customer, with the guard's reason and nothing else", async () => {
    const words = Guard.make({ name: "words", on: ["message"], judge: refuses("bomb") })
    const troupe = await begin("never said", words)
    const seen: Array<unknown> = []
    for await (const part of troupe.stream({ agent: "shop", text: "a bomb" }, carl)) seen.push(part)
    const json = JSON.stringify(seen)
    assert.include(json, '"text":"no bomb here"')
    for (const hidden of ["words", "never said", "guard_refused", "Guarded"]) {
      assert.notInclude(json, hidden)
    }
    await troupe.stop()
  })
})

describe("guards of a start", () => {
  const guard = Guard.make({ name: "words", on: ["message"], judge: refuses("bomb") })
  const model = scripted([text("hi")])

  it("are refused where two have one name, one is for no agent, or one is not made by `Guard.make`", async () => {
    const refused = async (guards: ReadonlyArray<Guard.Guard>) => {
      const error: unknown = await start({ agents: [shop], model, guards }).then(
        () => undefined,
        (failure: unknown) => failure
      )
      return String((error as Error | undefined)?.message)
    }
    assert.include(await refused([guard, guard]), "two guards have this name")
    const lost = Guard.make({
      name: "lost",
      on: ["message"],
      agents: ["nobody"],
      judge: refuses("x")
    })
    assert.include(await refused([lost]), 'the guard "lost" is for no agent of this start')
    const plain = Object.fromEntries(Object.entries(guard)) as unknown as Guard.Guard
    assert.include(await refused([plain]), "`Guard.make`")
    const many = Array.from({ length: 17 }, (_, i) => ({ ...guard, name: `words${i}` }))
    assert.include(await refused(many), "16")
  })

  it("say which member is wrong", () => {
    const make = (more: object) => () =>
      Guard.make({ name: "words", on: ["message"], judge: refuses("x"), ...more } as Guard.Options)
    assert.throws(make({ name: "Words" }), 'guard "Words": name')
    assert.throws(make({ on: [] }))
    assert.throws(make({ on: ["everything"] }))
    assert.throws(make({ timeout_ms: 0 }))
    assert.throws(make({ mode: "watch" }))
    assert.throws(make({ judge: "no" }), "Expected a function")
    assert.throws(make({ approvers: ["customer"] }), "customers cannot decide")
  })
})

describe("an agent's own guards", () => {
  const named = (name: string, more: Partial<Guard.Options> = {}) =>
    Guard.make({ name, on: ["message"], judge: refuses("bomb"), ...more })
  const many = (count: number) => Array.from({ length: count }, (_, i) => named(`words${i}`))
  const declare = (guards: unknown) => agent({ name: "clerk", instructions: "x", guards } as never)
  const begun = async (
    agents: ReadonlyArray<AgentSpec>,
    guards: ReadonlyArray<Guard.Guard> = []
  ) => {
    const troupe = await start({ agents, guards, model: scripted([]) }).catch(String)
    if (typeof troupe === "string") return troupe
    await troupe.stop()
    return "started"
  }

  it("are declared with a message that names the member", () => {
    assert.throws(() => declare("words"), 'agent "clerk": guards: Expected a list of guards')
    assert.throws(() => declare([() => "pass"]), 'agent "clerk": guards[0]: Expected a guard')
    const narrow = named("words", { agents: ["clerk"] })
    assert.throws(() => declare([narrow]), 'agent "clerk": guards[0].agents: leave it out')
    const twice = [named("words"), named("words")]
    assert.throws(() => declare(twice), 'agent "clerk": guards[1].name: two guards have the name')
    assert.throws(() => declare(many(17)), 'agent "clerk": guards: Expected at most 16')
    assert.throws(
      () => AgentSpec.make({ name: "clerk", instructions: "x", guards: [] } as never),
      'agent "clerk": guards is `guards` of `agent`'
    )
  })

  it("share a guard, and no name, with other agents and the start, and are at most 16 with those of the start", async () => {
    const words = named("words")
    const other = (...guards: ReadonlyArray<Guard.Guard>) =>
      agent({ name: "other", instructions: "x", guards })
    assert.strictEqual(await begun([declare([words]), other(words)]), "started")
    const is_taken = 'two guards have this name, "words"'
    const apart = await begun([declare([words]), other(named("words"))])
    assert.include(apart, 'agent "other", field "guards.0"')
    assert.include(apart, is_taken)
    assert.include(await begun([declare([words])], [words]), is_taken)
    const strange = await begun([declare([named("words", { approvers: ["stranger"] })])])
    assert.include(strange, 'agent "clerk", field "guards.0.approvers.0"')
    assert.strictEqual(await begun([declare(many(15))], [words]), "started")
    assert.include(await begun([declare(many(16))], [words]), "17 guards judge its texts")
  })
})
