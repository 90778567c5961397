/** What a body returns is JSON by one rule, and what a write has done is never lost for its shape. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import * as z from "zod"
import { AgentSpec } from "../../src/index.ts"
import { resultJson } from "../../src/tool/ResultJson.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { resultText } from "../../src/conversation/Transcript.ts"

class Row {
  readonly id = 1
  get half(): number {
    return 0.5
  }
}
const exact = (text: string): unknown =>
  (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(text)

const kept: ReadonlyArray<readonly [unknown, string]> = [
  [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  [new Date(Number.NaN), "null"],
  [new URL("https://example.org/a"), '"https://example.org/a"'],
  [{ toJSON: (name: string) => ({ of: name, n: 5n }) }, '{"of":"v","n":"5"}'],
  [9_007_199_254_740_993n, '"9007199254740993"'],
  [exact("9007199254740993"), "9007199254740993"],
  [[Number.NaN, Infinity, -Infinity], '["NaN","Infinity","-Infinity"]'],
  [new Map([["a", new Date(0)]]), '{"a":"1970-01-01T00:00:00.000Z"}'],
  [new Map([[1, "a"]]), '[[1,"a"]]'],
  [new Set(["a", 1n]), '["a","1"]'],
  [new Uint8Array([255, 0, 1]), '"/wAB"'],
  [Buffer.from("hi"), '"aGk="'],
  [new Float64Array([0.5]), "[0.5]"],
  [new TypeError("no"), '{"name":"TypeError","message":"no"}'],
  [/a+/g, '"/a+/g"'],
  [new Row(), '{"id":1}'],
  [[undefined, () => 1, Symbol("x")], "[null,null,null]"],
  [{ a: undefined, b: () => 1, c: null }, '{"c":null}'],
  [Object.assign(Object.create(null) as object, { a: 1 }), '{"a":1}'],
  [JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
  [[Object(5), Object("x")], '[5,"x"]']
]

describe("a result", () => {
  it("becomes JSON by the rule of its kind", () => {
    for (const [value, json] of kept) {
      const made = resultJson({ v: value })
      assert.strictEqual(JSON.stringify(Result.getOrThrow(made)), `{"v":${json}}`)
    }
    const bytes = Result.getOrThrow(resultJson(new Uint8Array(100_000)))
    assert.strictEqual(bytes, Buffer.alloc(100_000).toString("base64"))
  })

  it("is refused with its place where it contains itself or cannot be read", () => {
    const circle: Record<string, unknown> = {}
    circle["self"] = circle
    const throwing = {
      get no(): number {
        throw new Error("hunter2")
      }
    }
    for (const odd of [circle, Promise.resolve(1), throwing]) {
      const made = resultJson({ list: [odd] })
      assert.isTrue(Result.isFailure(made))
      if (Result.isSuccess(made)) continue
      assert.deepStrictEqual(made.failure.path?.slice(0, 2), ["list", "0"])
      assert.notInclude(made.failure.message, "hunter2")
    }
  })
})

describe("a circle in a result", () => {
  it("is named by its member and by what it closes at", () => {
    interface Order {
      readonly items: Array<{ order?: unknown; of?: unknown }>
    }
    const order: Order = { items: [{}] }
    order.items[0]!.order = order
    const whole = Result.flip(resultJson(order))
    assert.strictEqual(
      Result.getOrThrow(whole).message,
      "the result's member items.0.order is no JSON: it is the result itself"
    )
    const inner = Result.flip(resultJson({ page: { order } }))
    assert.include(Result.getOrThrow(inner).message, "page.order.items.0.order is no JSON")
    assert.include(Result.getOrThrow(inner).message, "it is page.order, which contains it")
    // The same object twice is none.
    const shared = { a: 1 }
    assert.isTrue(Result.isSuccess(resultJson([shared, { shared }])))
    let deep: unknown = 1
    for (let at = 0; at < 1_000; at++) deep = { deep }
    assert.include(Result.getOrThrow(Result.flip(resultJson(deep))).message, "nests deeper")
  })
})

const named = (name: string, side_effects: "read" | "external") =>
  ({ namespace: "shop", name, description: "Does.", side_effects, permission: "allow" }) as const

/** What a model reads of a call of the tool. */
const readOf = async (given: ReturnType<typeof tool>, name: string): Promise<string> => {
  const model = Scripted.layer(({ transcript }) => {
    const last = transcript.at(-1)
    return last?.role === "tool" ? Scripted.text(resultText(last)) : Scripted.call(name, {})
  })
  const agent = AgentSpec.make({ name: "a", instructions: "x", tools: [name] })
  const troupe = await start({ agents: [agent], tools: [given as never], model })
  try {
    return (await troupe.ask({ agent: "a", text: "go" })).text ?? ""
  } finally {
    await troupe.stop()
  }
}

describe("what a model reads of a call", () => {
  it("is the row of a database, with its date and its bigint", async () => {
    const row = { id: 1n, at: new Date(0), exact: exact("0.1000000000000000055511151231257827") }
    const rows = tool(named("rows", "read"), (async () => [row]) as never)
    assert.strictEqual(
      await readOf(rows as never, "rows"),
      '[{"id":"1","at":"1970-01-01T00:00:00.000Z","exact":0.1000000000000000055511151231257827}]'
    )
  })

  it("is what a write returned, also where its schema refuses it", async () => {
    for (const output of [z.object({ id: z.string() }), Schema.Struct({ id: Schema.String })]) {
      const body = (async () => ({ id: 4711, at: new Date(0), n: 5n })) as never
      const charge = tool({ ...named("charge", "external"), output }, body)
      const read = await readOf(charge as never, "charge")
      assert.include(read, "OUTPUT_SCHEMA")
      assert.include(
        read,
        'It has run, and returned {"id":4711,"at":"1970-01-01T00:00:00.000Z","n":"5"}'
      )
      const look = tool({ ...named("look", "read"), output }, body)
      assert.notInclude(await readOf(look as never, "look"), "4711")
    }
  })

  it("is the beginning of what a write returned, where that is too long", async () => {
    const options = { ...named("charge", "external"), result_bytes_max: 100 }
    const charge = tool(options, async () => ({ receipt: "r-1", text: "x".repeat(10_000) }))
    const read = await readOf(charge as never, "charge")
    assert.include(read, "RESULT_TOO_LARGE")
    assert.include(read, 'returned {"receipt":"r-1"')
  })

  it("is what a write returned, also where it is no JSON or breaks its own schema", async () => {
    const receipt = (): unknown => {
      const made: Record<string, unknown> = { id: "r-1", later: Promise.resolve(1) }
      made["self"] = made
      Object.defineProperty(made, "no", {
        enumerable: true,
        get: () => {
          throw new Error("hunter2")
        }
      })
      return made
    }
    const breaks = z.any().transform(() => {
      throw new Error("hunter2")
    })
    const thrower = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: (value: unknown) => ({
          get issues(): undefined {
            throw new TypeError(String(value))
          }
        })
      }
    }
    for (const output of [undefined, Schema.Struct({ id: Schema.Int }), breaks, thrower]) {
      const declared = output === undefined ? {} : { output, output_schema: {} }
      const options = { ...named("charge", "external"), ...declared } as never
      const read = await readOf(tool(options, (async () => receipt()) as never) as never, "charge")
      assert.include(read, 'It has run, and returned {"id":"r-1"')
      assert.include(read, '"self":"[it is the result itself]"')
      assert.notInclude(read, "hunter2")
      assert.notInclude(read, "may have taken effect")
    }
  })

  it("is a bigint and a map that a library's schema lets through", async () => {
    const output = Object.assign(z.any(), {})
    const options = { ...named("charge", "external"), output, output_schema: {} }
    const charge = tool(options, async () => ({ n: 5n, m: new Map([["a", 1]]) }))
    assert.strictEqual(await readOf(charge as never, "charge"), '{"n":"5","m":{"a":1}}')
  })
})

describe("the codec of a tool without a declared result", () => {
  it("leaves plain JSON as it is", () => {
    const [governed] = Effect.runSync(tool(named("t", "read"), () => 1) as never) as never as [
      { encode: (value: unknown) => Exit.Exit<unknown> }
    ]
    const value = { a: [1, "x", null, { b: true }] }
    assert.deepStrictEqual(governed.encode(value), Exit.succeed(value))
  })
})
