/** Texts and numbers through the doors of a service: refused with their place, or carried to the journal as they are. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, Principal, tool, ToolUserError } from "../../src/index.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import { readReply, replyOf } from "../../src/queue/ToolMessage.ts"
import { configured, platform, runBody } from "../calls/Platform.ts"
import { illFormed, isKept, numbers } from "./NumberCorpus.ts"

const boss = new Principal({ id: "boss", tenant: "default", roles: ["admin"] })
const half = "in \ud83d the middle"
const named = (name: string) =>
  ({
    namespace: "shop",
    name,
    description: "Does.",
    side_effects: "external",
    permission: "allow"
  }) as const
const tools = [
  tool(named("give"), async () => ({ note: half })),
  tool(named("fail"), () =>
    Effect.fail(new ToolUserError({ kind: "external", reason: "NO", message: half }))
  )
]
const agent = AgentSpec.make({ name: "a", instructions: "x", tools: ["give", "fail"] })

const service = async (use: (troupe: Awaited<ReturnType<typeof start>>) => Promise<void>) => {
  const model = Scripted.layer(({ transcript }) => {
    const last = transcript.at(-1)
    if (last?.role === "tool") return Scripted.text(resultText(last))
    const text = last?.role === "user" ? last.text : ""
    if (text === "say") return Scripted.text(half)
    return Scripted.call(text === "fail" ? "fail" : "give", text === "args" ? { x: [half] } : {})
  })
  const troupe = await start({ agents: [agent], tools, model })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const refusedAt = async (field: string, sent: Promise<unknown>) => {
  const error = await sent.then(
    () => undefined,
    (thrown: unknown) => thrown as { readonly _tag: string; readonly field: string }
  )
  assert.strictEqual(error?._tag, "InvalidInput", field)
  assert.strictEqual(error?.field, field)
}

describe("a service", () => {
  it("refuses what a caller sends with half of a surrogate pair, with its place", () =>
    service(async (troupe) => {
      for (const text of illFormed) {
        await refusedAt("message.text", troupe.ask({ agent: "a", text }))
        const message = { agent: "a", text: "x" }
        await refusedAt(
          "message.idempotency_key",
          troupe.ask({ ...message, idempotency_key: text })
        )
        await refusedAt(
          "message.context.a.1",
          troupe.ask({ ...message, context: { a: [0, text] } })
        )
      }
    }))

  it("gives its model well-formed results, errors and refusals, and keeps the result as it was", () =>
    service(async (troupe) => {
      for (const [text, said] of [
        ["give", "in \ufffd the middle"],
        ["say", "in \ufffd the middle"],
        ["fail", "in \ufffd the middle"],
        ["args", "the text at x.0 has half of a surrogate pair"]
      ] as const) {
        const answer = await troupe.ask({ agent: "a", text })
        assert.include(answer.text, said)
        assert.isTrue(answer.text?.isWellFormed())
        if (text !== "give") continue
        const events: Array<unknown> = []
        for await (const item of troupe.watch(answer.conversation, undefined, boss)) {
          if (item._tag === "CaughtUp") break
          events.push(item)
        }
        // A result is JSON text, and so is the event around it here.
        assert.include(JSON.stringify(events), String.raw`in \\ud83d the middle`)
      }
    }))
})

const json = `{"all":[${numbers
  .map((number) => (isKept(number) ? JSON.stringify(JSON.parse(number)) : number))
  .join(",")}],"texts":${JSON.stringify(illFormed)}}`

describe("a call of an endpoint", () => {
  it("carries the numbers and texts of its answer", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => ({ body: json }))
      const [tool] = yield* configured(web, [{ type: "platform", op: "annotate_trace" }], {
        context: ({ trace_id }) => ({ trace: { trace_id, span_id: "00f067aa0ba902b7" } })
      })
      const note = { references: { evaluator: { slug: "tone" } }, data: { outputs: { ok: true } } }
      const value = yield* runBody(tool, note)
      assert.strictEqual(JSON.stringify(yield* tool!.encode(value)), json)
    }).pipe(Effect.scoped, Effect.runPromise))
})

describe("the queue of tools", () => {
  it("carries the numbers and texts of a result", () => {
    const message = replyOf({ id: "1", name: "shop.give@1" }, { _tag: "Value", json })
    const reply = readReply(JSON.parse(JSON.stringify(message)) as typeof message)
    assert.strictEqual(reply._tag === "Value" && JSON.stringify(reply.value), json)
  })
})
