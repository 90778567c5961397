/**
 * The agents of the recorded releases, what is recorded of their runs, and what their runs go on with. Each release is run with
 * this file as it is now, so what a release recorded stays here for as long as it is supported.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Schema } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { AgentName, ConversationId, RunId } from "../../src/value/Ids.ts"
import type { CallState, FrameState } from "../../src/run/RunState.ts"
import { statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as H from "../runtime/Harness.ts"

const Order = Schema.Struct({ order: Schema.String })

const look = tool(
  { namespace: "shop", name: "look", side_effects: "read", input: Order, output: Schema.String },
  ({ order }) => `order ${order} is paid`
)
const refund = tool(
  { namespace: "shop", name: "refund", side_effects: "external", input: Order },
  ({ order }) => `order ${order} is paid back`
)
/** Its body runs in a worker. A lost attempt is waited for as long as one may take. */
const print = {
  namespace: "shop",
  name: "print",
  side_effects: "external",
  permission: "allow",
  timeout_ms: 2_000,
  input: Order
} as const

export const clerk = AgentSpec.make({
  name: "clerk",
  instructions: "Help customers.",
  tools: ["shop.look@1", "shop.refund@1"]
})
const printer = AgentSpec.make({
  name: "printer",
  instructions: "Print receipts.",
  tools: ["shop.print@1"]
})
const boss = AgentSpec.make({
  name: "boss",
  instructions: "Ask the clerk.",
  tools: [],
  specialists: [AgentName.make("clerk")]
})

/** Without the one whose body runs elsewhere. */
export const tools = [look, refund]

const order = { order: "7" }
const turns: Readonly<Record<string, ReadonlyArray<ReturnType<typeof call>>>> = {
  clerk: [call("look", order), call("refund", order), text("It is paid back.")],
  printer: [call("print", order), text("It is printed.")],
  boss: [call("ask_clerk", { task: "Pay order 7 back." }), text("The clerk did it.")]
}

/** What an agent says follows from how many results it was shown, so that any process may go on. */
const script: Script = ({ agent, transcript }) =>
  turns[agent]?.[transcript.filter(({ role }) => role === "tool").length]

/** A process that hosts the agents, over stores that the test holds. */
export const runtime = Runtime.layer({
  agents: [clerk, printer, boss],
  tools: [look, refund, remote(print)]
}).pipe(
  Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
  Layer.provideMerge(scripted(script))
)

/** A worker that has the body of `print`, which it reports to `printed`. */
export const worker = (printed: (key: string) => void) =>
  ToolWorker.layer({
    tools: [
      tool(print, ({ order }, { key }) => {
        printed(key ?? "")
        return `receipt of order ${order}`
      })
    ]
  })

/** What a process runs over; what actors remember is not kept. */
export const stores = Layer.merge(SqlStores.layer, EphemeralStore.layer)

export const send = (agent: string, conversation: string) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send(
        {
          agent: AgentName.make(agent),
          conversation: ConversationId.make(conversation),
          text: "Pay order 7 back."
        },
        H.alice
      )
    ),
    ({ task }) => task.id
  )

const shown = (entry: TranscriptEntry): string =>
  entry.role === "tool"
    ? `${entry.name} gave ${resultText(entry)}`
    : `${entry.role}: ${entry.text}${entry.role === "assistant" ? entry.calls.map(({ name }) => `[${name}]`).join("") : ""}`

const frameOf = ({ agent, id, step, transcript }: FrameState) => ({
  id,
  agent,
  step,
  transcript: transcript.map(shown)
})

const callState = ({ approved_by, id, phase, proposed }: CallState) => ({
  id,
  tool: proposed.name,
  phase: phase._tag,
  approved_by: approved_by ?? null
})

const State = Schema.Struct({
  status: Schema.String,
  events: Schema.Int,
  frames: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      agent: Schema.String,
      step: Schema.Int,
      transcript: Schema.Array(Schema.String)
    })
  ),
  calls: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      tool: Schema.String,
      phase: Schema.String,
      approved_by: Schema.NullOr(Schema.String)
    })
  )
})

/** The fold of a run, in words that do not change with the names of its members. */
export const stateOf = Effect.fnUntraced(function* (
  run: RunId
): Effect.fn.Return<typeof State.Type, unknown, RunPorts> {
  const entries = yield* RunReader.use((reader) => reader.read(run, 0, 10_000))
  const state = fold(entries.map(({ event }) => event))
  return {
    status: statusOf(state),
    events: entries.length,
    frames: [...state.frames.values()].map(frameOf),
    calls: [...state.calls.values()].map(callState)
  }
})

const Recorded = Schema.Struct({ run: RunId, state: State })

/** The runs of a release, with the states that it left them in. */
export const Runs = Schema.Struct({
  /** It looked, asked, was allowed to, and ended. */
  finished: Recorded,
  /** A person has not answered yet. */
  asking: Recorded,
  /** Its call is in the queue, and no worker has taken it. */
  queued: Recorded,
  /** Its specialist asks a person. */
  delegated: Recorded
})
export type Runs = typeof Runs.Type

const decodeRuns = Schema.decodeUnknownSync(Schema.fromJsonString(Runs))

export const readRuns = (folder: string): Runs =>
  decodeRuns(readFileSync(join(folder, "runs.json"), "utf8"))
