/** What a body in a worker spends on models counts as spent by the run that waits for it. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { replyOf, spentIn } from "../../src/queue/ToolMessage.ts"
import * as H from "../runtime/Harness.ts"
import { ledgerOf, read, runtime, spends } from "../runtime/Spenders.ts"

const away = { ...read, name: "two" } as const

it.live("ST-12 a worker's reply carries what was spent, and the run prices and journals it", () =>
  Effect.gen(function* () {
    const no = new ToolUserError({ kind: "invalid_args", message: "no" })
    const done = tool(
      read,
      spends(() => "done")
    )
    const refuses = tool(
      away,
      spends(() => Effect.fail(no))
    )
    yield* Layer.build(ToolWorker.layer({ tools: [done, refuses] }))
    const run = yield* H.send("go")
    const events = yield* H.ended(run)
    assert.deepStrictEqual(
      H.settled(events).map(({ outcome, spent }) => [
        outcome._tag,
        spent?.tool,
        spent?.uses.length
      ]),
      [
        ["Value", "one", 1],
        ["Failed", "two", 1]
      ]
    )
    assert.strictEqual(yield* ledgerOf(run), "0.1")
    assert.strictEqual(yield* ledgerOf(run, "two"), "0.1")
  }).pipe(
    Effect.provide(
      runtime({
        tools: [remote(read), remote(away)],
        script: [call("one", { n: 1 }), call("two", { n: 2 }), text("done")]
      })
    ),
    Effect.scoped
  )
)

it.live("AG-46 a body in a worker knows how deep the runs are that it starts", () =>
  Effect.gen(function* () {
    const seen: Array<{ nesting: { depth: number; tokens_max: number } }> = []
    const done = tool(read, (_, { nested }) => {
      seen.push(nested as never)
      return "done"
    })
    yield* Layer.build(ToolWorker.layer({ tools: [done] }))
    const agents = yield* AgentRuntime
    const message = { agent: H.agentName, text: "go", nested: { depth: 3, tokens_max: 700 } }
    const { task } = yield* agents.send(message, H.alice)
    yield* H.ended(task.id, task.conversation)
    // The turn before it took some of the tokens, by an estimate.
    const [{ nesting, ...rest } = { nesting: { depth: 0, tokens_max: 0 } }] = seen
    assert.deepStrictEqual(rest, { depth_max: 4, spent: false })
    assert.strictEqual(nesting.depth, 4)
    assert.isBelow(nesting.tokens_max, 700)
    assert.isAbove(nesting.tokens_max, 500)
  }).pipe(
    Effect.provide(
      runtime({ tools: [remote(read)], script: [call("one", { n: 1 }), text("done")] })
    ),
    Effect.scoped
  )
)

it("ST-12 a reply of any shape is read, and a malformed spending counts as none", () => {
  const use = { model: "m", usage: { input_tokens: 1, output_tokens: 2 } }
  const cost = { _tag: "Unpriced", agent: H.agentName, reason: "no_price", prices: "v1" } as const
  const result = replyOf({ id: "c", name: "t" }, { _tag: "Unknown" }, false, {
    tool: "t",
    uses: [{ ...use, cost }]
  })
  assert.deepStrictEqual(spentIn(result), [use])
  assert.deepStrictEqual(spentIn({ call_id: "c" }), [])
  for (const spent of ["free", [1], Array.from({ length: 33 }, () => use)]) {
    assert.deepStrictEqual(spentIn({ call_id: "c", metadata: { spent } as never }), [])
  }
})
