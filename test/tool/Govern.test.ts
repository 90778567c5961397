/**
 * What the types of a family of tools refuse is part of the promise, so it is compiled here: a line that should not
 * compile and does is an error of the type check.
 */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { ToolError, ToolUserError } from "../../src/error/ToolError.ts"
import type { GovernedContext } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"

class Shelf extends Context.Service<
  Shelf,
  { find(id: number): Effect.Effect<string | undefined> }
>()("test/tool/Shelf") {}

const ReadBook = Tool.make("read_book", {
  description: "The text of a book.",
  parameters: Schema.Struct({ id: Schema.FiniteFromString }),
  success: Schema.String,
  failure: ToolError
})

const seen: Array<ReadonlyArray<unknown>> = []

/** The factory: it closes over the shelf, and its tools are plain effects. */
const family = govern(
  Toolkit.make(ReadBook),
  { read_book: { namespace: "library", side_effects: "read" } },
  Effect.gen(function* () {
    const shelf = yield* Shelf
    return {
      read_book: Effect.fnUntraced(function* (args: { readonly id: number }) {
        seen.push([args])
        const book = yield* shelf.find(args.id)
        if (book !== undefined) return book
        return yield* new ToolUserError({ kind: "not_found", message: "no such book" })
      })
    }
  })
)

const books = new Map([[7, "a book"]])
const shelf = Layer.succeed(Shelf, { find: (id) => Effect.sync(() => books.get(id)) })
const model = ScriptedModelGateway.layer([])

const context = {
  toolCallId: "0/1.0",
  preliminary: () => Effect.void
} as unknown as GovernedContext

describe("a family of tools", () => {
  it.effect("ST-05 ST-50 does not compile until the services of its factory are provided", () =>
    Effect.gen(function* () {
      expectTypeOf<Effect.Services<typeof family>>().toEqualTypeOf<Shelf>()
      const closed = Effect.provide(family, shelf)
      expectTypeOf<Effect.Services<typeof closed>>().toEqualTypeOf<never>()
      assert.lengthOf(yield* closed, 1)

      const runtime = Layer.provide(EphemeralRuntime.layer({ agents: [], tools: [family] }), model)
      expectTypeOf<Layer.Services<typeof runtime>>().toEqualTypeOf<Shelf>()
      const ready = Layer.provide(runtime, shelf)
      expectTypeOf<Layer.Services<typeof ready>>().toEqualTypeOf<never>()
      const built = yield* Effect.scoped(Layer.build(ready))
      assert.isTrue(Context.isContext(built))
    })
  )

  it("ST-05 does not compile with a failure that is none of the four classes", () => {
    const Loose = Tool.make("loose", { success: Schema.String, failure: Schema.String })
    const handlers = { loose: () => Effect.fail("a text") }
    const governance = { loose: { namespace: "library", side_effects: "read" } } as const
    // @ts-expect-error a tool fails with a ToolError or not at all
    assert.isTrue(Effect.isEffect(govern(Toolkit.make(Loose), governance, handlers)))
  })

  it.effect("ST-05 SA-30 runs on stores in memory, without a model, a database or a loop", () =>
    Effect.gen(function* () {
      const [tool] = yield* family
      const found = yield* Effect.exit(handlerEffect(tool!.handler, { id: 7 }, context))
      assert.deepStrictEqual(found, Exit.succeed("a book"))
      const missing = yield* Effect.flip(handlerEffect(tool!.handler, { id: 8 }, context))
      assert.strictEqual((missing as ToolError)._tag, "ToolUserError")
    }).pipe(Effect.provide(shelf))
  )

  it.effect("ST-06 gives a body its decoded arguments only, and takes its plain output", () =>
    Effect.gen(function* () {
      const [tool] = yield* family
      seen.length = 0
      const decoded = tool!.decode({ id: "7" })
      assert.deepStrictEqual(decoded, Exit.succeed({ id: 7 }))
      const output = yield* handlerEffect(tool!.handler, { id: 7 }, context)
      assert.deepStrictEqual(seen, [[{ id: 7 }]])
      assert.strictEqual(output, "a book")
      assert.deepStrictEqual(tool!.encode(output), Exit.succeed("a book"))
      assert.isTrue(Exit.isFailure(tool!.decode({ id: "7", approved_by: "me" })))
    }).pipe(Effect.provide(shelf))
  )
})
