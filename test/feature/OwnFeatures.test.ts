/** Features of an application, made of what `troupe/feature` has. */
import { Context, Effect, Layer, Schema } from "effect"
import { feature, makeProblem, operation, serve } from "troupe/feature"
import { assert, describe, it, vi } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { AgentName } from "../../src/value/Ids.ts"

const olga = { id: "olga", tenant: "acme", roles: ["operator"] } as const
const publisher = { id: "platform", tenant: "acme", roles: ["publisher"] } as const
const token = "a-token-for-olga-of-acme"
const options = {
  agents: [agent({ name: "clerk", instructions: "Explain." })],
  model: scripted(() => text("I looked at it.")),
  http: { tokens: [{ token, principal: olga }] }
} satisfies Options

type Service = Awaited<ReturnType<typeof start>>

const served = async (given: Partial<Options>, use: (troupe: Service) => Promise<void>) => {
  const troupe = await start({ ...options, ...given })
  await use(troupe).finally(troupe.stop)
}

const asked = (troupe: Service, path: string) =>
  troupe.handler(
    new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}` } })
  )

class Payments extends Context.Service<
  Payments,
  { readonly paid: (order: string) => Effect.Effect<boolean> }
>()("test/feature/Payments") {}

class OrderLost extends Schema.TaggedError<OrderLost>()("OrderLost", { message: Schema.String }) {
  get problem() {
    return makeProblem(410, "order-lost", "The order is lost", this.message)
  }
}

describe("a feature of an application", () => {
  const paid = operation({
    id: "paid",
    name: "paid",
    method: "GET",
    path: "/v1/orders/:order/paid",
    params: Schema.Struct({ order: Schema.String }),
    success: Schema.Boolean,
    problems: [410],
    right: { operator: "all" },
    args: ["order"],
    summary: "Is this order paid?"
  })
  const effects = {
    paid: serve(paid, ({ order }) =>
      order === "lost"
        ? Effect.fail(new OrderLost({ message: "nobody knows it" }))
        : Payments.use((payments) => payments.paid(order))
    )
  }
  const groups = [{ id: "orders", title: "Orders", effects }] as const
  const layer = Layer.succeed(Payments, { paid: (order) => Effect.succeed(order === "1003") })

  it("performs with the services of its Layer, and tells its errors", () => {
    const orders = feature({ name: "orders", groups, layer })
    return served({ features: [orders] }, async (troupe) => {
      assert.isTrue(await troupe.of(orders).paid("1003", olga))
      assert.isFalse(await troupe.of(orders).paid("1004", olga))
      const lost = await troupe
        .of(orders)
        .paid("lost", olga)
        .catch((error) => error)
      assert.deepInclude(lost as object, { _tag: "OrderLost" })
      const response = await asked(troupe, "/v1/orders/1003/paid")
      assert.deepStrictEqual([response.status, await response.json()], [200, true])
      const gone = await asked(troupe, "/v1/orders/lost/paid")
      assert.deepStrictEqual(
        [gone.status, ((await gone.json()) as { readonly type: string }).type],
        [410, "urn:troupe:problem:order-lost"]
      )
      const refused = await troupe
        .of(orders)
        .paid("1003", publisher)
        .catch((error) => error)
      assert.deepInclude(refused as object, { _tag: "NotEntitled" })
    })
  })

  it("may ask an agent, and tells the errors of the ports as every service does", () => {
    const ask = operation({
      id: "ask",
      name: "askClerk",
      method: "POST",
      path: "/v1/questions",
      payload: Schema.Struct({ agent: AgentName, text: Schema.String }),
      success: Schema.Struct({ run: Schema.String }),
      problems: [404],
      right: "send",
      summary: "Ask an agent"
    })
    const askClerk = serve(ask, (message, by) =>
      Effect.gen(function* () {
        const runtime = yield* AgentRuntime
        const { task } = yield* runtime.send(message, by)
        return { run: task.id }
      })
    )
    const desk = feature({
      name: "desk",
      groups: [{ id: "questions", title: "Questions", effects: { askClerk } }]
    })
    return served({ features: [desk] }, async (troupe) => {
      const { run } = await troupe.of(desk).askClerk({ agent: "clerk", text: "Why?" }, olga)
      assert.strictEqual((await troupe.result(run, olga)).text, "I looked at it.")
      const response = await troupe.handler(
        new Request("http://localhost/v1/questions", {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ agent: "nobody", text: "Why?" })
        })
      )
      assert.strictEqual(response.status, 404)
      assert.include(await response.text(), "agent-not-found")
    })
  })

  it("meets a defect that says what it was, by method and over HTTP alike", async () => {
    const declared = {
      method: "GET",
      success: Schema.Array(Schema.String),
      right: "inspect",
      summary: "Names"
    } as const
    const lost = operation({ ...declared, id: "lost", name: "lost", path: "/v1/lost" })
    const listed = operation({ ...declared, id: "listed", name: "listed", path: "/v1/listed" })
    const password = "hunter2-hunter2"
    const failed = new Error(`the shelf fell: password=${password}`)
    // What a program without types may do.
    const effects = {
      lost: serve(lost, () => Effect.fail(failed as never)),
      listed: serve(listed, () => Effect.succeed([1] as never))
    }
    const shelf = feature({ name: "shelf", groups: [{ id: "shelf", title: "Shelf", effects }] })
    const lines: Array<string> = []
    const spy = vi.spyOn(console, "log").mockImplementation((...all) => {
      lines.push(all.map((each) => JSON.stringify(each)).join(" "))
    })
    await served({ features: [shelf] }, async (troupe) => {
      assert.strictEqual(
        await troupe
          .of(shelf)
          .lost(olga)
          .catch((error) => error),
        failed
      )
      assert.strictEqual((await asked(troupe, "/v1/lost")).status, 500)
      const wrong = await troupe
        .of(shelf)
        .listed(olga)
        .catch((error) => error)
      assert.strictEqual(
        wrong.message,
        "the operation listed of the feature shelf gave what its `success` does not take: 0: Expected string"
      )
      assert.strictEqual((await asked(troupe, "/v1/listed")).status, 500)
    }).finally(() => spy.mockRestore())
    const said = lines.filter((line) => line.includes("a request met a defect"))
    assert.include(said[0], "the shelf fell")
    assert.notInclude(lines.join(), password)
    assert.notInclude(lines.join(), "not iterable")
  })

  it("runs what is over it as long as the service does", async () => {
    const seen: Array<string> = []
    const over = Layer.effectDiscard(
      Effect.acquireRelease(
        Effect.sync(() => seen.push("begun")),
        () => Effect.sync(() => seen.push("ended"))
      )
    )
    await served({ features: [feature({ name: "seen", over })] }, async () => {
      assert.deepStrictEqual(seen, ["begun"])
    })
    assert.deepStrictEqual(seen, ["begun", "ended"])
  })

  it("does not compile without a service that its operations need", () => {
    const features = [feature({ name: "orders", groups })] as const
    // @ts-expect-error: nobody provides Payments.
    // @effect-diagnostics-next-line missingLayerContext:off
    const given: Options = { ...options, features }
    assert.deepStrictEqual(given.features, features as never)
  })
})
