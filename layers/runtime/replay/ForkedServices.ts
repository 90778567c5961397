/**
 * The services of a run that was forked: the turns of the other run up to the fork, its results in place of what calls would do,
 * another model or policy where the fork names one, and a memory that is only read.
 */
import { Context, Effect, Exit, Result } from "effect"
import { Digest } from "effect/crypto"
import { decodedPolicy, no_policy } from "../../../src/permission/Policy.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { policyVersionOf } from "../../../src/permission/PolicyVersion.ts"
import { graph_model } from "../../../src/graph/ToolGraph.ts"
import {
  recordingBefore,
  recordingOfMessage,
  withDecidedVerdicts
} from "../../../src/replay/Fork.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import { recordingOf } from "../../../src/replay/Recording.ts"
import type { ContextReader } from "../../../src/run/RunContext.ts"
import type { Forked } from "../../../src/run/Forked.ts"
import { forked_units_max } from "../../../src/run/Forked.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { stepKey } from "../../../src/value/Ids.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import type {
  AgentDirectory,
  AgentGuards,
  ResolvedAgent
} from "../../../services/AgentDirectory.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import { entriesWithin } from "../../../services/RunReader.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { LoopServices } from "../loop/LoopServices.ts"
import type { StopReason } from "../loop/RunLoop.ts"
import type { AgentTool } from "../tool/CallHost.ts"
import type { PartStore } from "../tool/StoredParts.ts"
import * as ToolInvoker from "../tool/ToolInvoker.ts"
import * as ForkedCalls from "./ForkedCalls.ts"
import { forkedModel, guardsOf, recallOf, withoutWrites } from "./RecordedServices.ts"
import { isErasedRun } from "./ReplayReport.ts"

/** The recording of the run that is forked, or why it cannot be forked, in a sentence. */
export const readForked = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  { run }: Pick<Forked, "run">
) {
  const read = yield* Effect.catchTag(
    entriesWithin(reader, run, forked_units_max),
    "RunQuarantined",
    () => Effect.undefined
  )
  if (read === undefined) return "it is in quarantine"
  if (read.units > forked_units_max) {
    return `its events have more than ${forked_units_max.toLocaleString("en")} characters`
  }
  const recording = recordingOf(read.entries)
  if (recording === undefined) return "its events are not there (any more)"
  return isErasedRun(recording) ? "it was erased" : recording
})

/** Those of the recording for the turns that are given, and those of the agent for the others. */
const forkedGuards = (
  before: Recording,
  live: AgentGuards | undefined
): AgentGuards | undefined => {
  const recorded = guardsOf(withDecidedVerdicts(before))
  if (recorded === undefined && live === undefined) return undefined
  return (place) => {
    const said = recorded?.(place) ?? []
    const isGiven = before.turns.has(stepKey(place.frame, place.step))
    return said.length > 0 || isGiven ? said : (live?.(place) ?? [])
  }
}

const secretless: ContextReader = { decode: () => Exit.succeed(undefined), secrets: [] }

const isSecretless = ({ context }: AgentTool): boolean => context === secretless

const withoutSecrets = (tool: AgentTool): AgentTool =>
  tool.context === undefined || tool.context.secrets.length === 0
    ? tool
    : { ...tool, context: secretless }

/** The agents with the model of the fork. One object each time, by which gates and prompts are cached. */
const forkedAgents = (
  { all, get }: AgentDirectory["Service"],
  before: Recording,
  model: string | undefined
): AgentDirectory["Service"] => {
  const forked = memoised((agent: ResolvedAgent): ResolvedAgent => {
    const { guards: live, ...rest } = agent
    const guards = forkedGuards(before, live)
    return {
      ...rest,
      ...(guards === undefined ? undefined : { guards }),
      spec:
        model === undefined || agent.spec.model === graph_model
          ? agent.spec
          : { ...agent.spec, model },
      tools: new Map([...agent.tools].map(([name, tool]) => [name, withoutSecrets(tool)]))
    }
  })
  return {
    all,
    get: (name) => {
      const agent = get(name)
      return agent === undefined ? undefined : forked(agent)
    }
  }
}

const policyOf = ({ policy }: Forked, inForce: Policy | undefined): Policy =>
  policy === undefined
    ? (inForce ?? no_policy)
    : // It was decoded when the fork was made. One that cannot be decoded any more allows nothing.
      Result.getOrElse(decodedPolicy(policy as unknown as Policy), () => refusing)

const refusing: Policy = { ...no_policy, mode: "deny" }

interface Host {
  readonly loop: Pick<LoopServices, "model" | "reader">
  readonly gate: ToolInvoker.Services
  readonly parts: PartStore
}

/** What is other for a fork. A text = why it cannot go on. */
const servicesOf = Effect.fnUntraced(function* (
  { gate, loop, parts }: Host,
  state: RunState,
  forked: Forked,
  directory: AgentDirectory["Service"]
) {
  const recording = yield* readForked(loop.reader, forked)
  if (typeof recording === "string") return recording
  const { edited, model, run, step } = forked
  const before = edited === true ? recordingOfMessage(recording) : recordingBefore(recording, step)
  if (before === undefined) return `it has no turn ${step}`
  const agents = forkedAgents(directory, before, model)
  const policy = policyOf(forked, gate.policy)
  const { digest } = parts
  // Nothing is held, authorised or counted of what is not done.
  const { attempted: _attempts, authorize: _grants, held: _keys, ...rest } = gate
  const isRecalled = before.recalled !== undefined || before.turns.size > 0
  return {
    model: forkedModel(before, loop.model),
    directory: agents,
    providerTools: undefined,
    invoker: ToolInvoker.make({
      ...rest,
      policy,
      policy_version: yield* policyVersionOf(
        (bytes) => digest.digestHex(Digest.sha256, bytes),
        policy
      ),
      agentOf: agents.get,
      instead: yield* ForkedCalls.make({
        digest,
        blobs: parts.blobs,
        run,
        recording,
        state,
        isSecretless
      })
    }),
    ...(isRecalled ? { recall: recallOf(before) } : undefined)
  } satisfies Partial<LoopServices>
})

/** The services of a run, and why it is to fail; of a fork its own. */
export const make = Effect.fnUntraced(function* (
  host: Host,
  state: RunState,
  services: LoopServices
) {
  const { forked } = state.accepted
  if (forked === undefined) return { services }
  const own = yield* servicesOf(host, state, forked, services.directory)
  if (typeof own !== "string") return { services: { ...services, ...own } }
  const stopped: StopReason = {
    reason: "fork_source",
    message: `this is a fork of run ${forked.run}, which cannot be read: ${own}`
  }
  return { services, stopped }
})

/** Runs a fork over the memory of its actor, which it only reads. */
export const overReadMemory = <A, E, R>(self: Effect.Effect<A, E, R | AgentMemory>) =>
  Effect.contextWith((live: Context.Context<AgentMemory>) =>
    Effect.provideContext(self, Context.merge(live, withoutWrites(live)))
  )
