/**
 * One agent's run, as the turns that its model takes, and the run itself over any gateway. What is compared of its journal
 * is all but what names this run or this moment.
 */
import { Effect, Layer, Schema } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import type { ModelGateway } from "../../services/ModelGateway.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { agentsOf, ended, reads, send, toolsOf } from "../runtime/Harness.ts"
import type { TestTool } from "../runtime/Harness.ts"

const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens })

/** A turn with the metadata that a wire adds: the model's name, and the provider of its reasoning. */
const by = { model: "wire-model-1", origin: "openaiCompatible.chat:wire-model" }

/** Reasoning and text before parallel calls, one of which fails; a call alone; an answer. */
export const turns: ReadonlyArray<Turn> = [
  {
    text: "Let me look at both.",
    calls: [
      { model_id: "call_a", name: "look", arguments: { n: 1 } },
      { model_id: "call_b", name: "look", arguments: { n: 2 } },
      { model_id: "call_c", name: "break", arguments: { n: 3 } }
    ],
    finish: "tool_calls",
    reasoning: [{ text: "One and two are there; three may break." }],
    usage: usage(120, 40),
    ...by
  },
  {
    text: "",
    calls: [{ model_id: "call_d", name: "look", arguments: { n: 4 } }],
    finish: "tool_calls",
    usage: usage(200, 12),
    model: by.model
  },
  {
    text: "One, two and four are 2, 4 and 8. Three cannot be looked at: größer als 😀.",
    calls: [],
    finish: "stop",
    usage: usage(260, 30),
    model: by.model
  }
]

const refuses = Effect.fail(
  new ToolUserError({ kind: "invalid_args", reason: "TOO_LARGE", message: "Three is too large." })
)

const lookTools = {
  look: reads((n) => Effect.succeed({ twice: n * 2 })),
  break: reads(() => refuses)
}

/** Those that the wires' turns call: one answers, the other fails. */
export const wireTools: Readonly<Record<string, TestTool>> = {
  list: {
    ...reads((_n, _call, args) => Effect.succeed(args)),
    parameters: { limit: Schema.Int, note: Schema.String }
  },
  look: { ...reads(() => refuses), parameters: {} }
}

/** Members whose values belong to one run, moment or process. */
const own = new Set([
  "trace_id",
  "started_at",
  "ended_at",
  "owner",
  "key",
  "conversation",
  "address"
])

const rest = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(rest)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (own.has(name) ? [] : [[name, rest(member)]]))
  )
}

/** The agent's run over the gateway: its journal, ids and times aside. */
export const journal = <E, R>(
  gateway: Layer.Layer<ModelGateway, E, R>,
  tools: Readonly<Record<string, TestTool>> = lookTools
): Effect.Effect<ReadonlyArray<unknown>, unknown, R> => {
  const options = { tools, script: [] }
  const runtime = Runtime.layer({ agents: agentsOf(options), tools: [toolsOf(tools)] }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(gateway),
    Layer.provideMerge(EphemeralStores.layer)
  )
  return Effect.gen(function* () {
    const run = yield* send("Look at one, two and three.")
    return ((yield* ended(run)) as ReadonlyArray<RunEvent>).map(rest)
  }).pipe(Effect.provide(runtime))
}
