import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import type { Response } from "effect/ai"
import { AgentSpec, Principal } from "troupe"
import { agentTool, answerApproval, approvalRequests } from "troupe/layers"
import { importToolkit, runResultTool, Troupe } from "troupe/layers"
import { call, calls, scripted, text } from "troupe/testing"

// What a program has: tools of effect/ai, and the Layer of their handlers.
class OutOfStock extends Schema.TaggedError<OutOfStock>()("OutOfStock", { sku: Schema.String }) {}
const Stock = Tool.make("stock", {
  parameters: Schema.Struct({ sku: Schema.String }),
  success: Schema.Int,
  failure: OutOfStock
}).annotate(Tool.Readonly, true)
const Order = Tool.make("order", {
  description: "Orders from the supplier.",
  parameters: Schema.Struct({ sku: Schema.String, pieces: Schema.Int }),
  success: Schema.String,
  needsApproval: ({ pieces }) => pieces > 10
})
const Kit = Toolkit.make(Stock, Order)
const KitLive = Kit.toLayer({
  stock: ({ sku }) => (sku === "tea" ? Effect.succeed(3) : new OutOfStock({ sku })),
  order: ({ pieces, sku }) => Effect.succeed(`${pieces} of ${sku} ordered`)
})

// An agent has them, each call through the gate.
const tools = importToolkit(Kit, KitLive, {
  namespace: "shop",
  failures: { OutOfStock: "ToolUserError" },
  tools: { order: { timeout_ms: "10 seconds" } }
})
const shop = AgentSpec.make({
  name: "shop",
  description: "Keeps the shelf full.",
  instructions: "Order what is short.",
  tools: ["stock", "order"]
})
const troupe = Troupe.layer({
  agents: [shop],
  tools: [tools],
  model: scripted([
    calls([call("stock", { sku: "tea" }), call("stock", { sku: "milk" })]),
    calls([call("order", { sku: "tea", pieces: 5 }), call("order", { sku: "milk", pieces: 20 })]),
    text("Tea and milk are ordered.")
  ])
})

// A model that the program calls by itself asks the agent. A script plays it, too.
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const askShop = agentTool("ask_shop", { agent: shop, by: olga })
const readOn = runResultTool("run_result", { by: olga })
const toolkit = Toolkit.make(askShop.tool, readOn.tool)
const proposes = (name: string, params: object): Response.PartEncoded => ({
  type: "tool-call",
  id: name,
  name,
  params
})
let next = proposes("ask_shop", { message: "Fill the shelf" })
const assistant = LanguageModel.make({
  generateText: () => Effect.sync(() => [next]),
  streamText: () => Stream.empty
})

const program = Effect.gen(function* () {
  const first = yield* LanguageModel.generateText({ prompt: "Fill the shelf", toolkit })
  const [asked] = first.toolResults
  if (asked === undefined || asked.isFailure) return
  console.log(asked.result.status, asked.result.waiting_for[0]?.summary)
  // A person answers, and nobody else: no tool of the model decides.
  for (const { approvalId } of yield* approvalRequests(first.content, boss)) {
    yield* answerApproval({ approvalId, approved: true }, boss)
  }
  next = proposes("run_result", { run: asked.result.run })
  const second = yield* LanguageModel.generateText({ prompt: "And now?", toolkit })
  const [done] = second.toolResults
  if (done !== undefined && !done.isFailure) console.log(done.result.text)
})
const model = Layer.effect(LanguageModel.LanguageModel, assistant)
const live = Layer.mergeAll(model, askShop.layer, readOn.layer).pipe(Layer.provideMerge(troupe))
await Effect.runPromise(Effect.provide(program, live))

// Output:
// awaiting_approval Orders from the supplier: sku: "milk", pieces: 20
// Tea and milk are ordered.
