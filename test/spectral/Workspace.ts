/** The Spectral Agent over small real tools under the names of its tables, and a runtime with it. */
import { Effect, Layer, Result } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Options as AgentOptions } from "../../src/spectral/agents/SpectralAgents.ts"
import {
  changeTools,
  spectral_name,
  spectralAgents,
  specialistTools
} from "../../src/spectral/agents/SpectralAgents.ts"
import type { SpecialistName } from "../../src/spectral/agents/SpectralAgents.ts"
import type { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { Policy } from "../../src/permission/Policy.ts"
import * as H from "../runtime/Harness.ts"

/** A customer of the workspace, and one who may decide there. */
export const carl = H.person("carl", ["customer"])
export const olga = H.person("olga", ["operator"])

/** The tools of a specialist, as a list of names that may be searched. */
export const toolsOf = (name: SpecialistName): ReadonlyArray<string> => specialistTools[name]

const names: ReadonlyArray<string> = Object.values(specialistTools).flat()

/** What the bodies of changes did, by tool and number. */
export type Changes = Array<string>

/** Reads give back what they were asked; changes are noted in `done`. A test may put another body in a tool's place. */
export const tools = (
  done: Changes,
  bodies: Readonly<Record<string, H.TestTool>> = {}
): Readonly<Record<string, H.TestTool>> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      bodies[name] ??
        (changeTools.includes(name)
          ? H.asks((n) => Effect.sync(() => (done.push(`${name} ${n}`), `${name} ${n}`)), {
              approvers: ["customer", "approver", "operator"]
            })
          : H.reads((n) => Effect.succeed(`${name} ${n}`)))
    ])
  )

export interface Options extends AgentOptions {
  readonly script: Script
  readonly done?: Changes
  readonly bodies?: Readonly<Record<string, H.TestTool>>
  readonly policy?: Policy
  readonly config?: Partial<RuntimeConfig.RuntimeConfig>
  /** Beside the Spectral Agent. */
  readonly others?: ReadonlyArray<AgentSpec>
}

/** Over stores that the test holds. */
export const over = ({ done = [], ...options }: Options) =>
  Runtime.layer({
    agents: [
      ...Result.getOrThrow(
        spectralAgents({
          ...(options.autonomy === undefined ? undefined : { autonomy: options.autonomy }),
          ...(options.tools === undefined ? undefined : { tools: options.tools })
        })
      ),
      ...(options.others ?? [])
    ],
    tools: [H.toolsOf(tools(done, options.bodies))],
    policy: options.policy
  }).pipe(
    Layer.provideMerge(ScriptedModelGateway.layer(options.script)),
    Layer.provide(
      Layer.succeed(RuntimeConfig.RuntimeConfig, {
        ...RuntimeConfig.defaults,
        drain_ms: 1,
        ...options.config
      })
    )
  )

export const layer = (options: Options) => over(options).pipe(Layer.provideMerge(Stores.ephemeral))

/** A message that begins a conversation with the agent; the run. */
export const send = (text: string, by = carl) =>
  Effect.map(
    AgentRuntime.use((runtime) => runtime.send({ agent: spectral_name, text }, by)),
    ({ task }) => task.id
  )

/** A customer does not choose the id of its conversation. */
const conversationOf = (run: RunId) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.get(run)),
    (task) => task!.conversation
  )

/** Waits for the run's end, and gives its events. */
export const ended = (run: RunId) =>
  Effect.flatMap(conversationOf(run), (conversation) => H.ended(run, conversation))

/** Waits for the run's `nth` question, and gives it. */
export const question = (run: RunId, nth = 1) =>
  Effect.flatMap(conversationOf(run), (conversation) => H.question(run, nth, conversation))

/** A turn that delegates. */
export const ask = (name: SpecialistName, task = "find out") => call(`ask_${name}`, { task })
