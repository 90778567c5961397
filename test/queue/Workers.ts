/** Workers over an ephemeral queue, their tools, and calls of them, for tests. */
import { Effect, Layer } from "effect"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { CallContext as Called } from "../../src/tool/GovernedTool.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import type { CallMessage } from "../../src/queue/CallMessage.ts"
import { eventually } from "../contracts/Contract.ts"

export const workerConfig: ToolQueueConfig = {
  concurrency: 3,
  deliveries_max: 3,
  ack_wait_ms: 300,
  backoff_ms: [20, 40],
  message_ms_max: 5_000,
  sweep_ms: 50,
  stop_ms: 2_000,
  offer_ms: 60_000,
  show_ms: 1,
  result_ms: 60_000
}

type Answers = (call: Called) => Effect.Effect<never, ToolUserError> | Effect.Effect<string>

export const toolNamed = (name: string, answers: Answers, more: Partial<Governance> = {}) =>
  tool({ namespace: "t", name, side_effects: "read", ...more }, (_, call) => answers(call))

export const succeedDone = () => Effect.succeed("done")

export const workerLayer = (
  tools: ReadonlyArray<LocalToolRegistry.Family<unknown, unknown>>,
  more: Partial<ToolQueueConfig> = {},
  capabilities?: ReadonlyArray<string>
) =>
  ToolWorker.layer({
    tools: tools as ReadonlyArray<LocalToolRegistry.Family<unknown, never>>,
    ...(capabilities === undefined ? undefined : { capabilities })
  }).pipe(Layer.provide(Layer.succeed(ToolQueueConfig, { ...workerConfig, ...more })))

export const approved: Partial<CallMessage> = { approved_by: "olga" }

let count = 0

/** Sends a call of a tool by its key, and returns its id. */
export const sendCall = Effect.fnUntraced(function* (
  name: string,
  more: Partial<CallMessage> = {},
  expires_at = 4_000_000_000_000,
  tenant = "acme"
) {
  const queue = yield* ToolQueue
  const id = `call-${++count}`
  const key = `t.${name}@1`
  const payload = { id, name: key, arguments: {}, loop_id: "loop", trace_id: "trace", ...more }
  yield* queue.send({
    id,
    tool: key,
    tenant: Tenant.make(tenant),
    expires_at,
    payload: payload as never
  })
  return id
})

export const resultOf = (id: string) => ToolQueue.use((queue) => queue.awaited(id))

export const callTool = (name: string, more?: Partial<CallMessage>) =>
  Effect.flatMap(sendCall(name, more), resultOf)

export const untilOver = Effect.fnUntraced(function* (name: string) {
  const queue = yield* ToolQueue
  yield* eventually(queue.nextDueAt([`t.${name}@1`]), (due) => due === undefined)
})

/** The queue with some of its methods replaced, and a log of the calls of some methods. */
export const spiedQueue = (
  change: (
    queue: ToolQueue["Service"],
    log: Array<string>
  ) => Partial<ToolQueue["Service"]> = () => ({})
) => {
  const log: Array<string> = []
  const layer = Layer.effect(
    ToolQueue,
    Effect.map(ToolQueue, (queue) => {
      const own = { ...queue, ...change(queue, log) }
      const logged =
        <Args extends ReadonlyArray<unknown>, A>(name: string, method: (...args: Args) => A) =>
        (...args: Args): A => {
          log.push(name)
          return method(...args)
        }
      return {
        ...own,
        begin: logged("begin", own.begin),
        publish: logged("publish", own.publish),
        acknowledge: logged("acknowledge", own.acknowledge)
      }
    })
  ).pipe(Layer.provide(EphemeralToolQueue.layer))
  return { layer, log }
}
