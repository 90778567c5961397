/**
 * Calls of the tools that ask agents, and their tasks: how far a run has come, as a result, as a task, or with what its client is
 * asked. Whoever calls again with what it was asked goes on with the same run.
 */
import { Deferred, Effect, Option, Result, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { Unauthorized } from "../../../services/Credentials.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import type { AgentName, ApprovalId } from "../../../src/value/Ids.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import {
  foreign_state,
  inputRequired,
  openable,
  retriedOf,
  urlRequests
} from "../../../src/wire/McpQuestions.ts"
import type { McpRequest } from "../../../src/wire/McpRequest.ts"
import { mcp_codes, undeclared_tasks } from "../../../src/wire/McpRequest.ts"
import { handle_ms, isAtWork, taskDetails, taskHandle } from "../../../src/wire/McpTasks.ts"
import type { AskInput, McpResult, ResultInput } from "../../../src/wire/McpTools.ts"
import { McpProgress, toolResult, wait_max_s } from "../../../src/wire/McpTools.ts"
import { ApprovalUrl } from "../../service/ApprovalUrl.ts"
import { followedTask } from "../../service/CustomerRules.ts"
import { begunOrNamed, decidable, keyOf, sendTo, stop } from "../../service/WireEffects.ts"
import { Limits } from "../boundary/Limits.ts"
import type { OpenedStream } from "../stream/StreamHost.ts"
import { refuse } from "./RpcAnswer.ts"
import type { WireCall } from "./WireRequest.ts"
import type { StepPlace } from "./WireStream.ts"
import { followRun, openAnswer, shownOf } from "./WireStream.ts"

export const wire = "mcp"

export const wrong = (message: string) => ({ status: 200, code: mcp_codes.params, message })

const msOf = (wait_s = wait_max_s) => wait_s * 1_000

const urlOf = (url: string | undefined) => (approval: ApprovalId) =>
  url?.replaceAll("{id}", approval)

/** How a run is followed. */
interface Following {
  readonly until: OpenedStream["until"]
  readonly wait_ms: number
  /** Questions whose pages somebody has opened: the run is followed while it waits for these alone. */
  readonly opened?: ReadonlySet<string>
}

/** How far the run has come when it has ended, waits for people, or the time is up. */
const progressOf = Effect.fnUntraced(function* (
  by: Principal,
  task: AgentTask,
  { opened, until, wait_ms }: Following
) {
  const progress = new McpProgress()
  const asked = yield* Deferred.make<void>()
  let isLive = false
  const looked = () => {
    if (opened !== undefined && isLive && progress.waitsBeyond(opened)) {
      Deferred.doneUnsafe(asked, Effect.void)
    }
    return ""
  }
  const texts = {
    start: "",
    next: (step: Parameters<McpProgress["next"]>[0], { at }: StepPlace) => {
      progress.next(step, at)
      return looked()
    },
    live: () => {
      isLive = true
      return looked()
    },
    failed: () => "",
    end: () => ""
  }
  const shown = shownOf(task)
  yield* followRun(by, opened === undefined ? shown : { ...shown, through: "all" }, texts, {
    until: Effect.raceFirst(until, Deferred.await(asked)),
    wait_ms
  })
  const { conversation, id: run } = task
  return {
    result: progress.result({ run, conversation }, urlOf(yield* ApprovalUrl)),
    at: progress.at
  }
})

/** What the client is asked: to open the pages of questions that its user may decide. */
const requestsOf = Effect.fnUntraced(function* (
  by: Principal,
  { opensUrls }: McpRequest["client"],
  result: McpResult
) {
  return urlRequests(opensUrls ? yield* decidable(by, openable(result)) : [])
})

/** The run of a new message. */
const begun = Effect.fnUntraced(function* (
  by: Principal,
  agent: AgentName,
  { conversation: named, idempotency_key: key, message: text }: typeof AskInput.Type
) {
  yield* Limits.use((limits) => limits.message(by))
  const name = named ?? key ?? (yield* SecureRandom.SecureRandom.use((random) => random.uuidV7()))
  const conversation = yield* begunOrNamed(by, { wire, agent, name })
  const idempotency_key =
    key === undefined ? undefined : yield* keyOf(by, { wire, agent, conversation, key })
  const { task } = yield* sendTo(by, { agent, conversation, text, ...defined({ idempotency_key }) })
  return task
})

/** The run of the same call, made before by the same principal; anything else is refused in the same words. */
const begunBefore = Effect.fnUntraced(function* (
  by: Principal,
  agent: AgentName,
  { conversation: named, idempotency_key: key, message }: typeof AskInput.Type,
  run: RunId
) {
  const task = yield* Effect.catchTag(
    followedTask(run, by),
    ["RunNotFound", "NotForCustomers"],
    () => refuse(wrong(foreign_state))
  )
  const name = named ?? key
  const isSame =
    task.by === by.id &&
    task.message === message &&
    (task.address.agent === agent || agentOfRun(task) === agent) &&
    (name === undefined || task.conversation === (yield* begunOrNamed(by, { wire, agent, name })))
  return isSame ? task : yield* refuse(wrong(foreign_state))
})

/** Asks an agent. Fails as its operations do, and where the call is no repetition of the one that it says. */
export const ask = Effect.fnUntraced(function* (
  { by, ...call }: WireCall,
  agent: AgentName,
  { client, isNewest, params }: McpRequest,
  input: typeof AskInput.Type
) {
  const read = retriedOf(isNewest ? params : {})
  if (Result.isFailure(read)) return yield* refuse(wrong(read.failure))
  const retried = read.success
  const { goesOn, until } = yield* openAnswer({ by, ...call })
  const task = yield* retried === undefined
    ? begun(by, agent, input)
    : begunBefore(by, agent, input, retried.run)
  const opened = retried?.opened
  const isHandled = client.hasTasks && input.wait_s === undefined
  const wait_ms = isHandled ? handle_ms : msOf(input.wait_s)
  const progress = yield* progressOf(by, task, { until, wait_ms, ...defined({ opened }) })
  // It may have been revoked while it waited.
  if (!(yield* goesOn)) return yield* new Unauthorized()
  const { result } = progress
  const requests = yield* requestsOf(by, client, result)
  if (client.hasTasks && isAtWork(result)) return taskHandle(task, { ...progress, requests })
  // Nobody is asked twice to open the same pages, unless there is another one.
  const isAsked =
    retried?.isDeclined !== true &&
    Object.keys(requests).some((approval) => retried?.opened.has(approval) !== true)
  return isAsked ? inputRequired(task.id, requests) : toolResult(result)
})

/** How far a run has come. */
export const followed = Effect.fnUntraced(function* (
  { by, ...call }: WireCall,
  { run, wait_s }: typeof ResultInput.Type
) {
  const { goesOn, until } = yield* openAnswer({ by, ...call })
  const task = yield* followedTask(run, by)
  const { result } = yield* progressOf(by, task, { until, wait_ms: msOf(wait_s) })
  return (yield* goesOn) ? toolResult(result) : yield* new Unauthorized()
})

export const task_methods: ReadonlyArray<string> = ["tasks/get", "tasks/update", "tasks/cancel"]

const noTask = wrong("There is no such task.")
const noResponses = wrong("The parameter inputResponses is no object.")

const readRun = Schema.decodeUnknownOption(RunId)
const isObject = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

/** What is done with a task that the caller may follow. Any other is not found, in the same words. */
export const withTask = Effect.fnUntraced(function* (
  { by }: WireCall,
  { client, method, params }: McpRequest
) {
  if (!client.hasTasks) return yield* refuse(undeclared_tasks)
  const run = readRun(params["taskId"])
  if (Option.isNone(run)) return yield* refuse(noTask)
  const task = yield* Effect.catchTag(
    followedTask(run.value, by),
    ["RunNotFound", "NotForCustomers"],
    () => refuse(noTask)
  )
  if (method === "tasks/get") {
    const progress = yield* progressOf(by, task, { until: Effect.never, wait_ms: 0 })
    const requests = yield* requestsOf(by, client, progress.result)
    return taskDetails(task, { ...progress, requests })
  }
  if (method === "tasks/cancel") yield* stop(by, task.id, "Cancelled by its client.")
  // That somebody has opened a page decides nothing, and the run says what was decided there.
  else if (!isObject(params["inputResponses"])) return yield* refuse(noResponses)
  return {}
})
