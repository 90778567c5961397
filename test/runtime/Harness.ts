/**
 * A runtime on ephemeral stores with a scripted model and small tools, and the few questions that tests ask it.
 */
import { Effect, Exit, Layer, Schema, Scope, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Decision } from "../../src/approval/Approval.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import { ToolError } from "../../src/error/ToolError.ts"
import type { ApprovalId, RunId } from "../../src/value/Ids.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import type { Policy } from "../../src/permission/Policy.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { CallSettled, Outcome, RunEvent } from "../../src/run/RunEvent.ts"
import type {
  CallContext,
  FamilyGovernance,
  Governance,
  GovernedTool,
  MisdeclaredTool
} from "../../src/tool/GovernedTool.ts"
import { govern, callOf } from "../../src/tool/GovernedTool.ts"
import type { ToolCompleted } from "../../src/tool/CallRecord.ts"
import { AgentDirectory, hostedBy } from "../../services/AgentDirectory.ts"
import type { AgentMemories } from "../../services/AgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { RunList } from "../../services/RunList.ts"
import type { ToolAttemptObserver, ToolCallObserver } from "../../services/RunObserver.ts"
import { ToolAttemptObservers, ToolCallObservers } from "../../services/RunObserver.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ModelScript } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { PolicyVersion } from "../../src/permission/PolicyVersion.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

export const tenant = Tenant.make("acme")
export const alice = new Principal({ id: "alice", tenant, roles: ["admin"] })
export const person = (id: string, roles: ReadonlyArray<Role>, of = tenant) =>
  new Principal({ id, tenant: of, roles })
export const agentName = AgentName.make("tester")

/** What a test's tool does; the call's context tells it who and for whom, `args` is all that it was given. */
export type Body = (
  n: number,
  call: CallContext,
  args: Readonly<Record<string, unknown>>
) => Effect.Effect<unknown, ToolError, AgentMemory>

type More = Partial<Governance> & Pick<FamilyGovernance<{ readonly n: number }>, "precondition">

export interface TestTool {
  readonly governance: Omit<FamilyGovernance<{ readonly n: number }>, "namespace">
  readonly body: Body
  /** Absent = `{ n }`. */
  readonly parameters?: Schema.Struct.Fields
  /** Absent = any JSON. */
  readonly success?: Schema.Codec<unknown, unknown>
}

export const textField = Schema.String
/** Any members beside the number. */
export const anyFields = { n: Schema.Int, b: Schema.Json }

/** A read that does `body`. */
export const reads = (body: Body, more?: More): TestTool => ({
  governance: { side_effects: "read", ...more },
  body
})

/** A write that asks nobody. */
export const writes = (body: Body, more?: More): TestTool => ({
  governance: { side_effects: "write", permission: "allow", ...more },
  body
})

/** A write that asks a person first. */
export const asks = (body: Body, more?: More): TestTool => ({
  governance: { side_effects: "write", effect_description: "Changes something.", ...more },
  body
})

/** A toolkit of tools that take `{ n }` and return anything JSON. */
export const toolsOf = (
  tools: Readonly<Record<string, TestTool>>
): Effect.Effect<ReadonlyArray<GovernedTool<AgentMemory>>, MisdeclaredTool> => {
  const kit = Toolkit.make(
    ...Object.entries(tools).map(([name, tool]) =>
      Tool.make(name, {
        description: `The test's ${name}.`,
        parameters: Schema.Struct(tool.parameters ?? { n: Schema.Int }),
        success: tool.success ?? (Schema.Json as Schema.Codec<unknown, unknown>),
        failure: ToolError,
        dependencies: [AgentMemory]
      })
    )
  )
  const governance = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, { namespace: "test", ...tool.governance }])
  )
  const handlers = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [
      name,
      (args: { readonly n: number }, context: Toolkit.HandlerContext<never>) =>
        tool.body(args.n, callOf(context), args)
    ])
  )
  // The kit is made of data, so that the types of its tools are lost on the way.
  return govern(kit, governance as never, handlers as never) as Effect.Effect<
    ReadonlyArray<GovernedTool<AgentMemory>>,
    MisdeclaredTool
  >
}

export interface Options {
  readonly tools?: Readonly<Record<string, TestTool>>
  readonly agent?: Partial<Parameters<typeof AgentSpec.make>[0]> | undefined
  readonly agents?: ReadonlyArray<AgentSpec>
  readonly script: ScriptedModelGateway.Script
  readonly model?: ScriptedModelGateway.ScriptOptions
  readonly config?: Partial<RuntimeConfig.RuntimeConfig>
  /** `ambient`: those of the layers that the test provides beneath. */
  readonly observers?: ReadonlyArray<ToolCallObserver> | "ambient"
  readonly policy_version?: string
  readonly policy?: Policy
  /** Absent = those of the stores. */
  readonly memories?: Layer.Layer<AgentMemories>
  readonly attempted?: ToolAttemptObserver
  /** What a test puts in the place of each tool, to watch it. */
  readonly spied?: (tool: GovernedTool<AgentMemory>) => GovernedTool<AgentMemory>
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

/** A runtime over stores that the test holds, so that several may share them. */
export const over = (options: Options) =>
  Runtime.layer({
    agents: agentsOf(options),
    tools: [
      Effect.map(toolsOf(options.tools ?? {}), (tools) => tools.map(options.spied ?? ((is) => is)))
    ],
    policy: options.policy
  }).pipe(
    Layer.provideMerge(options.memories ?? ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provideMerge(ScriptedModelGateway.layer(options.script, options.model)),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(RuntimeConfig.RuntimeConfig, {
          ...RuntimeConfig.defaults,
          ...options.config
        }),
        options.observers === "ambient"
          ? Layer.empty
          : Layer.succeed(ToolCallObservers, options.observers ?? []),
        Layer.succeed(PolicyVersion, options.policy_version ?? "1"),
        options.attempted === undefined && options.observers === "ambient"
          ? Layer.empty
          : Layer.succeed(
              ToolAttemptObservers,
              options.attempted === undefined ? [] : [options.attempted]
            )
      )
    )
  )

export const layer = (options: Options) =>
  over(options).pipe(Layer.provideMerge(EphemeralStores.layer))

type Provided<L> = L extends Layer.Layer<infer A, infer _E, infer _R> ? A : never

/** One process over the test's stores: nothing of it is shared with another but those. */
export interface Process {
  readonly run: <A, E, R>(
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, Provided<ReturnType<typeof over>>>>
  /** A graceful stop. */
  readonly stop: Effect.Effect<void>
}

/** Starts a process; it stops with the test's scope at the latest. */
export const boot = Effect.fnUntraced(function* (options: Options) {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const context = yield* Layer.buildWithMemoMap(over(options), Layer.makeMemoMapUnsafe(), scope)
  const process: Process = {
    run: (effect) => Effect.provide(effect, context),
    stop: Scope.close(scope, Exit.void)
  }
  return process
})

/** The stores' journal with other methods in place of some of its own: for a process that is to lose them. */
export const withJournal = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  change: (journal: WholeJournal.WholeJournal) => Partial<WholeJournal.WholeJournal>
): Effect.Effect<A, E, R | RunPorts> =>
  Effect.flatMap(WholeJournal.journal, (journal) =>
    Effect.provide(effect, WholeJournal.context({ ...journal, ...change(journal) }))
  )

/** Sends a message and gives its run. */
export const send = (text: string, conversation = "c-1", by = alice) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime.send({ agent: agentName, conversation: ConversationId.make(conversation), text }, by)
    ),
    ({ task }) => task.id
  )

/** Virtual time passes, 20 ms at a time and 100 s at most, until the effect ends: no test waits for what the runtime waits for. */
export const asTimePasses = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    effect,
    Effect.andThen(
      Effect.repeat(TestClock.adjust(20), { times: 5_000 }),
      Effect.die(new Error("it has not ended after 100 s of virtual time"))
    )
  )

/** Every event of a conversation from the start, until one of them is what the test waits for. */
export const until = (
  is: (event: RunEvent, run: RunId) => boolean,
  conversation = "c-1",
  by = alice
) =>
  AgentRuntime.use((runtime) =>
    runtime.watch(ConversationId.make(conversation), { ordinal: 0, seq: -1 }, by).pipe(
      Stream.filter((item) => item._tag === "Event"),
      Stream.takeUntil((item) => is(item.entry.event, item.run)),
      Stream.runDrain
    )
  )

/** Waits for the run to end, and gives its events. */
export const ended = Effect.fnUntraced(function* (run: RunId, conversation = "c-1", by = alice) {
  yield* until((event, id) => id === run && event._tag === "RunEnded", conversation, by)
  return yield* events(run)
})

/** Waits for an event of the run that has this tag, for the `nth` time. */
export const happened = (
  run: RunId,
  tag: RunEvent["_tag"],
  nth = 1,
  conversation = "c-1"
): Effect.Effect<void, unknown, AgentRuntime> => {
  let seen = 0
  return until((event, id) => id === run && event._tag === tag && ++seen === nth, conversation)
}

export const events = (run: RunId) =>
  Effect.map(
    RunReader.use((reader) => reader.read(run, 0, 10_000)),
    (entries) => entries.map((entry) => entry.event)
  )

export const settled = (all: ReadonlyArray<RunEvent>): ReadonlyArray<CallSettled> =>
  all.filter((event) => event._tag === "CallSettled")

/** The outcome of a run's only, or first, call. */
export const outcome = (all: ReadonlyArray<RunEvent>): Outcome | undefined =>
  settled(all)[0]?.outcome

/** How a run ended. */
export const end = (all: ReadonlyArray<RunEvent>) => all.find((event) => event._tag === "RunEnded")

/** How often each kind of event happened. */
export const count = (all: ReadonlyArray<RunEvent>, tag: RunEvent["_tag"]): number =>
  all.filter((event) => event._tag === tag).length

/** What the model was asked, oldest first. */
export const requests = ModelScript.use((script) => script.requests)

/** What the model read of the results of calls, in its order. */
export const resultsShown = (request: ModelRequest | undefined): ReadonlyArray<string> =>
  (request?.transcript ?? []).flatMap((entry) => (entry.role === "tool" ? [resultText(entry)] : []))

export const pending = ApprovalDesk.use((desk) => desk.pending(alice, 500))

export const decide = (id: ApprovalId, decision: Decision, by = alice) =>
  ApprovalDesk.use((desk) => desk.decide(id, decision, by))

export const approve: Decision = { _tag: "Approve" }
export const deny: Decision = { _tag: "Deny", reason: "not today" }

/** Waits until the run has asked `nth` times, and gives the newest question. */
export const question = Effect.fnUntraced(function* (run: RunId, nth = 1, conversation = "c-1") {
  yield* happened(run, "ApprovalRequested", nth, conversation)
  const asked = (yield* events(run)).filter((event) => event._tag === "ApprovalRequested")
  return asked[nth - 1]!
})

/** An observer that keeps what it is told. */
export const recorder = () => {
  const facts: Array<ToolCompleted> = []
  return { facts, observe: (fact: ToolCompleted) => void facts.push(fact) }
}

/** What waits for a process that hosts it, as this process sees it. */
export const unhosted = Effect.gen(function* () {
  const hosted = hostedBy((yield* AgentDirectory).all)
  return yield* RunList.use((runs) => runs.unhosted({ hosted }))
})

export const cancel = (run: RunId, by = alice) =>
  AgentRuntime.use((runtime) => runtime.interrupt(run, by, "enough"))
