/** The trace of whoever sends a message: its run is kept beneath the span that `traceparent` names. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { NodeService } from "../../layers/compose/entries/Embed.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const caller = "00f067aa0ba902b7"
const traceparent = `00-${trace}-${caller}-01`
const tracestate = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
const pay = tool({ namespace: "shop", name: "pay", side_effects: "external" }, () => "paid")
const shop = AgentSpec.make({ name: AgentName.make("shop"), instructions: "Pay.", tools: ["pay"] })

const model = () =>
  ScriptedModelGateway.layer(({ transcript }) =>
    transcript.some(({ role }) => role === "tool") ? text("done") : call("pay", {})
  )

const started = () => start({ agents: [shop], tools: [pay], model: model(), telemetry: false })

const accepted = async (troupe: NodeService, run: string) => {
  const [first] = await troupe.runEvents(run)
  const { sampled, span_id, trace_id, tracestate } = (
    first as unknown as { event: Record<string, unknown> }
  ).event
  return { trace_id, span_id, sampled, tracestate }
}

describe("the trace of a caller", () => {
  it.live("is kept where nothing is exported, by send, ask and stream", () =>
    Effect.promise(async () => {
      const troupe = await started()
      const message = { agent: "shop", text: "Pay", traceparent, tracestate }
      const runs = [(await troupe.send(message)).run, (await troupe.ask(message)).run]
      for await (const part of troupe.stream(message)) {
        if (part.type !== "begun") break
        runs.push(part.run)
      }
      const kept = { trace_id: trace, span_id: caller, sampled: undefined, tracestate }
      assert.lengthOf(runs, 3)
      for (const run of runs) assert.deepStrictEqual(await accepted(troupe, run), kept)
      const quiet = { ...message, traceparent: traceparent.replace(/01$/, "00") }
      const { run } = await troupe.send(quiet)
      assert.deepStrictEqual(await accepted(troupe, run), { ...kept, sampled: false })
      await troupe.stop()
    })
  )

  it.live(
    "counts as absent where it is malformed, and is refused where it is no text or too long",
    () =>
      Effect.promise(async () => {
        const troupe = await started()
        const send = (headers: object) => troupe.send({ agent: "shop", text: "Pay", ...headers })
        for (const malformed of [
          "",
          "x",
          `${traceparent}-more`,
          traceparent.toUpperCase(),
          `ff${traceparent.slice(2)}`
        ]) {
          const { run } = await send({ traceparent: malformed, tracestate })
          const { trace_id, tracestate: state } = await accepted(troupe, run)
          assert.notStrictEqual(trace_id, trace, malformed)
          assert.isUndefined(state, malformed)
        }
        for (const state of [
          "no",
          "A=1",
          "a=,",
          `a=${"b".repeat(300)}`,
          "a=1,b",
          "a=\n",
          ",",
          Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(",")
        ]) {
          const { run } = await send({ traceparent, tracestate: state })
          const kept = await accepted(troupe, run)
          assert.deepInclude(kept, { trace_id: trace, tracestate: undefined }, state)
        }
        const { run } = await send({ tracestate })
        assert.isUndefined((await accepted(troupe, run)).tracestate)
        for (const [name, value] of [
          ["traceparent", "0".repeat(513)],
          ["traceparent", 7],
          ["tracestate", "a".repeat(100_000)],
          ["tracestate", {}]
        ] as const) {
          const refused = await send({ traceparent, [name]: value }).then(
            () => undefined,
            (error: { readonly _tag: string; readonly field: string }) => [error._tag, error.field]
          )
          assert.deepStrictEqual(refused, ["InvalidInput", `message.${name}`])
        }
        await troupe.stop()
      })
  )
})
