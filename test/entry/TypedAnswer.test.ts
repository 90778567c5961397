/** Answers of a schema: asked for, checked, asked for once more, and typed. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Schema } from "effect"
import * as z from "zod"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import type { AnswerWith } from "../../layers/compose/promises/Answer.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, Principal, tool } from "../../src/index.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"

const Order = Schema.Struct({
  id: Schema.FiniteFromString,
  items: Schema.Array(Schema.String)
})
const json = (value: unknown) => JSON.stringify(value)
const good = json({ id: "1003", items: ["tea", "milk"] })

const lookup = tool(
  {
    namespace: "shop",
    name: "lookup",
    description: "Finds.",
    side_effects: "read",
    stop_loop: true
  },
  () => "found"
)
const shop = AgentSpec.make({ name: "shop", instructions: "Sell.", tools: ["lookup"] })
const message = { agent: "shop", text: "Which order?" }
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })

const withScript = async (
  script: ReadonlyArray<Scripted.ScriptedTurn> | (() => Scripted.ScriptedTurn),
  use: (troupe: NodeService, seen: Array<{ system: string; schema: unknown }>) => Promise<void>,
  more?: Partial<Options>,
  options?: Scripted.ScriptOptions
) => {
  const seen: Array<{ system: string; schema: unknown }> = []
  let turns = 0
  const model = Scripted.layer((request) => {
    seen.push({ system: request.system, schema: request.answer_schema })
    return (typeof script === "function" ? script() : script[turns++]) ?? text("nothing more")
  }, options)
  const troupe = await start({
    agents: [shop],
    tools: [lookup],
    model,
    customer_agents: ["shop"],
    ...more
  })
  try {
    await use(troupe, seen)
  } finally {
    await troupe.stop()
  }
}

/** How the model was answered, in its run. */
const eventsOf = async (troupe: NodeService, run: string) => {
  const events = []
  for await (const item of troupe.watch(run))
    if (item._tag === "Event") events.push(item.entry.event)
  return events
}

const rejection = async (promise: Promise<unknown>) => {
  try {
    await promise
  } catch (error) {
    return error as { readonly _tag: string; readonly field?: string; readonly message: string }
  }
  return assert.fail("it did not reject")
}

describe("an answer of a schema", () => {
  it("is asked for, and is the decoded value", () =>
    withScript([text(good)], async (troupe, seen) => {
      const answer = await troupe.ask({ ...message, answer: Order })
      expectTypeOf(answer).toEqualTypeOf<AnswerWith<typeof Order.Type>>()
      assert.strictEqual(answer.status, "complete")
      if (answer.status === "complete") {
        expectTypeOf(answer.value.id).toEqualTypeOf<number>()
        assert.deepStrictEqual(answer.value, { id: 1003, items: ["tea", "milk"] })
      }
      assert.deepInclude(seen[0]?.schema, { type: "object", required: ["id", "items"] })
      assert.include(seen[0]?.system, json(seen[0]?.schema))
      assert.isTrue(seen[0]?.system.startsWith("Sell."))
    }))

  it("may be of zod, and in a block of Markdown", () =>
    withScript([text("```json\n" + json({ city: "Rome" }) + "\n```")], async (troupe) => {
      const answer = await troupe.ask({ ...message, answer: z.object({ city: z.string() }) })
      assert.deepInclude(answer, { status: "complete", value: { city: "Rome" } })
      assert.strictEqual(answer.text, json({ city: "Rome" }))
      const later = await troupe.result(answer.run, undefined, {
        answer: z.object({ city: z.string() })
      })
      assert.deepStrictEqual(later.value, { city: "Rome" })
    }))

  for (const [what, wrong] of [
    ["is no JSON", "It is order 1003."],
    ["lacks a member", json({ id: "1003" })],
    ["has one too many", json({ id: "1003", items: [], more: 1 })],
    ["is of another type", json({ id: "1003", items: "tea" })]
  ] as const) {
    it(`that ${what} is asked for once more, and the model is told why`, () =>
      withScript([text(wrong), text(good)], async (troupe) => {
        const answer = await troupe.ask({ ...message, answer: Order })
        assert.deepInclude(answer, { status: "complete", text: good })
        const turned = (await eventsOf(troupe, answer.run)).filter(
          (event) => event._tag === "ModelTurned"
        )
        assert.lengthOf(turned, 2)
        assert.isString(turned[0]?.unfit)
        assert.isUndefined(turned[1]?.unfit)
      }))
  }

  it("that does not fit twice fails the run, with the reason", () =>
    withScript([text("no"), text("no again"), text(good)], async (troupe) => {
      const answer = await troupe.ask({ ...message, answer: Order })
      assert.deepInclude(answer, { status: "failed", reason: "answer_unfit" })
      assert.include(answer.detail, "does not fit its schema")
      assert.isUndefined(answer.value)
    }))

  it("that was cut fails the run: the same prompt would cut it again", () =>
    withScript([text('{"id": "10', { finish: "length" }), text(good)], async (troupe) => {
      const answer = await troupe.ask({ ...message, answer: Order })
      assert.deepInclude(answer, { status: "failed", reason: "answer_unfit" })
    }))

  it("may be a tree, whose schema refers to itself", async () => {
    const Folder = z.object({
      name: z.string(),
      get folders() {
        return z.array(Folder)
      }
    })
    const tree = { name: "root", folders: [{ name: "a", folders: [] }] }
    const wrong = { name: "root", folders: [{ name: "a" }] }
    await withScript([text(json(wrong)), text(json(tree))], async (troupe) => {
      const answer = await troupe.ask({ ...message, answer: Folder })
      assert.deepStrictEqual(answer.value, tree)
    })
    await withScript([text(json({ tree }))], async (troupe) => {
      const answer = await troupe.ask({ ...message, answer: z.object({ tree: Folder }) })
      assert.deepStrictEqual(answer.value, { tree })
    })
    const places = {
      type: "object",
      properties: { a: { $ref: "#/definitions/Name" }, b: { $ref: "#/properties/a" } },
      definitions: { Name: { type: "string" } }
    }
    await withScript(
      [text(json({ a: "x", b: 1 })), text(json({ a: "x", b: "y" }))],
      async (troupe) => {
        const { text: said } = await troupe.ask({ ...message, answer_schema: places } as never)
        assert.strictEqual(said, json({ a: "x", b: "y" }))
      }
    )
  })

  it("may have null for what it leaves out", () =>
    withScript([text('{"order":"1","tag":null,"limit":null}')], async (troupe) => {
      const Ticket = z.object({
        order: z.string(),
        tag: z.string().optional(),
        limit: z.number().default(10)
      })
      const answer = await troupe.ask({ ...message, answer: Ticket })
      assert.deepStrictEqual(answer.value, { order: "1", limit: 10 })
    }))

  it("that only the code of the schema refuses rejects, and the run is complete", () =>
    withScript([text(json({ city: "Rome" }))], async (troupe) => {
      const answer = z.object({ city: z.string().refine((name) => name === "Oslo", "not Oslo") })
      const error = await rejection(troupe.ask({ ...message, answer }))
      assert.strictEqual(error._tag, "AnswerUnfit")
      assert.include(error.message, "not Oslo")
      const { run, text } = error as unknown as { run: string; text: string }
      assert.strictEqual(text, json({ city: "Rome" }))
      assert.strictEqual((await troupe.result(run)).status, "complete")
    }))

  it("is not what a tool gives that ends its loop", () =>
    withScript([call("lookup"), text(good)], async (troupe) => {
      const answer = await troupe.ask({ ...message, answer: Order })
      assert.deepInclude(answer, { status: "complete", text: good })
    }))

  it("has to fit at the last turn of a limit too", () =>
    withScript(
      [call("lookup"), text("I am out of turns"), text(good)],
      async (troupe) => {
        const answer = await troupe.ask({ ...message, answer: Order })
        assert.deepInclude(answer, { status: "failed", reason: "answer_unfit" })
      },
      {
        agents: [
          AgentSpec.make({ ...shop, limits: { ...shop.limits, steps_max: 1, on_breach: "answer" } })
        ]
      }
    ))

  it("is not asked for by a customer, who may not write into the instructions", () =>
    withScript([], async (troupe) => {
      const error = await troupe.ask({ ...message, answer: Order }, carl).catch((each) => each)
      assert.strictEqual(error._tag, "NotEntitled")
    }))

  it("is written in parts, with what of its value there is", () =>
    withScript(
      [text(good)],
      async (troupe) => {
        const values: Array<unknown> = []
        let last: unknown
        for await (const part of troupe.stream({ ...message, answer: Order })) {
          if (part.type === "value") {
            expectTypeOf(part.value.id).toEqualTypeOf<number | undefined>()
            values.push(part.value)
          }
          if (part.type === "end") last = part.answer.value
        }
        assert.isAbove(values.length, 3)
        assert.deepStrictEqual(values.at(-1), { id: "1003", items: ["tea", "milk"] })
        assert.deepStrictEqual(last, { id: 1003, items: ["tea", "milk"] })
        const sizes = values.map((value) => json(value).length)
        assert.deepStrictEqual(
          sizes,
          [...sizes].sort((a, b) => a - b)
        )
      },
      {},
      { piece_units: 3, piece_delay_ms: 1 }
    ))

  it("is refused where its schema is none, of no object, too large or cannot be checked", () =>
    withScript([text(good)], async (troupe, seen) => {
      const asked = (answer: unknown) =>
        rejection(troupe.ask({ ...message, answer: answer as typeof Order }))
      for (const wrong of [
        null,
        7,
        "Order",
        {},
        { "~standard": {} },
        Schema.String,
        Schema.Array(Order)
      ]) {
        const error = await asked(wrong)
        assert.strictEqual(error._tag, "InvalidInput")
        assert.match(error.field ?? "", /^message\.answer/)
      }
      const json_schema = { type: "object", properties: { order: { type: "string" } } }
      assert.include(
        (await asked(json_schema)).message,
        "a JSON Schema is a message's answer_schema"
      )
      const large = Schema.Struct({ a: Schema.Literal("x".repeat(70_000)) })
      assert.include((await asked(large)).message, "65536")
      const wait = { answer: 7 as never }
      assert.strictEqual(
        (await rejection(troupe.result("r", undefined, wait))).field,
        "wait.answer"
      )
      assert.lengthOf(seen, 0)
    }))

  it("is promised by types", () => {
    const check = (troupe: NodeService) => {
      // @ts-expect-error a schema, not a value
      void troupe.ask({ ...message, answer: "text" })
      void troupe.ask(message).then((answer) => {
        // @ts-expect-error nothing was asked for
        return answer.value
      })
    }
    assert.isFunction(check)
  })
})

describe("the schema of an agent's settings", () => {
  const agents = [
    AgentSpec.make({
      ...shop,
      model_settings: {
        output: {
          schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
        }
      }
    })
  ]

  it("is checked like a message's", () =>
    withScript(
      [text("Rome"), text(json({ city: "Rome" }))],
      async (troupe, seen) => {
        const answer = await troupe.ask(message)
        assert.deepInclude(answer, { status: "complete", text: json({ city: "Rome" }) })
        assert.lengthOf(seen, 2)
      },
      { agents }
    ))

  it("ends the start where answers cannot be checked by it", () => {
    const schema = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }
    assert.throws(() => AgentSpec.make({ ...shop, model_settings: { output: { schema } } }))
  })
})
