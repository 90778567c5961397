/**
 * The service that `start` of `troupe/embed` returns. It is imported when a service starts, so that importing the entry
 * alone loads no runtime.
 */
import type { Context } from "effect"
import { Effect, Layer, ManagedRuntime, Stream } from "effect"
import { withDefaults } from "../../src/Defaults.ts"
import * as Entries from "../../src/entry/Entries.ts"
import { graphAgent } from "../../src/graph/GraphAgent.ts"
import type { ToolGraph } from "../../src/graph/ToolGraph.ts"
import type { AgentName, ApprovalId, AuthorizationId, CallId, RunId } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import { discoverOffers } from "../../src/tool/ToolOffer.ts"
import type { McpOptions } from "../../src/tool/McpServer.ts"
import { AgentDirectory, CustomerAgents, knownTo } from "../../services/AgentDirectory.ts"
import type { Message } from "../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { AuthorizationsPage } from "../../services/AuthorizationDesk.ts"
import { AuthorizationDesk } from "../../services/AuthorizationDesk.ts"
import { BlobBounds } from "../../services/BlobStore.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { KillSwitch } from "../../services/KillSwitch.ts"
import type { McpPins } from "../../services/McpPins.ts"
import { McpServers } from "../../services/McpServers.ts"
import type { ModelGateway } from "../../services/ModelGateway.ts"
import type { RunJournal } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import * as OpenTelemetry from "../telemetry/OpenTelemetry.ts"
import * as UnhostedTelemetry from "../telemetry/UnhostedTelemetry.ts"
import * as UnknownCallsTelemetry from "../telemetry/UnknownCallsTelemetry.ts"
import { asyncIterable } from "./AsyncStream.ts"
import * as EmbeddedHttp from "./EmbeddedHttp.ts"
import { checkOptions } from "./CheckedOptions.ts"
import * as Channels from "./Channels.ts"
import * as ChannelMethods from "./ChannelMethods.ts"
import { checkCustomerAgents } from "./CustomerAccess.ts"
import * as Erasures from "./Erasures.ts"
import * as Inspection from "./Inspection.ts"
import { listRuns } from "./ListedRuns.ts"
import * as Memories from "./Memories.ts"
import type { NodeService, Options, Send, Sent } from "./NodeService.ts"
import { service_principal } from "./NodeService.ts"
import * as Quarantine from "./Quarantine.ts"
import { resolveConfigs } from "./ResolvedConfigs.ts"
import * as Runtime from "./Runtime.ts"
import * as Stores from "./Stores.ts"
import * as TokenMethods from "./TokenMethods.ts"
import type { Answer, Wait } from "./Answer.ts"
import { askedOf, askedWait, withValue, withValues } from "./TypedAnswer.ts"
import { answerOf, clientCallsOf, sendMessage, streamRun, waitOf, watchFeed } from "./Waiting.ts"

const storesOf = ({
  retention,
  store = "ephemeral"
}: Options): Layer.Layer<Stores.Stores, unknown> => {
  if (store === "ephemeral") return Stores.ephemeral
  const stores: Layer.Layer<Stores.Stores | Stores.Client, unknown> =
    "directory" in store ? Stores.directory(store.directory) : Stores.postgresStore(store)
  return retention === undefined ? stores : Stores.retaining(stores, retention)
}

/** The bounds of files that the options name, with the usual ones for the rest. */
const filesOf = (given: Options["files"] = {}): Layer.Layer<never> =>
  Layer.effect(
    BlobBounds,
    Effect.map(BlobBounds, (usual) => withDefaults(usual, given))
  )

/** Loads the recorder only where `record` asks for it. */
const recorderOf = async (record = false): Promise<Layer.Layer<never, never, CallRecords>> =>
  record ? (await import("../runtime/desk/CallRecorder.ts")).layer : Layer.empty

/** Loads the MCP client only where servers are declared. */
const mcpOf = async (
  options: McpOptions | undefined
): Promise<Layer.Layer<McpServers, unknown, McpPins>> => {
  if (options === undefined) return (await import("../mcp/NoMcpServers.ts")).layer
  return (await import("../mcp/ImportedMcpServers.ts")).layer(options)
}

/** Loads what speaks with providers only where no Layer does. */
const modelOf = async (model: Options["model"]): Promise<Layer.Layer<ModelGateway, unknown>> => {
  if (Layer.isLayer(model)) return model as Layer.Layer<ModelGateway, unknown>
  const [{ planOf }, { layer }] = await Promise.all([
    import("../model/ChosenModels.ts"),
    import("../model/ResilientModelGateway.ts")
  ])
  const [first, ...others] = Array.isArray(model) ? model : [model]
  // Before anything is opened: a name or a key may be wrong.
  return layer(Effect.succeed(await Effect.runPromise(planOf([first, ...others]))))
}

/** Reads the graphs, and wraps the model so that they answer first; without graphs nothing is loaded. */
const withGraphs = async (
  { graphs = [] }: Options,
  model: Layer.Layer<ModelGateway, unknown>
): Promise<{
  readonly graphs: ReadonlyArray<ToolGraph>
  readonly model: Layer.Layer<ModelGateway, unknown, RunJournal>
}> => {
  if (graphs.length === 0) return { graphs: [], model }
  const GraphModelGateway = await import("../model/GraphModelGateway.ts")
  const loaded: Array<ToolGraph> = []
  for (const graph of graphs) {
    if (typeof graph !== "string") loaded.push(graph)
    else loaded.push(await Effect.runPromise((await import("../agents/GraphText.ts")).read(graph)))
  }
  return {
    graphs: loaded,
    model: GraphModelGateway.layer(loaded).pipe(Layer.provide(model))
  }
}

const mcpTools = McpServers.useSync(({ tools }) => tools)

/** Everything that a process runs, from its options. Fails with what is wrong with them. */
const layerOf = async (options: Options) => {
  const checked = await Effect.runPromise(checkOptions(options))
  const { resolvers: resolved, tools: configured } = await resolveConfigs(options.toolConfigs)
  const stores = storesOf(options)
  const mcp = await mcpOf(options.mcp)
  const { graphs, model } = await withGraphs(options, await modelOf(options.model))
  const customer_agents = await Effect.runPromise(
    checkCustomerAgents(
      checked.customer_agents,
      [...options.agents, ...graphs.map(({ spec }) => spec)],
      "customer_agents"
    )
  )
  const channels = Channels.make({
    adapters: options.channels ?? [],
    events: await Effect.runPromise(
      ChannelMethods.intakeOf(checked.events, [...options.agents, ...graphs.map(graphAgent)])
    )
  })
  const recorder = await recorderOf(options.record)
  const telemetry = await OpenTelemetry.layer(options.telemetry, process.env)
  const agents = Runtime.layer({
    agents: options.agents,
    graphs,
    prices: options.prices,
    policy: options.policy,
    tools: [...(options.tools ?? []), Effect.succeed(configured), mcpTools],
    shared: options.shared ?? [],
    plugins: options.plugins ?? [],
    resolved,
    deliveries: [...channels.deliveries, ...(options.deliveries ?? [])]
  })
  return EmbeddedHttp.layer(checked.http).pipe(
    Layer.merge(UnhostedTelemetry.layer),
    Layer.provideMerge(agents),
    Layer.merge(UnknownCallsTelemetry.layer),
    Layer.provideMerge(Layer.merge(mcp, channels.layer)),
    Layer.provide(recorder),
    Layer.provide(model),
    Layer.provide(options.tokenizer ?? Layer.empty),
    Layer.provideMerge(stores),
    Layer.provide(filesOf(options.files)),
    Layer.provideMerge(telemetry),
    Layer.provideMerge(Layer.succeed(CustomerAgents, customer_agents))
  )
}

type Services = Layer.Success<Awaited<ReturnType<typeof layerOf>>>
type Run = <A, E>(effect: Effect.Effect<A, E, Services>) => Promise<A>

/** A run's parts, with the value of the answer where the message has a schema of answers. */
const streamAnswer = (message: Send, by: Principal) =>
  Stream.unwrap(
    Effect.map(askedOf(message), ({ codec, message }) =>
      withValues(codec, streamRun(message as Message, by))
    )
  )

const conversationMethods = (run: Run, services: Context.Context<Services>) => {
  // Decoded once: what is decoded is not decoded again (bench row `send`).
  const service = Effect.runSync(Entries.principal(service_principal, "by"))
  const send = async (message: Send, by: Principal = service): Promise<Sent> => {
    const asked = await run(askedOf(message))
    const { created, task } = await run(sendMessage(asked.message as Message, by))
    return { run: task.id, conversation: task.conversation, ordinal: task.ordinal, created }
  }
  const ask = async (message: Send, by: Principal = service, wait?: Wait): Promise<Answer> => {
    const { signal } = await run(waitOf(wait))
    const { codec } = await run(askedOf(message))
    signal?.throwIfAborted()
    const answer = await answerOf(run, (await send(message, by)).run, by, wait)
    return codec === undefined ? answer : run(withValue(codec, answer))
  }
  const result = async (id: string, by: Principal = service, wait?: Wait): Promise<Answer> => {
    const { codec, wait: rest } = await run(askedWait(wait))
    const answer = await answerOf(run, id, by, rest)
    return codec === undefined ? answer : run(withValue(codec, answer))
  }
  return {
    send: send as NodeService["send"],
    // Each has two types: that of a message with a schema of answers, and that of one without.
    ask: ask as NodeService["ask"],
    result: result as NodeService["result"],
    stream: ((message: Send, by: Principal = service) =>
      asyncIterable(streamAnswer(message, by), services)) as NodeService["stream"],
    watch: (id, after, by = service) => asyncIterable(watchFeed(id, after, by), services)
  } satisfies Partial<NodeService>
}

const decisionMethods = (run: Run) =>
  ({
    pending: (by = service_principal) => run(ApprovalDesk.use((desk) => desk.pending(by, 500))),
    decide: (approval, decision, by) =>
      run(ApprovalDesk.use((desk) => desk.decide(approval as ApprovalId, decision, by))),
    clientCalls: (conversation, by = service_principal) => run(clientCallsOf(conversation, by)),
    answerClientCall: (id, answer, by) =>
      run(ApprovalDesk.use((desk) => desk.answer(id as ApprovalId, answer, by))),
    cancel: (id, by, reason) =>
      run(AgentRuntime.use((agents) => agents.interrupt(id as RunId, by, reason))),
    settle: (id, call, settlement, by) =>
      run(AgentRuntime.use((agents) => agents.settle(id as RunId, call as CallId, settlement, by))),
    stopTools: (stopped, by) => run(KillSwitch.use(({ turn }) => turn(stopped, by))),
    stopAllTools: (stopped) => run(KillSwitch.use(({ turnAll }) => turnAll(stopped)))
  }) satisfies Partial<NodeService>

/** The desk, with the agents that the principal may know of. */
const authorized = <A, E>(
  by: Principal,
  does: (
    desk: AuthorizationDesk["Service"],
    known: ReadonlyArray<AgentName> | undefined
  ) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    // Decoded first: who it is decides what it may know of.
    const who = yield* Entries.principal(by, "by")
    const known = knownTo(yield* AgentDirectory, who, yield* CustomerAgents)
    return yield* does(yield* AuthorizationDesk, known)
  })

const authorizationMethods = (run: Run) =>
  ({
    authorize: (request, by) =>
      run(authorized(by, (desk, known) => desk.grant(request, by, known))),
    revokeAuthorization: (id, by) =>
      run(authorized(by, (desk, known) => desk.revoke(id as AuthorizationId, by, known))),
    authorizations: (page = {}, by = service_principal) =>
      run(
        authorized(by, (desk, known) =>
          desk.list({ limit: 50, ...page } as AuthorizationsPage, by, known)
        )
      )
  }) satisfies Partial<NodeService>

const runListMethods = (run: Run) =>
  ({
    quarantined: (by = service_principal) => run(Quarantine.list(by)),
    rawEvents: (id, from = 0, by = service_principal) => run(Quarantine.rows(id, from, by)),
    releaseRun: (id, by) => run(Quarantine.release(id, by)),
    records: (id, by = service_principal) =>
      run(
        Effect.gen(function* () {
          const { tenant } = yield* Entries.entitled(by, "inspect")
          const run_id = yield* Entries.runId(id, "run")
          const task = yield* TaskStore.use((tasks) => tasks.get(run_id))
          if (task?.tenant !== tenant) return yield* new RunNotFound({ run_id })
          return yield* CallRecords.use((records) => records.ofRun(tenant, run_id, 500))
        })
      ),
    runs: (query = {}, by = service_principal) => run(Inspection.runs(query, by)),
    unknown: (by = service_principal) =>
      run(listRuns(by, ({ tenant }, runs) => runs.unknown({ tenant, limit: 500 }))),
    unhosted: (by = service_principal) =>
      run(listRuns(by, ({ here, tenant }, runs) => runs.unhosted({ tenant, here })))
  }) satisfies Partial<NodeService>

const inspectionMethods = (run: Run) =>
  ({
    conversations: (page = {}, by = service_principal) => run(Inspection.conversations(page, by)),
    messages: (conversation, page = {}, by = service_principal) =>
      run(Inspection.messages(conversation, page, by)),
    file: (conversation, digest, by = service_principal) =>
      run(Inspection.file(conversation, digest, by)),
    costs: (query = {}, by = service_principal) => run(Inspection.costs(query, by)),
    deadLetters: (query = {}, by = service_principal) => run(Inspection.deadLetters(query, by)),
    replayDeadLetter: (event_id, reason, by) =>
      run(Inspection.resolveLetter("replay", event_id, reason, by)),
    discardDeadLetter: (event_id, reason, by) =>
      run(Inspection.resolveLetter("discard", event_id, reason, by))
  }) satisfies Partial<NodeService>

const memoryMethods = (run: Run) =>
  ({
    memories: (query, by = service_principal) => run(Memories.list(query, by)),
    undoMemory: (of, id, by) => run(Memories.undo(of, id, by)),
    eraseMemories: (subject, by) => run(Memories.erase(subject, by)),
    registerText: (text, by) => run(Memories.register(text, by)),
    erase: (request, by) => run(Erasures.erase(request, by)),
    erasures: (page, by) => run(Erasures.list(page, by))
  }) satisfies Partial<NodeService>

const tokenMethods = (run: Run) =>
  ({
    createToken: (request, by) => run(TokenMethods.create(request, by)),
    tokens: (page, by) => run(TokenMethods.list(page, by)),
    revokeToken: (id, by) => run(TokenMethods.revoke(id, by))
  }) satisfies Partial<NodeService>

const channelMethods = (run: Run) =>
  ({
    publish: (event, by) => run(ChannelMethods.publish(event, by)),
    bind: (conversation, to, by) => run(ChannelMethods.bind(conversation, to, by)),
    unbind: (conversation, channel, address, by) =>
      run(ChannelMethods.unbind(conversation, channel, address, by)),
    bindings: (conversation, by) => run(ChannelMethods.bindings(conversation, by)),
    notices: (query, by) => run(ChannelMethods.notices(query, by)),
    readNotices: (ids, by) => run(ChannelMethods.read(ids, by)),
    preferences: (by) => run(ChannelMethods.preferences(by)),
    prefer: (preferences, by) => run(ChannelMethods.prefer(preferences, by))
  }) satisfies Partial<NodeService>

const toolMethods = (run: Run) =>
  ({
    workerTools: async () => discoverOffers(await run(ToolQueue.use((queue) => queue.list()))),
    mcpServers: () => run(McpServers.use(({ status }) => status)),
    acceptMcpTool: (server, tool, hash, by) =>
      run(McpServers.use(({ accept }) => accept(server, tool, hash, by)))
  }) satisfies Partial<NodeService>

/** Starts what the options describe. Rejects with the typed error that prevented the start. */
export const startService = async (options: Options): Promise<NodeService> => {
  const runtime = ManagedRuntime.make(await layerOf(options))
  const services = await runtime.context()
  const run = Effect.runPromiseWith(services)
  return {
    ...conversationMethods(run, services),
    ...decisionMethods(run),
    ...authorizationMethods(run),
    ...runListMethods(run),
    ...inspectionMethods(run),
    ...memoryMethods(run),
    ...channelMethods(run),
    ...toolMethods(run),
    ...tokenMethods(run),
    ...EmbeddedHttp.methods(services),
    stop: () => runtime.dispose()
  }
}
