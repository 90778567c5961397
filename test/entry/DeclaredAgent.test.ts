/** An agent that declares the context of its runs, with secrets in it; its instructions and tools follow from it. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as z from "zod"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent, Principal, tool } from "../../src/index.ts"
import type { RunEvent } from "../../src/index.ts"
import { inLongForm } from "../InLongForm.ts"
import * as Homes from "../process/Homes.ts"

const secret = "blue-heron-7741"
const Customer = Schema.Struct({
  customer: Schema.String,
  plan: Schema.Literals(["free", "gold"]),
  token: Schema.RedactedFromValue(
    Schema.String.check(Schema.makeFilter((given) => given.length >= 5 || `${given} is short`))
  ),
  keys: Schema.optionalKey(Schema.Array(Schema.Redacted(Schema.String)))
})
const told: Array<unknown> = []
const read = { namespace: "shop", description: "Reads.", side_effects: "read" } as const
const orders = tool({ ...read, name: "orders", context: Customer }, (_, { context }) => {
  expectTypeOf(context.token).toEqualTypeOf<Redacted.Redacted<string>>()
  told.push(Redacted.value(context.token), context.keys?.map(Redacted.value))
  return "read"
})
const plain = tool({ ...read, name: "plain" }, (_, call) => {
  told.push(call.context)
  return "plain"
})
const strict = z.object({ customer: z.string() })
const narrow = tool({ ...read, name: "narrow", context: strict }, (_, { context }) => {
  told.push(context)
  return "narrow"
})
const shop = agent({
  name: "shop",
  context: Customer,
  instructions: ({ context, principal }) => {
    expectTypeOf(context).toEqualTypeOf<{
      readonly customer: string
      readonly plan: "free" | "gold"
    }>()
    return `Help ${context.customer} for ${principal}: ${JSON.stringify(context)}`
  },
  tools: { orders: true, plain: true, narrow: ({ context }) => context.plan === "gold" }
})
const context = { customer: "1003", plan: "free", token: secret } as const
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

const open = (script: Scripted.Script, more?: Partial<Options>) => {
  told.length = 0
  return start({
    agents: [shop],
    tools: [orders, plain, narrow],
    model: Scripted.layer(script),
    ...more
  })
}

const eventsOf = async (troupe: NodeService, run: string) => {
  const events: Array<RunEvent> = []
  for await (const item of troupe.watch(run))
    if (item._tag === "Event") events.push(item.entry.event)
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
    return error as {
      readonly _tag: string
      readonly field?: string
      readonly reason: string
      readonly message: string
    }
  }
  return assert.fail("it did not reject")
}

const filesUnder = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : []
  )

describe("an agent that declares a context", () => {
  it("refuses another one, names the member, and quotes no secret", async () => {
    const tools = [orders, plain, narrow]
    const troupe = await start({ agents: [shop], tools, model: Scripted.layer([]) })
    const { token: _, ...tokenless } = context
    const wrong: ReadonlyArray<readonly [unknown, string]> = [
      [undefined, "customer"],
      [tokenless, "token"],
      [{ ...context, plan: "iron" }, "plan"],
      [{ ...context, token: "t7" }, "token"],
      [{ ...context, token: { t: "t7" } }, "token"],
      [{ ...context, keys: ["a", 4417] }, "keys.1"],
      [{ ...context, stray: 1 }, "stray"]
    ]
    for (const [given, field] of wrong) {
      const message = { agent: "shop", text: "Hi", context: given as typeof context }
      const error = await rejection(troupe.send(message))
      assert.deepInclude(error, { _tag: "InvalidInput", field: `message.context.${field}` })
      assert.match(error.reason, /^the agent "shop" reads it: /)
      assert.notMatch(error.message, /t7|4417/)
    }
    // @ts-expect-error a context that its agent does not declare
    const untyped = troupe.send({ agent: shop, text: "Hi", context: { customer: 7 } })
    assert.strictEqual((await rejection(untyped))._tag, "InvalidInput")
    // @ts-expect-error no context, though its name is that of an agent that declares one
    const missing = troupe.send({ agent: "shop", text: "Hi" })
    assert.strictEqual((await rejection(missing)).field, "message.context.customer")
    // @ts-expect-error the same of the agent itself
    const lacking = troupe.ask({ agent: shop, text: "Hi" })
    assert.strictEqual((await rejection(lacking)).field, "message.context.customer")
    await troupe.stop()
  })

  it("decides with it on instructions and tools, once a turn, and journals a digest", async () => {
    const asked: Array<string> = []
    const turns = [call("orders"), call("narrow"), call("plain"), text("done"), text("gold")]
    const troupe = await open((request) => {
      const { system, tools } = request
      asked.push(`${system} ${tools.map(({ name }) => name).join(" ")}`)
      assert.notInclude(JSON.stringify(request), secret)
      return turns.shift()
    })
    const message = { agent: shop, text: "Hi", context: { ...context, keys: ["k1"] } }
    const { run, status } = await troupe.ask(message, olga)
    assert.strictEqual(status, "complete")
    const seen = { customer: "1003", plan: "free" }
    assert.deepStrictEqual(
      asked,
      Array.from({ length: 4 }, () => `Help 1003 for olga: ${JSON.stringify(seen)} orders plain`)
    )
    // Told are the tool that declares the secrets, and not the one that declares nothing.
    assert.deepStrictEqual(told, [secret, ["k1"], seen])
    const events = await eventsOf(troupe, run)
    assert.deepStrictEqual(reasonsOf(events), ["Value", "NOT_OFFERED", "Value"])
    const given = events.flatMap((event) => (event._tag === "ModelTurned" ? [event.given] : []))
    assert.strictEqual(new Set(given.map((each) => each?.digest)).size, 1)
    assert.match(given[0]?.digest ?? "", /^[0-9a-f]{64}$/)
    assert.deepStrictEqual(given[0]?.without, ["narrow"])
    const gold = await troupe.ask({ ...message, context: { ...context, plan: "gold" } }, olga)
    const [first] = (await eventsOf(troupe, gold.run)).filter(({ _tag }) => _tag === "ModelTurned")
    assert.isUndefined(first?._tag === "ModelTurned" ? first.given?.without : [])
    await troupe.stop()
  })

  it("ends a turn whose functions fail, and a start whose context hides its secrets", async () => {
    for (const broken of [() => assert.fail("boom"), () => 7 as never, () => "x".repeat(500_000)]) {
      const odd = agent({ name: "odd", instructions: broken })
      const troupe = await open([text("never")], { agents: [odd] })
      const { run, status } = await troupe.ask({ agent: "odd", text: "Hi" })
      assert.strictEqual(status, "failed")
      assert.deepInclude((await eventsOf(troupe, run)).at(-1), { reason: "agent_function" })
      await troupe.stop()
    }
    class Hidden extends Schema.Class<Hidden>("Hidden")({
      token: Schema.RedactedFromValue(Schema.String)
    }) {}
    const hidden = agent({ name: "hidden", instructions: "", context: Hidden })
    const error = await rejection(open([], { agents: [hidden] }))
    assert.deepInclude(error, { _tag: "MisdeclaredAgent", field: "context" })
  })

  it("is one message under a key with the same context, whatever its secrets", async () => {
    const troupe = await open(() => text("ok"))
    const message = { agent: "shop", text: "Hi", idempotency_key: "k", context }
    const first = await troupe.send(message)
    const again = await troupe.send({ ...message, context: { ...context, token: "another" } })
    assert.deepInclude(again, { run: first.run, created: false })
    const other = { ...message, context: { ...context, plan: "gold" } }
    assert.strictEqual((await rejection(troupe.send(other)))._tag, "IdempotencyConflict")
    await troupe.stop()
  })

  inLongForm(
    "keeps secrets out of the store, and after a restart is told them anew",
    () => Effect.flatMap(Homes.directory, (store) => Effect.promise(() => restarted(store))),
    120_000
  )

  it("is told over HTTP, and its problems quote no secret", async () => {
    const tokens = [{ token: "a-token-of-olgas", principal: olga }]
    const troupe = await open(() => text("ok"), { http: { tokens } })
    const post = (body: unknown) =>
      troupe.handler(
        new Request("http://localhost/v1/messages", {
          method: "POST",
          headers: { authorization: "Bearer a-token-of-olgas", "content-type": "application/json" },
          body: JSON.stringify(body)
        })
      )
    const message = { agent: "shop", text: "Hi" }
    const wrong = await post({ ...message, context: { ...context, token: [secret] } })
    assert.strictEqual(wrong.status, 400)
    const problem = await wrong.text()
    assert.include(problem, "message.context.token")
    assert.notInclude(problem, secret)
    const { run_id } = (await (await post({ ...message, context })).json()) as { run_id: string }
    assert.strictEqual((await troupe.result(run_id)).status, "complete")
    const events = await troupe.handler(
      new Request(`http://localhost/v1/runs/${run_id}/events`, {
        headers: { authorization: "Bearer a-token-of-olgas" }
      })
    )
    const shown = await events.text()
    assert.include(shown, '"context_secrets":["token"]')
    assert.notInclude(shown, secret)
    await troupe.stop()
  })
})

/** One run is in its first turn when the process stops; another begins after the restart. */
const restarted = async (store: { readonly directory: string }) => {
  const first = await open(() => Effect.never, { store })
  const message = { agent: "shop", text: "1", context, idempotency_key: "k" }
  const { run } = await first.send(message, olga)
  await first.stop()
  const turns = [call("orders"), call("plain"), call("orders"), text("done")]
  let resend: Promise<unknown> | undefined
  const second = await open(
    () =>
      Effect.promise(async () => {
        if (turns.length === 2) await (resend = second.send(message, olga))
        return turns.shift()!
      }),
    { store }
  )
  assert.strictEqual((await second.result(run)).status, "complete")
  assert.isDefined(resend)
  const events = await eventsOf(second, run)
  assert.deepStrictEqual(reasonsOf(events), ["RUN_CONTEXT_SECRETS", "Value", "Value"])
  assert.deepStrictEqual(told, [{ customer: "1003", plan: "free" }, secret, undefined])
  await second.stop()
  for (const file of filesUnder(store.directory)) {
    assert.isFalse(readFileSync(file).includes(secret), file)
  }
}
