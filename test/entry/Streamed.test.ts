/** `stream`: the text of one run as it is written, what happens in it, and its end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { RunPart } from "../../layers/compose/entries/Embed.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { runParts } from "../../layers/compose/promises/RunStream.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ScriptOptions, Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { ModelError, ModelGateway } from "../../services/ModelGateway.ts"
import { rootFrame, RunId } from "../../src/value/Ids.ts"
import { AgentSpec, Principal, Tenant, tool } from "../../src/index.ts"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays back.",
    side_effects: "external",
    input: Schema.Struct({})
  },
  () => "paid"
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Sell.",
  tools: ["refund"]
})
const tenant = Tenant.make("default")
const boss = new Principal({ id: "boss", tenant, roles: ["approver"] })
const carl = new Principal({ id: "carl", tenant, roles: ["customer"] })

const withModel = async (
  model: Layer.Layer<ModelGateway>,
  use: (troupe: NodeService) => Promise<void>
) => {
  const troupe = await start({
    agents: [shop],
    tools: [refund],
    model,
    customer_agents: ["shop"]
  })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const withScript = (
  script: Script,
  options: ScriptOptions,
  use: (troupe: NodeService) => Promise<void>
) => withModel(scripted(script, options), use)

const message = { agent: "shop", text: "Pay it back" }

/** All parts; a question is approved when it comes. */
const partsOf = async (troupe: NodeService, by?: Principal) => {
  const parts: Array<RunPart> = []
  for await (const part of troupe.stream(message, by)) {
    parts.push(part)
    if (part.type !== "event" || part.event._tag !== "ApprovalRequested") continue
    for (const { id } of await troupe.pending(boss)) {
      await troupe.decide(id, { _tag: "Approve" }, boss)
    }
  }
  return parts
}

/** What a reader of the parts has in the end, of each turn. */
const read = (parts: ReadonlyArray<RunPart>): ReadonlyArray<string> => {
  const turns: Array<string> = []
  for (const part of parts) {
    if (part.type === "text") turns[part.step - 1] = (turns[part.step - 1] ?? "") + part.text
    if (part.type === "restart") turns[part.step - 1] = ""
  }
  return turns
}

const tags = (parts: ReadonlyArray<RunPart>) =>
  parts.flatMap((part) => (part.type === "event" ? [part.event._tag] : []))

describe("stream", () => {
  it("gives the run, the text in its pieces, each event and the end, over a question", () =>
    withScript(
      [{ ...call("refund"), text: "I look. " }, text("It is paid back.")],
      { piece_units: 4, piece_delay_ms: 2 },
      async (troupe) => {
        const parts = await partsOf(troupe)
        const [first] = parts
        const last = parts.at(-1)
        assert.strictEqual(first?.type, "begun")
        assert.strictEqual(last?.type, "end")
        if (first?.type !== "begun" || last?.type !== "end") return
        const { conversation, run } = first
        assert.deepInclude(last.answer, {
          status: "complete",
          text: "It is paid back.",
          run,
          conversation
        })
        assert.deepStrictEqual(read(parts), ["I look. ", "It is paid back."])
        const pieces = parts.filter(({ type }) => type === "text")
        assert.isAtLeast(pieces.length, 4)
        assert.includeMembers(tags(parts), ["RunAccepted", "ApprovalRequested", "CallSettled"])
        // Its text is there before the turn is journaled.
        const at = parts.findIndex((p) => p.type === "event" && p.event._tag === "ModelTurned")
        assert.isBelow(
          parts.findIndex(({ type }) => type === "text"),
          at
        )
        assert.lengthOf(await troupe.runs(), 1)
      }
    ))

  it("gives the text of a model that does not stream, and of one whose stream says something else", () =>
    withModel(
      Layer.succeed(ModelGateway, {
        turn: ({ step }, sink) =>
          Effect.gen(function* () {
            if (step === 1) sink({ kind: "text", text: "I lo", offset: 0 })
            if (step === 2) sink({ kind: "text", text: "No", offset: 0 })
            yield* Effect.sleep(20)
            return step === 1 ? { ...call("refund"), text: "I look." } : text("It is paid back.")
          })
      }),
      async (troupe) => {
        const parts = await partsOf(troupe)
        assert.deepStrictEqual(read(parts), ["I look.", "It is paid back."])
        assert.deepStrictEqual(
          parts.flatMap((part) => (part.type === "restart" ? [part.step] : [])),
          [2]
        )
      }
    ))

  it("says that a turn is written anew, and gives it whole", () =>
    withModel(
      Layer.succeed(ModelGateway, {
        turn: (_, sink) =>
          Effect.gen(function* () {
            sink({ kind: "text", text: "It is", offset: 0 })
            sink({ kind: "reasoning", text: "hm", offset: 0 })
            yield* Effect.sleep(5)
            sink({ kind: "text", text: "", offset: 0 })
            sink({ kind: "text", text: "Not ", offset: 0 })
            yield* Effect.sleep(5)
            sink({ kind: "text", text: "yet.", offset: 4 })
            return text("Not yet.")
          })
      }),
      async (troupe) => {
        const parts = await partsOf(troupe)
        assert.deepStrictEqual(read(parts), ["Not yet."])
        assert.lengthOf(
          parts.filter(({ type }) => type === "restart"),
          1
        )
        assert.notInclude(JSON.stringify(parts), '"hm"')
      }
    ))

  it("gives a turn whole to a loop that began within it, and nothing of it after it is journaled", async () => {
    const place = { run: RunId.make("01a20ae2-4e8f-76bf-828b-b684c5729b40"), ordinal: 0 }
    const delta = (step: number, written: string, offset: number): FeedItem => ({
      _tag: "Delta",
      ...place,
      frame: rootFrame,
      step,
      kind: "text",
      text: written,
      offset
    })
    const turned = (step: number, whole: string): FeedItem => ({
      _tag: "Event",
      ...place,
      entry: {
        seq: step,
        at: 0,
        event: { _tag: "ModelTurned", frame: rootFrame, step, ...text(whole) }
      }
    })
    const feed = Stream.make(
      delta(1, "is", 3),
      turned(1, "It is"),
      delta(1, " late", 5),
      delta(2, "Paid", 0),
      delta(2, "back", 9),
      turned(2, "Paid and back"),
      delta(2, " late", 4)
    )
    const parts = await Effect.runPromise(Stream.runCollect(runParts("r", { events: 0 }, feed)))
    const written = parts.flatMap((part) => {
      if (part.type === "event") return []
      return part.type === "text" ? [[part.step, part.text]] : [part.type]
    })
    assert.deepStrictEqual(written, [
      [1, "It is"],
      [2, "Paid"],
      [2, " and back"]
    ])
  })

  it("ends with a run that fails, and says why", () =>
    withModel(
      Layer.succeed(ModelGateway, {
        turn: () => Effect.fail(new ModelError({ kind: "refused", message: "no" }))
      }),
      async (troupe) => {
        const last = (await partsOf(troupe)).at(-1)
        assert.strictEqual(last?.type === "end" ? last.answer.status : last?.type, "failed")
      }
    ))

  it("shows a customer what customers see, and nobody's else run", () =>
    withScript(
      [{ ...call("refund"), text: "I look." }, text("It is paid back.")],
      {},
      async (troupe) => {
        const parts = await partsOf(troupe, carl)
        assert.notInclude(tags(parts), "CallDispatched")
        assert.notInclude(JSON.stringify(parts), "refund")
        assert.deepStrictEqual(read(parts), ["I look.", "It is paid back."])
        assert.deepInclude(parts.at(-1), { type: "end" })
      }
    ))

  it("sends when the loop begins, once a loop, and leaving it cancels nothing", () =>
    withScript(
      () => text("It is paid back."),
      { piece_units: 2, piece_delay_ms: 5 },
      async (troupe) => {
        const stream = troupe.stream(message)
        assert.lengthOf(await troupe.runs(), 0)
        let run = ""
        for await (const part of stream) {
          if (part.type === "begun") run = part.run
          if (part.type === "text") break
        }
        assert.deepInclude(await troupe.result(run), { status: "complete" })
        const keyed = troupe.stream({ ...message, idempotency_key: "k" })
        for await (const part of keyed) assert.isString(part.type)
        const again: Array<RunPart> = []
        for await (const part of keyed) again.push(part)
        assert.deepStrictEqual(read(again), ["It is paid back."])
        assert.lengthOf(await troupe.runs(), 2)
      }
    ))

  it("is left by a signal while it waits, throws its reason, and the run goes on", () =>
    withScript([call("refund", {}), text("done")], {}, async (troupe) => {
      const leaving = new AbortController()
      const seen: Array<string> = []
      let run = ""
      const loop = (async () => {
        for await (const part of troupe.stream(message, undefined, { signal: leaving.signal })) {
          seen.push(part.type === "event" ? part.event._tag : part.type)
          if (part.type === "begun") run = part.run
          // Nothing comes after the question until somebody answers it.
          if (part.type === "event" && part.event._tag === "ApprovalRequested") {
            setImmediate(() => leaving.abort(new Error("the client is gone")))
          }
        }
      })()
      assert.strictEqual(
        String(await loop.catch((error: unknown) => error)),
        "Error: the client is gone"
      )
      assert.strictEqual(seen.at(-1), "ApprovalRequested")
      const watched = troupe.watch(run, undefined, undefined, { signal: AbortSignal.timeout(5) })
      const last: Array<string> = []
      const error: unknown = await (async () => {
        for await (const item of watched) last.push(item._tag)
      })().catch((reason: unknown) => reason)
      assert.strictEqual((error as Error).name, "TimeoutError")
      assert.strictEqual(last.at(-1), "CaughtUp")
      const [question] = await troupe.pending(boss)
      await troupe.decide(question!.id, { decision: "approve" }, boss)
      assert.strictEqual((await troupe.result(run)).text, "done")
    }))

  it("gives the same with a signal that does not abort, and sends nothing with one that has", () =>
    withScript([text("one"), text("two")], {}, async (troupe) => {
      const { signal } = new AbortController()
      const parts: Array<string> = []
      for await (const part of troupe.stream(message, undefined, { signal })) parts.push(part.type)
      assert.deepStrictEqual([parts[0], parts.at(-1)], ["begun", "end"])
      const late = troupe.stream(message, undefined, { signal: AbortSignal.abort("late") })
      const iterator = late[Symbol.asyncIterator]()
      const first: unknown = await iterator.next().catch((reason: unknown) => reason)
      assert.strictEqual(first, "late")
      assert.deepStrictEqual(await iterator.next(), { done: true, value: undefined })
      for (const [following, field] of [
        [{ signal: 7 }, "following.signal"],
        [{ sginal: signal }, "following.sginal"],
        [7, "following"]
      ] as const) {
        const wrong = troupe.stream(message, undefined, following as never)[Symbol.asyncIterator]()
        const error: unknown = await wrong.next().catch((reason: unknown) => reason)
        assert.deepInclude(error, { _tag: "InvalidInput", field })
      }
      assert.lengthOf(await troupe.runs(), 1)
    }))

  it("rejects what cannot be sent, by whoever may not, and nothing is begun", () =>
    withScript(
      () => text("ok"),
      {},
      async (troupe) => {
        const refused = async (given: unknown, by?: unknown) => {
          try {
            for await (const _ of troupe.stream(given as never, by as never)) return "begun"
          } catch (error) {
            return (error as { _tag?: string })._tag
          }
          return "nothing"
        }
        assert.strictEqual(await refused({ agent: "shop" }), "InvalidInput")
        assert.strictEqual(await refused(undefined), "InvalidInput")
        assert.strictEqual(await refused({ agent: "nobody", text: "x" }), "AgentNotFound")
        const viewer = new Principal({ id: "v", tenant, roles: ["viewer"] })
        assert.strictEqual(await refused(message, viewer), "NotEntitled")
        assert.strictEqual(await refused(message, { id: "x" }), "InvalidInput")
        assert.lengthOf(await troupe.runs(), 0)
      }
    ))
})
