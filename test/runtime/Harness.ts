/**
 * A runtime on ephemeral stores with a scripted model and small tools, and the few questions that tests ask it.
 */
import { Effect, Layer, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import { AgentName, ConversationId, Tenant } from "../../src/Ids.ts"
import type { RunId } from "../../src/Ids.ts"
import { Principal } from "../../src/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import type { CallContext, Governance } from "../../src/tool/GovernedTool.ts"
import { callOf } from "../../src/tool/GovernedTool.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import * as Ephemeral from "../../layers/compose/Ephemeral.ts"
import * as ScriptedModelGateway from "../../layers/model/ScriptedModelGateway.ts"
import * as RuntimeConfig from "../../layers/runtime/RuntimeConfig.ts"

export const tenant = Tenant.make("acme")
export const alice = new Principal({ id: "alice", tenant, roles: ["admin"] })
export const agentName = AgentName.make("tester")

/** What a test's tool does; the call's context tells it who and for whom. */
export type Body = (n: number, call: CallContext) => Effect.Effect<unknown, ToolError>

export interface TestTool {
  readonly governance: Omit<Governance, "namespace">
  readonly body: Body
}

/** A toolkit of tools that take `{ n }` and return anything JSON. */
export const toolsOf = (tools: Readonly<Record<string, TestTool>>) => {
  const kit = Toolkit.make(
    ...Object.keys(tools).map((name) =>
      Tool.make(name, {
        description: `The test's ${name}.`,
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Json,
        failure: ToolError
      })
    )
  )
  const governance = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, { namespace: "test", ...tool.governance }])
  )
  const handlers = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [
      name,
      ({ n }: { readonly n: number }, context: Toolkit.HandlerContext<never>) =>
        tool.body(n, callOf(context)) as Effect.Effect<Schema.Json, ToolError>
    ])
  )
  return govern(kit, governance, handlers as never)
}

export interface Options {
  readonly tools?: Readonly<Record<string, TestTool>>
  readonly agent?: Partial<Parameters<typeof AgentSpec.make>[0]>
  readonly agents?: ReadonlyArray<AgentSpec>
  readonly script: ScriptedModelGateway.Script
  readonly config?: Partial<RuntimeConfig.RuntimeConfig>
}

export const agentsOf = (options: Options): ReadonlyArray<AgentSpec> => [
  AgentSpec.make({
    name: agentName,
    instructions: "Test.",
    tools: Object.keys(options.tools ?? {}).map((name) => `test.${name}@1`),
    ...options.agent
  }),
  ...(options.agents ?? [])
]

export const layer = (options: Options) =>
  Ephemeral.layer({ agents: agentsOf(options), tools: [toolsOf(options.tools ?? {})] }).pipe(
    Layer.provideMerge(ScriptedModelGateway.layer(options.script)),
    Layer.provide(
      Layer.succeed(RuntimeConfig.RuntimeConfig, { ...RuntimeConfig.defaults, ...options.config })
    )
  )

/** Sends a message and gives its run. */
export const send = (text: string, conversation = "c-1", by = alice) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send({ agent: agentName, conversation: ConversationId.make(conversation), text }, by)
    ),
    ({ task }) => task.id
  )

/** Every event of a conversation from the start, until one of them is what the test waits for. */
export const until = (is: (event: RunEvent, run: RunId) => boolean, conversation = "c-1") =>
  AgentRuntime.use((runtime) =>
    runtime.watch(ConversationId.make(conversation), { ordinal: 0, seq: -1 }).pipe(
      Stream.filter((item) => item._tag === "Event"),
      Stream.takeUntil((item) => is(item.entry.event, item.run)),
      Stream.runDrain
    )
  )

/** Waits for the run to end, and gives its events. */
export const ended = Effect.fnUntraced(function* (run: RunId, conversation = "c-1") {
  yield* until((event, id) => id === run && event._tag === "RunEnded", conversation)
  return yield* events(run)
})

export const events = (run: RunId) =>
  Effect.map(
    RunJournal.use((journal) => journal.read(run, 0, 10_000)),
    (entries) => entries.map((entry) => entry.event)
  )

export const settled = (all: ReadonlyArray<RunEvent>) =>
  all.filter((event) => event._tag === "CallSettled")
