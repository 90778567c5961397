/**
 * The runtime's own pieces, put together as `LocalAgentRuntime` does for an agent without a policy, limits of tools,
 * prices and telemetry, so that a row can run loops without actors.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Clock, Context, Effect, Layer } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Toolkit } from "effect/ai"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../../src/value/Ids.ts"
import { fold } from "../../src/run/RunFold.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { Claim } from "../../services/RunOwnership.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import * as EphemeralRunJournal from "../../layers/ephemeral/EphemeralRunJournal.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ActorContext } from "../../layers/runtime/tool/CallHost.ts"
import { ActorBase } from "../../layers/runtime/tool/CallHost.ts"
import * as Deadlines from "../../layers/runtime/tool/Deadlines.ts"
import { observeCalls } from "../../layers/runtime/feed/Observers.ts"
import { makeFaultReporter } from "../../layers/runtime/tool/FaultReport.ts"
import { Feed } from "../../layers/runtime/feed/Feed.ts"
import { channelKey } from "../../layers/runtime/feed/ChannelKey.ts"
import * as LocalAgentDirectory from "../../layers/runtime/directory/LocalAgentDirectory.ts"
import * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import type { LoopServices } from "../../layers/runtime/loop/LoopServices.ts"
import { no_past } from "../../src/conversation/Compaction.ts"
import { estimateTokens } from "../../src/conversation/TokenEstimate.ts"
import { makeWakeup } from "../../layers/runtime/loop/RunWakeup.ts"
import * as LoopScheduler from "../../layers/runtime/fiber/LoopScheduler.ts"
import * as PromptMeter from "../../layers/runtime/loop/PromptMeter.ts"
import * as RunLoop from "../../layers/runtime/loop/RunLoop.ts"
import { no_memory } from "../../layers/runtime/queue/QueuedCall.ts"
import * as ToolInvoker from "../../layers/runtime/tool/ToolInvoker.ts"
import { Lookup, lookup } from "./Work.ts"

export const agentName = AgentName.make("reader")
export const tenant = Tenant.make("acme")

export const tools = govern(
  Toolkit.make(Lookup),
  { lookup: { namespace: "bench", side_effects: "read" } },
  { lookup: (args) => lookup(args) }
)

export const agent = AgentSpec.make({
  name: agentName,
  instructions: "Read.",
  tools: ["bench.lookup@1"],
  limits: RunLimits.make({ steps_max: 1_000, calls_max: 100_000 })
})

/** Requests are not kept: a model that remembers each would be what is measured. */
export const model = (script: Script) => ScriptedModelGateway.layer(script, { requests_max: 0 })

/** Facts of completed calls that an observer received. */
export interface Observed {
  calls: number
}

/** The same function as the lower bound's model, behind the port and nothing else. */
export type Model = ModelGateway["Service"]["turn"]

const layer = (turn: Model) =>
  LocalAgentDirectory.layer([agent]).pipe(
    Layer.provideMerge(LocalToolRegistry.layer(tools)),
    Layer.provideMerge(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)),
    Layer.provideMerge(Layer.succeed(ModelGateway, { turn }))
  )

const uuid = (n: number): RunId =>
  RunId.make(`00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`)

/** Runs in a store of their own, claimed, and the loop to run them. */
export interface Claimed {
  readonly claims: ReadonlyArray<Claim>
  readonly run: (claim: Claim) => Effect.Effect<RunLoop.Finish, unknown, AgentMemory>
}

/** What an actor's fiber is given, once for all runs of its conversation: what all actors have, and a memory of its own. */
export const actorContext = (): ActorContext =>
  Context.add(actor_base, AgentMemory, Context.get(no_memory, AgentMemory))

const actor_base = Context.make(ActorBase, Context.empty())

const claimed = Effect.fnUntraced(function* (
  runs: number,
  services: Omit<LoopServices, "journal" | "reader" | "onDurable" | "onAmended" | "delta">,
  host: { readonly feed: Feed; readonly onDurable: ReturnType<typeof observeCalls> }
) {
  const journal = yield* RunJournal
  const ownership = yield* RunOwnership
  const { feed } = host
  const conversation = ConversationId.make("c")
  const channel = channelKey(tenant, conversation)
  const claims: Array<Claim> = []
  for (let n = 0; n < runs; n++) {
    const run = uuid(n)
    yield* journal.create(run, 1, {
      _tag: "RunAccepted",
      tenant,
      address: { agent: agentName, key: conversation },
      conversation,
      message: "read",
      by: "bench",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      limits: agent.limits,
      pins: { definition: "", tools: "" }
    })
    claims.push(yield* ownership.claim(run, "bench"))
  }
  const all: LoopServices = {
    ...services,
    journal,
    reader: yield* RunReader,
    onDurable: (id, state, events) => {
      for (const event of events) {
        if (event._tag === "ModelTurned") feed.endTurn(channel, id, event.frame)
        else if (event._tag === "RunEnded") feed.endRun(channel, id)
      }
      host.onDurable(id, state, events)
      feed.reached(channel, 1, state.length)
    },
    onAmended: (_, { length }) => feed.reached(channel, 1, length),
    delta: (id, frame, step, delta) =>
      feed.delta(channel, { run: id, ordinal: 1, frame, step }, delta)
  }
  const found: Claimed = {
    claims,
    run: (claim) =>
      RunLoop.run(
        all,
        {
          run: claim.head.run_id,
          state: fold(claim.entries.map((entry) => entry.event)),
          worked_ms: 0,
          last_append_at: undefined,
          hasWaited: false
        },
        no_past,
        makeWakeup(),
        undefined
      )
  }
  return found
})

/** Makes claimed runs, each batch in a new store; a gate, a model and an observer for all of them. */
export const make = Effect.fnUntraced(function* (turn: Model) {
  const context = yield* Layer.build(layer(turn))
  const clock = yield* Clock.Clock
  const deadlines = yield* Deadlines.make
  const scheduler = yield* LoopScheduler.make(LoopScheduler.loops_per_turn)
  const observed: Observed = { calls: 0 }
  const report = yield* makeFaultReporter
  const host = {
    feed: new Feed(),
    onDurable: observeCalls([() => void observed.calls++], clock, report)
  }
  const services = {
    model: Context.get(context, ModelGateway),
    directory: Context.get(context, AgentDirectory),
    deadlines,
    scheduler,
    weights: PromptMeter.make({ count: estimateTokens }),
    clock,
    prices: undefined,
    report,
    requestLimitApproval: () => Effect.die("no run of the bench has a limit that asks"),
    requestGuardApproval: () => Effect.die("no run of the bench has a guard that asks"),
    invoker: ToolInvoker.make({
      registry: Context.get(context, ToolRegistry),
      digest: Context.get(context, Digest.Digest),
      random: Context.get(context, SecureRandom.SecureRandom),
      clock,
      deadlines,
      policy_version: "1"
    })
  }
  const store = () =>
    Layer.fresh(EphemeralRunJournal.layer.pipe(Layer.provide(EphemeralStore.layer)))
  return {
    observed,
    claimed: (runs: number): Effect.Effect<Claimed> =>
      claimed(runs, services, host).pipe(Effect.provide(store()), Effect.orDie)
  }
})
