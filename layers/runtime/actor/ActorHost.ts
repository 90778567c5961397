/**
 * What the actors of one process share: its identity as an owner of runs, its stores, and what their loops need.
 */
import { Clock, Effect, FiberSet } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { readGauge } from "../../../src/value/Telemetry.ts"
import type { Address } from "../../../src/value/Ids.ts"
import type { Need } from "../../../src/run/Needs.ts"
import { needsOf, versionOf } from "../../../src/run/Needs.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { AgentDirectory, hostedBy } from "../../../services/AgentDirectory.ts"
import { BlobBounds, BlobStore } from "../../../services/BlobStore.ts"
import { ModelGateway } from "../../../services/ModelGateway.ts"
import { Outbox } from "../../../services/Outbox.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import { RunOwnership } from "../../../services/RunOwnership.ts"
import { RunReader } from "../../../services/RunReader.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import type { OnDurable } from "../feed/Observers.ts"
import { makeOnDurable } from "../feed/Observers.ts"
import { OpenQuestions } from "../approval/OpenQuestions.ts"
import { Alarm } from "../fiber/Periodic.ts"
import * as RoleDirectory from "../directory/RoleDirectory.ts"
import type { DirectoryFor } from "../directory/RoleDirectory.ts"
import { Feed } from "../feed/Feed.ts"
import * as LimitApproval from "../loop/LimitApproval.ts"
import { guardApproval } from "../loop/RunQuestion.ts"
import * as LoopScheduler from "../fiber/LoopScheduler.ts"
import { PromptFiles } from "../loop/PromptFiles.ts"
import { RunMemory } from "../loop/RunMemory.ts"
import * as PromptMeter from "../loop/PromptMeter.ts"
import { TurnBudgets } from "../loop/TurnBudgets.ts"
import type { LoopServices } from "../loop/LoopServices.ts"
import * as Deadlines from "../tool/Deadlines.ts"
import { makeFaultReporter } from "../tool/FaultReport.ts"
import { RunSecrets } from "../tool/RunSecrets.ts"
import type { PartStore } from "../tool/StoredParts.ts"
import * as GovernedInvoker from "../tool/GovernedInvoker.ts"
import type * as ToolInvoker from "../tool/ToolInvoker.ts"
import { ActorTable } from "./ActorTable.ts"
import * as ClaimedDispatches from "./ClaimedDispatches.ts"
import { RunLoading } from "./RunLoading.ts"
import { RuntimeConfig } from "./RuntimeConfig.ts"

type Hosting = ReturnType<typeof makeHosting>

const nothing: ReadonlyArray<Need> = []

/** What this process hosts: its agents, their versions and their tools. A run goes on where all that it needs is hosted. */
const makeHosting = (directory: AgentDirectory["Service"]) => {
  const hosted = hostedBy(directory.all)
  const hostedSet = new Set(hosted)

  /** The version that a run needs whose agent has `on_change: "wait"`; none, if it was accepted without one. */
  const pinnedVersion = ({ accepted, stopping }: RunState): ReadonlyArray<Need> => {
    if (stopping !== undefined) return nothing
    const { pins } = accepted
    const name = agentOfRun(accepted)
    return directory.get(name)?.spec.on_change !== "wait" || pins.definition === ""
      ? nothing
      : [versionOf(name, pins)]
  }

  return {
    agents: directory.all.map(({ spec }) => spec.name),
    /** Those whose messages are answered beside a run that waits for people. */
    answering: directory.all.flatMap(({ spec }) => (spec.mailbox === "answer" ? [spec.name] : [])),
    hosted,
    /** Are the agent and all needs hosted here? */
    has: ({ agent }: Address, needs = nothing): boolean =>
      hostedSet.has(agent) && needs.every((need) => hostedSet.has(need)),
    /** All that the run needs, if this process lacks any of it; otherwise nothing. */
    missingNeeds: (state: RunState): ReadonlyArray<Need> => {
      const needs = [...needsOf(state), ...pinnedVersion(state)]
      return needs.every((need) => hostedSet.has(need)) ? nothing : needs
    }
  }
}

export interface ActorHost {
  /** Of this process, as the journal knows it; a new one at each start. */
  readonly owner: string
  readonly config: RuntimeConfig
  readonly table: ActorTable
  readonly hosting: Hosting
  readonly loop: Omit<LoopServices, "onDurable" | "onAmended" | "delta" | "secrets"> & {
    readonly secrets: RunSecrets
    readonly files: PromptFiles
  }
  readonly directoryFor: DirectoryFor
  /** What the gate of all calls is made of, for runs that have one of their own. */
  readonly gate: ToolInvoker.Services
  readonly tasks: TaskStore["Service"]
  readonly ownership: RunOwnership["Service"]
  /** Where the files of messages, results and turns are. */
  readonly parts: PartStore
  readonly feed: Feed
  /** How many erasures there were since the start: what was read before one may not be kept behind it. */
  erasures: number
  readonly onDurable: OnDurable
  readonly questions: OpenQuestions["Service"]
  /** Has the runtime sweep when the next question ends, or when a stopped actor may start again. */
  readonly sweepAlarm: Alarm
  readonly dispatches: ClaimedDispatches.ClaimedDispatches
  /** Bounds the runs that are loaded from the journal at the same time. */
  readonly loading: RunLoading
  /** Bounds what the runs at work take of the process's memory. */
  readonly memory: RunMemory
  /** Runs something beside the actors, for as long as the runtime lives. */
  readonly background: (effect: Effect.Effect<void>) => void
}

/** What a run that is being loaded may take: a page of its journal, as text and decoded. */
const loading_bytes = 16_000_000

/** Runs that are loaded at the same time. */
const placesOf = ({ in_flight_bytes_max, rehydrate_max }: RuntimeConfig): number =>
  Math.max(1, Math.min(rehydrate_max, Math.floor(in_flight_bytes_max / loading_bytes)))

/** The memory for runs, and its gauges. */
const makeMemory = Effect.fnUntraced(function* (bytes_max: number) {
  const memory = new RunMemory(bytes_max)
  yield* readGauge(
    "troupe_in_flight_bytes",
    "Memory that the runs at work take, by estimate",
    () => memory.bytes
  )
  yield* readGauge(
    "troupe_in_flight_max_bytes",
    "Memory that the runs at work may take (in_flight_bytes_max)",
    () => memory.bytes_max
  )
  return memory
})

export const makeActorHost = Effect.gen(function* () {
  const config = yield* RuntimeConfig
  const clock = yield* Clock.Clock
  const digest = yield* Digest.Digest
  const random = yield* SecureRandom.SecureRandom
  const directory = yield* AgentDirectory
  const questions = yield* OpenQuestions
  const report = yield* makeFaultReporter
  const deadlines = yield* Deadlines.make
  const gate = yield* GovernedInvoker.make(deadlines)
  const { invoker, policy_version, providerTools } = gate
  const owner = yield* random.uuidV4()
  const table = new ActorTable(questions)
  const secrets = new RunSecrets()
  const onDurable = yield* makeOnDurable(clock, report)
  const parts: PartStore = { blobs: yield* BlobStore, bounds: yield* BlobBounds, digest }
  const memory = yield* makeMemory(config.in_flight_bytes_max)
  const model = yield* ModelGateway
  const prices = yield* PriceBook
  const host: ActorHost = {
    owner,
    config,
    table,
    hosting: makeHosting(directory),
    directoryFor: RoleDirectory.make(directory),
    gate: gate.services,
    tasks: yield* TaskStore,
    ownership: yield* RunOwnership,
    parts,
    feed: new Feed(config.in_flight_bytes_max),
    erasures: 0,
    onDurable: (run, state, events) => {
      onDurable(run, state, events)
      if (state.ended !== undefined) secrets.drop(run)
    },
    questions,
    sweepAlarm: new Alarm(),
    dispatches: ClaimedDispatches.make(
      yield* Outbox,
      owner,
      config.lease_ms,
      () => table.isDraining
    ),
    loading: new RunLoading(placesOf(config)),
    memory,
    background: yield* FiberSet.makeRuntime<never, void, never>(),
    loop: {
      journal: yield* RunJournal,
      reader: yield* RunReader,
      model,
      directory,
      deadlines,
      scheduler: yield* (yield* LoopScheduler.LoopScheduling)(config.loops_per_turn),
      weights: PromptMeter.make(yield* Tokenizer),
      clock,
      files: new PromptFiles(parts.blobs, config.in_flight_bytes_max / 8),
      parts,
      secrets,
      prices,
      budgets: yield* TurnBudgets.make({ directory, model, prices, clock }),
      report,
      requestLimitApproval: LimitApproval.make({ digest, random, policy_version }),
      requestGuardApproval: guardApproval({ digest, random, policy_version }),
      invoker,
      providerTools
    }
  }
  return host
})
