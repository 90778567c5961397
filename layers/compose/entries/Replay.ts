/**
 * Replays finished runs of any stores: through the decider and, if their agents are given, through the gate. A replay writes only
 * to ephemeral stores of its own.
 */
import { getHeapStatistics } from "node:v8"
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Effect, Layer, Option } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { Guard } from "../../../src/agent/Guard.ts"
import type { MisdeclaredPrice, PriceTable } from "../../../src/cost/PriceTable.ts"
import type { ConversationItem } from "../../../src/conversation/Conversation.ts"
import type { ToolGraph } from "../../../src/graph/ToolGraph.ts"
import { graphAgent } from "../../../src/graph/ToolGraph.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { RunId, Tenant } from "../../../src/value/Ids.ts"
import { everyItem, forEachPage } from "../../../src/value/Pages.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { no_policy } from "../../../src/permission/Policy.ts"
import type { RoleRights } from "../../../src/principal/Rights.ts"
import { DeclaredRoles, declaredRoles } from "../../../src/principal/Rights.ts"
import { decodeFixture, fixtureText } from "../../../src/replay/Fixture.ts"
import { judgeBy, PolicyDryRun } from "../../../src/replay/PolicyDryRun.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { AgentDirectory, DeclaredGuards } from "../../../services/AgentDirectory.ts"
import { BlobStore } from "../../../services/BlobStore.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import type { ModelGateway } from "../../../services/ModelGateway.ts"
import { PermissionPolicy } from "../../../services/PermissionPolicy.ts"
import { RunReader } from "../../../services/RunReader.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import { validatePolicyFor, validatePolicy } from "../../runtime/tool/GovernedInvoker.ts"
import * as DeclaredPriceBook from "../../runtime/directory/DeclaredPriceBook.ts"
import type { Branch } from "../../../src/run/Branch.ts"
import { loadPast } from "../../runtime/actor/History.ts"
import * as LocalAgentDirectory from "../../runtime/directory/LocalAgentDirectory.ts"
import * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import { PromptFiles } from "../../runtime/loop/PromptFiles.ts"
import * as ReplayReport from "../../runtime/replay/ReplayReport.ts"
import type { JournalReport } from "../../runtime/replay/ReplayReport.ts"
import type { RunReplayed } from "../../runtime/replay/RunReplay.ts"
import { replayRun } from "../../runtime/replay/RunReplay.ts"
import * as Graphs from "../assembly/Graphs.ts"
import * as Stores from "../assembly/StoreLayers.ts"

export * as RunFold from "../../../src/run/RunFold.ts"
export * as RunState from "../../../src/run/RunState.ts"
export * as ToolFacts from "../../../src/tool/CallRecord.ts"
export { Cassette, CassetteEntries } from "../../../src/replay/Cassette.ts"

/** Agents and tools as a start takes them. */
export interface App<E = unknown, R = unknown> extends LocalToolRegistry.Sources<E, R> {
  readonly agents: ReadonlyArray<AgentSpec>
  /** Graphs in the forms that `start` takes: loaded, or as YAML or JSON texts. */
  readonly graphs?: ReadonlyArray<string | ToolGraph> | undefined
  /** The prices of models, which agents with a `cost_max` need. */
  readonly prices?: PriceTable | undefined
  /** Absent = the categories of the tools decide. */
  readonly policy?: Policy | undefined
  /** Its guards, which count in the definitions of agents. None is asked. */
  readonly guards?: ReadonlyArray<Guard> | undefined
  /** The roles that the application declares. */
  readonly roles?: Readonly<Record<string, RoleRights>> | undefined
}

export interface Options<E = unknown, R = unknown> {
  /** Absent = only the journal is replayed, without the tools' schemas and policy. */
  readonly app?: App<E, R> | undefined
  /** Another model, which gets the recorded tool results. Absent = the recorded turns are replayed. */
  readonly model?: ModelGateway["Service"] | undefined
  /**
   * What the events of the run may have in all, in UTF-16 units; a run with more fails with `RunTooLarge`. Absent = a sixteenth of
   * V8's heap limit: they are there several times.
   */
  readonly units_max?: number | undefined
}

/**
 * Why a run is not replayed through the gate. `no_agents`: no application was given. `not_known`: an agent of the run is not in
 * the application. `clock`: the run was stopped by its time limit, which a replay does not have.
 */
export type GateSkipped = "no_agents" | "not_known" | "clock"

export interface Report extends JournalReport {
  /** The result of the replay through the loop and the gate, or why it was not made. */
  readonly gate: RunReplayed | GateSkipped
  /** Whether the agent or one of its tools has changed since the run began. Absent = not known. */
  readonly changed: { readonly definition: boolean; readonly tools: boolean } | undefined
}

const crypto = Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)

/** The agents and tools of an application, as they are declared now. */
export const directoryOf = <E, R>(app: App<E, R>) =>
  Layer.unwrap(
    Effect.map(Graphs.read(app.graphs ?? []), (graphs) =>
      LocalAgentDirectory.layer([...app.agents, ...graphs.map(graphAgent)])
    )
  ).pipe(
    Layer.provideMerge(LocalToolRegistry.layerFrom(app)),
    Layer.provideMerge(pricesOf(app.prices)),
    Layer.provide(Layer.succeed(DeclaredGuards, app.guards ?? [])),
    Layer.provideMerge(Layer.effect(DeclaredRoles, declaredRoles(app.roles ?? {}, "roles"))),
    Layer.provideMerge(crypto)
  )

const pricesOf = (prices: PriceTable | undefined): Layer.Layer<never, MisdeclaredPrice> =>
  prices === undefined ? Layer.empty : DeclaredPriceBook.layer(prices)

const page_max = 500

const agentsOf = (entries: ReadonlyArray<JournalEntry>): ReadonlySet<string> =>
  new Set(
    entries.flatMap(({ event }) =>
      event._tag === "RunAccepted"
        ? [event.address.agent]
        : event._tag === "FrameOpened"
          ? [event.agent]
          : []
    )
  )

const reachedTimeLimit = (entries: ReadonlyArray<JournalEntry>): boolean =>
  entries.some(
    ({ event }) =>
      event._tag === "LimitReached" ||
      (event._tag === "RunStopping" && event.reason === "wall_ms_max" && event.by === "runtime")
  )

/** The conversation as the run saw it. */
const pastOf = Effect.fnUntraced(function* (run: RunId, branch: Branch | undefined) {
  const reader = yield* RunReader
  const tasks = yield* TaskStore
  const directory = yield* AgentDirectory
  const tokenizer = yield* Tokenizer
  const { address, conversation, ordinal, tenant } = yield* reader.head(run)
  const { guards, spec } = directory.get(address.agent) ?? {}
  return yield* loadPast(
    { reader, tasks },
    {
      tenant,
      conversation,
      ordinal,
      branch,
      cut: undefined,
      tokens_max: spec?.history_tokens_max ?? 0,
      measure: (text) => tokenizer.count(text, spec?.model),
      guards
    }
  )
})

const replayThroughGate = Effect.fnUntraced(function* (
  report: JournalReport,
  model: ModelGateway["Service"] | undefined
) {
  const { recording, run } = report
  const directory = yield* AgentDirectory
  const agent = directory.get(recording.accepted.address.agent)
  const { definition, tools } = recording.accepted.pins
  const changed =
    agent === undefined
      ? undefined
      : { definition: agent.pins.definition !== definition, tools: agent.pins.tools !== tools }
  const skipped = ((): GateSkipped | undefined => {
    for (const name of agentsOf(recording.entries)) {
      if (directory.get(name) === undefined) return "not_known"
    }
    return model === undefined && reachedTimeLimit(recording.entries) ? "clock" : undefined
  })()
  if (skipped !== undefined) return { gate: skipped, changed }
  const past = yield* pastOf(run, recording.accepted.branch)
  const blobs = Option.getOrUndefined(yield* Effect.serviceOption(BlobStore))
  const files = blobs === undefined ? undefined : new PromptFiles(blobs)
  const gate = yield* Effect.provide(
    replayRun({ run, recording, past, model, files }),
    // Not the stores that the run is read from.
    Layer.fresh(Stores.ephemeral)
  )
  return { gate, changed }
})

/** Replays one run. Fails if the run does not exist, has not ended, or is too large. */
export const replay = Effect.fnUntraced(function* <E = never, R = never>(
  run: RunId,
  {
    app,
    model,
    units_max = Math.floor(getHeapStatistics().heap_size_limit / 16)
  }: Options<E, R> = {}
) {
  const reader = yield* RunReader
  const policy = yield* validatePolicy(app?.policy ?? no_policy)
  const recording = yield* ReplayReport.loadRecording(reader, run, units_max)
  const digest = yield* Effect.provide(Digest.Digest, crypto)
  const report = yield* ReplayReport.replayRecording(digest, run, recording)
  if (app === undefined) {
    const alone: Report = { ...report, gate: "no_agents", changed: undefined }
    return alone
  }
  const whole: Report = {
    ...report,
    ...(yield* replayThroughGate(report, model).pipe(
      Effect.provide(directoryOf(app)),
      Effect.provideService(PermissionPolicy, policy)
    ))
  }
  return whole
})

/** The runs of a tenant, newest conversations first. */
const allRuns = Effect.fnUntraced(function* (tenant: Tenant) {
  const conversations = yield* ConversationStore
  const tasks = yield* TaskStore
  const all = yield* everyItem(page_max, (last: ConversationItem | undefined) =>
    Effect.map(
      conversations.list({ tenant, limit: page_max, after: last?.cursor }),
      ({ items }) => items
    )
  )
  const runs: Array<RunId> = []
  for (const { id } of all) {
    yield* forEachPage(
      page_max,
      (last: AgentTask | undefined) =>
        tasks.ofConversation(tenant, id, last?.ordinal ?? 0, page_max),
      (page) => {
        for (const task of page) runs.push(task.id)
        return undefined
      }
    )
  }
  return runs
})

/** The history that a policy is tried on: one run, ended or not, or all runs of a tenant. */
export type History = { readonly run: RunId } | { readonly tenant: Tenant }

/**
 * Tries a policy on history, and compares its decisions with those of the time. No tool runs. Fails if the policy is malformed.
 */
export const dryRun = Effect.fnUntraced(function* <E = never, R = never>(
  history: History,
  app: App<E, R>,
  given: Policy
) {
  const reader = yield* RunReader
  const { directory, policy } = yield* Effect.provide(
    Effect.gen(function* () {
      const directory = yield* AgentDirectory
      return { directory, policy: yield* validatePolicyFor(given, yield* ToolRegistry, directory) }
    }),
    directoryOf(app)
  )
  const runs = "run" in history ? [history.run] : yield* allRuns(history.tenant)
  const trial = new PolicyDryRun(
    judgeBy(policy, (agent, name) => directory.get(agent)?.tools.get(name))
  )
  for (const run of runs) {
    const reading = ReplayReport.readRecording(reader, run)
    const recording = yield* "run" in history
      ? reading
      : Effect.catchTag(reading, "RunQuarantined", () => Effect.succeed("quarantined" as const))
    if (recording === "quarantined") trial.leaveOut(run)
    else if (recording !== undefined && ReplayReport.isErasedRun(recording)) trial.leaveOut(run)
    else if (recording !== undefined) trial.add(run, recording)
    else if ("run" in history) return yield* new RunNotFound({ run_id: run })
  }
  return trial.result
})

/** The text of a fixture of the run, as `--to-test` writes it. */
export const toFixture = (report: JournalReport): string =>
  fixtureText(ReplayReport.fixtureOf(report))

/**
 * Replays the text of a fixture, for an application's tests. Fails with `FixtureDiverged` at the first step whose input or turn
 * has changed, or where the runtime would decide differently; fails with a SchemaError if the text is not a fixture.
 */
export const runFixture = Effect.fnUntraced(function* (text: string) {
  const fixture = yield* decodeFixture(text)
  const digest = yield* Effect.provide(Digest.Digest, crypto)
  return yield* ReplayReport.replayFixture(digest, fixture)
})
