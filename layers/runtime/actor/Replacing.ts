/**
 * Messages that stand in place of an earlier one, or follow another than the newest: which run a sender may name, and what becomes of the
 * message.
 */
import { Effect } from "effect"
import { isOpenTo } from "../../../src/conversation/CustomerView.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { AgentBusy } from "../../../src/delivery/AgentTask.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import { branches_max, ordinalBefore } from "../../../src/run/Branch.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { agentOfRun, handedBy } from "../../../src/run/RunState.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { AgentName, RunId } from "../../../src/value/Ids.ts"
import { addressKey, rootFrame } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { ActorHost } from "./ActorHost.ts"
import { foldRun } from "./History.ts"

/** Who speaks in a conversation, and who handed it over. */
export interface Holder {
  readonly agent: AgentName
  readonly handed_by: ReadonlyArray<AgentName> | undefined
}

/** Who has the conversation behind a run; undefined = the run cannot be read, or has not begun. */
export const holderBehind = Effect.fnUntraced(function* (host: ActorHost, run: RunId) {
  const state = yield* Effect.catchTag(
    foldRun(host.loop.reader, run),
    "RunQuarantined",
    () => Effect.undefined
  )
  const root = state?.frames.get(rootFrame)
  const holder: Holder | undefined = root && {
    agent: root.next ?? root.agent,
    handed_by: handedBy(root)
  }
  return holder
})

/** A run of this conversation; for a customer one of its own. */
const taskNamed = Effect.fnUntraced(function* (
  { tasks }: ActorHost,
  { conversation }: Message,
  by: Principal,
  run: RunId
) {
  const found = yield* tasks.read(by.tenant, run)
  if (
    found === undefined ||
    found.conversation !== conversation ||
    isErased(found.message) ||
    !isOpenTo(by, "send", found.by)
  ) {
    return yield* new RunNotFound({ run_id: run })
  }
  return found
})

const isOver = ({ status }: AgentTask): boolean => status === "complete" || status === "failed"

/** The messages of the conversation that stand in place of others, newest first. Fails if there may be no more. */
const branchesOf = Effect.fnUntraced(function* (
  { tasks }: ActorHost,
  { conversation, tenant }: AgentTask
) {
  const found = yield* tasks.branches(tenant, conversation)
  if (found.length < branches_max) return found
  return yield* new InvalidInput({
    field: "message.replaces",
    reason: `this conversation has ${branches_max} messages in place of others, which is the most: begin another one`
  })
})

const busyWith = ({ address, id: replaces }: AgentTask) =>
  new AgentBusy({ address: addressKey(address), replaces })

/** A message of which only the run that it replaces is said is that run's message again. */
const saidAgain = (message: Message, replaced: AgentTask): Message =>
  message.text !== "" || message.parts !== undefined
    ? message
    : {
        ...message,
        text: replaced.message,
        parts: replaced.parts,
        context: message.context ?? replaced.context,
        answer_schema: message.answer_schema ?? replaced.answer_schema
      }

/**
 * Directly behind a run: beside what was said there since, if anything was. `after`: the number of the task that has to be the newest of the
 * conversation then.
 */
const behind = Effect.fnUntraced(function* (
  host: ActorHost,
  message: Message,
  by: Principal,
  follows: RunId
) {
  const followed = yield* taskNamed(host, message, by, follows)
  const { conversation, ordinal: after, tenant } = followed
  const [next] = yield* host.tasks.ofConversation(tenant, conversation, after, 1)
  if (next === undefined) return { message, stands: {}, after }
  const others = yield* branchesOf(host, followed)
  const sibling = [...others, next].find((each) => ordinalBefore(each) === after)
  if (sibling !== undefined && !isOver(sibling)) return yield* busyWith(sibling)
  const holder = yield* Effect.mapError(
    holderBehind(host, follows),
    ({ message }) => new StoreError({ message })
  )
  const stands = {
    branch: { replaces: next.id, after },
    ...(holder?.agent === message.agent && defined({ handed_by: holder.handed_by }))
  }
  return { message, stands, after: undefined }
})

/**
 * The message as its run gets it, and where its task stands (`branch`), handed over as the replaced one was. Fails with RunNotFound
 * for a run that the sender may not replace or follow, and with AgentBusy for one that is replaced and not over.
 */
export const placed = Effect.fnUntraced(function* (
  host: ActorHost,
  message: Message,
  by: Principal
) {
  const { follows, replaces } = message
  if (follows !== undefined) return yield* behind(host, message, by, follows)
  if (replaces === undefined) return { message, stands: {}, after: undefined }
  const replaced = yield* taskNamed(host, message, by, replaces)
  if (!isOver(replaced)) return yield* busyWith(replaced)
  yield* branchesOf(host, replaced)
  const stands = {
    branch: { replaces: replaced.id, after: ordinalBefore(replaced) },
    ...(agentOfRun(replaced) === message.agent && defined({ handed_by: replaced.handed_by }))
  }
  return { message: saidAgain(message, replaced), stands, after: undefined }
})
