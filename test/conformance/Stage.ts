/**
 * A real runtime on ephemeral stores, with a scripted model and tools that take any arguments, on which the drivers play
 * their cases. Time is the test's clock.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Tool, Toolkit } from "effect/ai"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { Policy } from "../../src/permission/Policy.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import * as RunFold from "../../src/run/RunFold.ts"
import type { CallContext, Governance } from "../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../src/tool/GovernedTool.ts"
import type { ToolGroup } from "../../src/tool/ToolGroup.ts"
import type { ToolCompleted } from "../../src/tool/CallRecord.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { ToolAttemptObserver } from "../../services/RunObserver.ts"
import { ToolAttemptObservers, ToolCallObservers } from "../../services/RunObserver.ts"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { SemStreamsLoops } from "../../layers/semstreams/SemStreamsLoops.ts"
import * as OutboxRelay from "../../layers/runtime/relay/OutboxRelay.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"

const tenant = Tenant.make("acme")
const conversation = ConversationId.make("vectors")
export const supervisor = AgentName.make("supervisor")
export const operator = new Principal({ id: "operator", tenant, roles: ["admin"] })

export type Body = (
  args: Readonly<Record<string, unknown>>,
  call: CallContext
) => Effect.Effect<unknown, unknown>

export interface StageTool {
  readonly governance: Omit<Governance, "namespace">
  readonly body: Body
  /** Absent = the stage's own provider. */
  readonly provider?: string
  /** Absent = any JSON. */
  readonly success?: Schema.Codec<unknown, unknown>
}

export interface Play {
  readonly tools: Readonly<Record<string, StageTool>>
  readonly script: ScriptedModelGateway.Script
  /** Specialists of the supervisor, each with the names of its tools. */
  readonly specialists?: Readonly<Record<string, ReadonlyArray<string>>>
  readonly limits?: Partial<RunLimits>
  /** The names that the supervisor may use; absent = all. */
  readonly allowed?: ReadonlyArray<string>
  /** The supervisor's capabilities; absent = the agent declares none, which differs from an empty list. */
  readonly capabilities?: ReadonlyArray<string>
  readonly policy?: Policy
  /** The groups whose tools the supervisor has; absent = all. */
  readonly groups?: ReadonlyArray<ToolGroup>
  /** Called with each failed attempt. */
  readonly attempted?: ToolAttemptObserver
}

const families = (tools: Play["tools"]) => {
  const kit = Toolkit.make(
    ...Object.keys(tools).map((name) =>
      Tool.make(name, {
        description: `The vector's ${name}.`,
        parameters: Schema.Record(Schema.String, Schema.Json),
        success: tools[name]!.success ?? (Schema.Json as Schema.Codec<unknown, unknown>),
        failure: ToolError
      })
    )
  )
  const handlers = Object.fromEntries(
    Object.entries(tools).map(([name, { body }]) => [
      name,
      (args: Readonly<Record<string, unknown>>, context: Toolkit.HandlerContext<never>) =>
        body(args, callOf(context)) as Effect.Effect<Schema.Json, ToolError>
    ])
  )
  const governance = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, { namespace: "vec", ...tool.governance }])
  )
  return Effect.map(govern(kit, governance, handlers as never), (governed) =>
    governed.map((tool) => {
      const { provider } = tools[tool.spec.name]!
      return provider === undefined ? tool : { ...tool, provider }
    })
  )
}

const keyed = (names: Iterable<string>) => [...names].map((name) => `vec.${name}@1`)

const agentsOf = ({
  allowed,
  capabilities,
  groups,
  limits = {},
  specialists = {},
  tools
}: Play): ReadonlyArray<AgentSpec> => [
  AgentSpec.make({
    name: supervisor,
    instructions: "Follow the script.",
    tools: keyed(allowed ?? Object.keys(tools)),
    ...(capabilities === undefined ? undefined : { capabilities }),
    ...(groups === undefined ? undefined : { groups }),
    specialists: Object.keys(specialists).map((name) => AgentName.make(name)),
    limits: RunLimits.make(limits)
  }),
  ...Object.entries(specialists).map(([name, its]) =>
    AgentSpec.make({ name: AgentName.make(name), instructions: "Answer.", tools: keyed(its) })
  )
]

/** The facts of completed calls, oldest first. */
class Facts extends Context.Service<Facts, Array<ToolCompleted>>()("test/conformance/Facts") {}

export const facts = Effect.map(Facts, (all): ReadonlyArray<ToolCompleted> => all)

/** A case may wait for days of test time, in which periodic work would be done a million times. */
const long_ms = 1e12
const unhurried: RuntimeConfig.RuntimeConfig = {
  ...RuntimeConfig.defaults,
  sweep_ms: long_ms,
  lease_ms: long_ms,
  watch_ms: long_ms,
  audit_first_ms: long_ms,
  audit_ms: long_ms,
  drain_ms: 0
}

const patient = Effect.map(OutboxRelay.RelayConfig, (config) => ({ ...config, sweep_ms: long_ms }))

/** Runs `proof` on a stage of its own. */
export const stage = <A, E, R>(play: Play, proof: Effect.Effect<A, E, R>) => {
  const seen: Array<ToolCompleted> = []
  return Effect.provide(
    proof,
    Layer.provideMerge(
      SemStreams.loops,
      EphemeralRuntime.layer({
        agents: agentsOf(play),
        tools: [families(play.tools)],
        policy: play.policy
      })
    ).pipe(
      Layer.provideMerge(ScriptedModelGateway.layer(play.script)),
      Layer.provide(Layer.succeed(RuntimeConfig.RuntimeConfig, unhurried)),
      Layer.provide(Layer.effect(OutboxRelay.RelayConfig, patient)),
      Layer.provide(Layer.succeed(ToolCallObservers, [(fact) => void seen.push(fact)])),
      Layer.provide(
        Layer.succeed(ToolAttemptObservers, play.attempted === undefined ? [] : [play.attempted])
      ),
      Layer.merge(Layer.succeed(Facts, seen))
    )
  )
}

/** Yields until no fiber is ready. */
export const settle = Effect.gen(function* () {
  for (let i = 0; i < 60; i++) yield* Effect.yieldNow
})

/** Advances the clock, then yields until no fiber is ready. */
export const after = (ms: number) => Effect.andThen(TestClock.adjust(ms), settle)

/** Sends a message and waits until its run has ended or needs something from outside. Gives the run's id. */
export const begin = Effect.gen(function* () {
  const runtime = yield* AgentRuntime
  const { task } = yield* runtime.send(
    { agent: supervisor, conversation, text: "Begin." },
    operator
  )
  yield* settle
  return task.id
})

export const events = (run: RunId): Effect.Effect<ReadonlyArray<RunEvent>, unknown, RunPorts> =>
  Effect.map(
    RunReader.use((reader) => reader.read(run, 0, 10_000)),
    (entries) => entries.map((entry) => entry.event)
  )

export const stateOf = (run: RunId) => Effect.map(events(run), RunFold.fold)

export const tagged = <Tag extends RunEvent["_tag"]>(all: ReadonlyArray<RunEvent>, tag: Tag) =>
  all.filter((event): event is Extract<RunEvent, { readonly _tag: Tag }> => event._tag === tag)

/**
 * Answers an approval with a SemStreams message, which names loop and call. Gives the error of a message that cannot be
 * decoded, or null.
 */
export const answer = Effect.fnUntraced(function* (
  run: RunId,
  response: Readonly<Record<string, unknown>>
) {
  const loops = yield* SemStreamsLoops
  const peer = new Principal({ id: "peer", tenant, roles: ["approver"] })
  const wrong = yield* loops.respond({ loop_id: run, ...response }, peer).pipe(
    Effect.as(null),
    Effect.catchTag("InvalidInput", ({ message }) => Effect.succeed(message))
  )
  yield* settle
  return wrong
})

/** The run as a SemStreams loop. */
export const loop = (run: RunId) => SemStreamsLoops.use((all) => all.get(run, operator))

/** The pending approvals, as an approver sees them. */
export const pending = ApprovalDesk.use((desk) => desk.pending(operator, 100))
