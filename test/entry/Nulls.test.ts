/** Null for an option, a setting or a member of a message or its context that may be absent counts as absent. */
import { assert, describe, it } from "vitest"
import { Schema } from "effect"
import * as z from "zod"
import { AgentSpec, tool } from "../../src/index.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"

const contexts = {
  zod: z.object({ customer: z.string(), plan: z.coerce.number().optional() }),
  effect: Schema.Struct({ customer: Schema.String, plan: Schema.optionalKey(Schema.Number) })
}

describe("null for what may be absent", () => {
  for (const [name, context] of Object.entries(contexts)) {
    it(`is absent in options, an agent, a message and its context, with a schema of ${name}`, async () => {
      const options = { namespace: "x", name: "who", description: "Who.", side_effects: "read" }
      const body = (_: unknown, call: { readonly context: object }) => JSON.stringify(call.context)
      const who = tool({ ...options, context } as never, body as never)
      // As code in JavaScript, or a client that reads JSON, gives them.
      const settings: object = { model: null, model_settings: null, specialists: null }
      const spec = { name: "a", instructions: "x", tools: ["who"], ...settings }
      const agent = AgentSpec.make(spec)
      assert.isFalse("model" in agent)
      const model = scripted(({ transcript }) => {
        const last = transcript.at(-1)
        return last?.role === "tool" ? text(JSON.stringify(last.outcome)) : call("who", {})
      })
      const others: object = { http: null, policy: null, features: null }
      const troupe = await start({ agents: [agent], tools: [who as never], model, ...others })
      try {
        const absent: object = { conversation: null, idempotency_key: null }
        const message = { agent: "a", text: "Who am I?", ...absent }
        const context = { customer: "c-1", plan: null }
        const answer = await troupe.ask({ ...message, context })
        assert.strictEqual(answer.status, "complete")
        assert.include(answer.text, "c-1")
        assert.notInclude(answer.text, "plan")
        const rejection = (given: Promise<unknown>) => given.catch((error: unknown) => error)
        const refused = await rejection(troupe.ask({ ...message, context: { customer: null } }))
        assert.deepInclude(refused, { _tag: "InvalidInput", field: "message.context.customer" })
        const untold = await rejection(troupe.ask({ agent: "a", text: null as never }))
        assert.deepInclude(untold, { _tag: "InvalidInput", field: "message.text" })
      } finally {
        await troupe.stop()
      }
    })
  }
})
