/**
 * The agents of the HTTP tests, on the real runtime. Their model says what the test tells it, run by run: nothing comes
 * before it is told to, and whatever is not told waits.
 */
import { Context, Deferred, Effect, Layer, Queue, Schema } from "effect"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolTerminalError, ToolTransientError } from "../../src/error/ToolError.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { ApprovalId, RunId } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as H from "../runtime/Harness.ts"

export class Script extends Context.Service<
  Script,
  {
    /** The next turn of a run. */
    readonly turn: (run: RunId, turn: Turn) => Effect.Effect<void>
    /** A delta of the turn that the run waits for. */
    readonly piece: (run: RunId, piece: ModelDelta) => Effect.Effect<void>
    /** Lets the run's `scan` end. */
    readonly release: (run: RunId) => Effect.Effect<void>
    readonly released: (run: RunId) => Effect.Effect<void>
  }
>()("test/http/Script") {}

type Said =
  | { readonly _tag: "Turn"; readonly turn: Turn }
  | { readonly _tag: "Piece"; readonly piece: ModelDelta }

export const layer: Layer.Layer<ModelGateway | Script> = Layer.effectContext(
  Effect.sync(() => {
    const runs = new Map<RunId, Queue.Queue<Said>>()
    const scans = new Map<RunId, Deferred.Deferred<void>>()
    const scan = (run: RunId) => {
      const found = scans.get(run) ?? Deferred.makeUnsafe<void>()
      scans.set(run, found)
      return found
    }
    const of = Effect.fnUntraced(function* (run: RunId) {
      const found = runs.get(run)
      if (found !== undefined) return found
      const made = yield* Queue.unbounded<Said>()
      runs.set(run, made)
      return made
    })
    const say = (run: RunId, said: Said) =>
      Effect.flatMap(of(run), (queue) => Effect.asVoid(Queue.offer(queue, said)))
    return Context.make(Script, {
      turn: (run, turn) => say(run, { _tag: "Turn", turn }),
      piece: (run, piece) => say(run, { _tag: "Piece", piece }),
      release: (run) => Effect.asVoid(Deferred.succeed(scan(run), undefined)),
      released: (run) => Deferred.await(scan(run))
    }).pipe(
      Context.add(ModelGateway, {
        turn: Effect.fnUntraced(function* ({ run }, sink) {
          const queue = yield* of(run)
          for (;;) {
            const said = yield* Queue.take(queue)
            if (said._tag === "Turn") return said.turn
            sink(said.piece)
          }
        })
      })
    )
  })
)

const event = Schema.Struct({ event_id: Schema.String, reason: Schema.String })

/** What the body of `look` fails with, which is for operators only. */
const internal_text = "row 7 of table t"

/** Runs whose `send` has lost its connection; it does so once. */
const lost = new Set<RunId>()

export const tools = [
  tool(
    {
      namespace: "test",
      name: "replay_dlq_event",
      side_effects: "write",
      effect_description: "Sends a dead letter again.",
      input: event
    },
    ({ event_id }) => `sent ${event_id}`
  ),
  tool(
    {
      namespace: "test",
      name: "hurried",
      side_effects: "write",
      approvers: ["viewer", "approver", "operator", "customer"],
      effect_description: "Asks for a short time.",
      approval_expires_ms: 1,
      input: event
    },
    () => null
  ),
  tool(
    {
      namespace: "test",
      name: "look",
      side_effects: "read",
      input: Schema.Struct({ n: Schema.Int })
    },
    ({ n }, { spent }): Effect.Effect<{ rows: number }, ToolTerminalError> => {
      spent({ model: "a model that a tool called", usage: { input_tokens: 100, output_tokens: 0 } })
      return n < 0
        ? Effect.fail(new ToolTerminalError({ kind: "internal", message: internal_text }))
        : Effect.succeed({ rows: n })
    }
  ),
  tool(
    {
      namespace: "test",
      name: "scan",
      side_effects: "read",
      input: Schema.Struct({ n: Schema.Int })
    },
    Effect.fnUntraced(function* ({ n }, { run, show }) {
      show({ rows: n })
      yield* (yield* Script).released(run)
      return { rows: n }
    })
  ),
  tool(
    {
      namespace: "test",
      name: "send",
      side_effects: "write",
      permission: "allow",
      input: Schema.Struct({ n: Schema.Int })
    },
    (_, { run }): Effect.Effect<null, ToolTransientError> => {
      if (lost.has(run)) return Effect.succeed(null)
      lost.add(run)
      return Effect.fail(new ToolTransientError({ kind: "network", message: "connection reset" }))
    }
  )
]

const tool_names = ["replay_dlq_event", "hurried", "look", "scan", "send"]

export const agents = ["operations", "spectral"].map((name) =>
  AgentSpec.make({
    name: AgentName.make(name),
    instructions: "Help.",
    tools: tool_names.map((each) => `test.${each}@1`),
    provider_tools: [{ tool: "web_search" }],
    limits: RunLimits.make({})
  })
)

/** A turn that proposes to replay a dead letter, with everything that only staff may see. */
export const proposed: Turn = {
  text: "I would replay it.",
  calls: [
    {
      model_id: "m1",
      name: "replay_dlq_event",
      arguments: { event_id: "e", reason: "r" },
      provider: { google: { thoughtSignature: "a signature of the model" } }
    }
  ],
  finish: "tool_calls",
  reasoning: [
    {
      text: "a thought of the model",
      provider: { anthropic: { signature: "a signature of the model" } }
    }
  ],
  parts: [
    { of: "reasoning" },
    { of: "text", units: 18, provider: { google: { s: "a signature of the model" } } },
    { of: "call" }
  ],
  origin: "a provider:a model"
}

/** A turn that calls one tool. */
export const calls = (name: string, args: Turn["calls"][number]["arguments"]): Turn => ({
  text: "",
  calls: [{ model_id: "m1", name, arguments: args }],
  finish: "tool_calls"
})

export const answered: Turn = { text: "Done.", calls: [], finish: "stop" }

/** Gives the run this turn, and waits for the events that follow. */
export const turns = Effect.fnUntraced(function* (
  said: { readonly run: RunId; readonly conversation: string },
  turn: Turn,
  until: Parameters<typeof H.happened>[1]
) {
  yield* Script.use((script) => script.turn(said.run, turn))
  yield* Effect.orDie(H.happened(said.run, until, 1, said.conversation))
})

/** Lets the run answer "Done.", and waits for its end. */
export const ends = (said: { readonly run: RunId; readonly conversation: string }) =>
  turns(said, answered, "RunEnded")

/** Makes the run propose a call that needs an approval, and returns the approval's id. */
export const asks = Effect.fnUntraced(function* (
  said: { readonly run: RunId; readonly conversation: string },
  turn: Turn = proposed
): Effect.fn.Return<ApprovalId, never, Script | Effect.Services<ReturnType<typeof H.question>>> {
  yield* Script.use((script) => script.turn(said.run, turn))
  return (yield* Effect.orDie(H.question(said.run, 1, said.conversation))).approval
})
