/**
 * Several agents in one conversation. It stays at the address of the agent that it began with, whose actor runs all of its
 * messages one after another; a message for another agent says so, and that agent then holds the conversation until it is
 * handed over, or another one is sent a message.
 */
import { Effect } from "effect"
import type { Conversation } from "../../../src/conversation/Conversation.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import { AddressConflict } from "../../../src/delivery/AgentTask.ts"
import type { AgentName, ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import { anchoredConversation } from "../../../src/memory/MemoryAnchors.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { handedBy } from "../../../src/run/RunState.ts"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import type { NewTask } from "../../../services/TaskStore.ts"
import type { ActorHost } from "./ActorHost.ts"
import { foldRun } from "./History.ts"

/** Who speaks in a conversation, and who handed it over. */
export interface Holder {
  readonly agent: AgentName
  readonly handed_by: ReadonlyArray<AgentName> | undefined
}

type Task = Omit<NewTask, "claim">

const ordinal_max = 2 ** 31 - 1

/** The run that is at work in the conversation, else the last one that ended. */
const newestRun = Effect.fnUntraced(function* (
  { loop, tasks }: ActorHost,
  { address, id, tenant }: Conversation
) {
  const [head] = yield* loop.reader.unfinished(tenant, address, 1)
  if (head !== undefined) return head.run_id
  const [task] = yield* tasks.endedBefore(tenant, id, ordinal_max, 1)
  return task?.id
})

/** Who holds the conversation by its newest run; a run that cannot be read says nothing. */
const holderOf = Effect.fnUntraced(function* (host: ActorHost, conversation: Conversation) {
  const run: RunId | undefined = yield* newestRun(host, conversation)
  const first: Holder = { agent: conversation.address.agent, handed_by: undefined }
  if (run === undefined) return first
  const state = yield* Effect.catchTag(
    foldRun(host.loop.reader, run),
    "RunQuarantined",
    () => Effect.undefined
  )
  const root = state?.frames.get(rootFrame)
  return root === undefined ? first : { agent: root.next ?? root.agent, handed_by: handedBy(root) }
})

export const make = Effect.fnUntraced(function* (host: ActorHost) {
  const conversations = yield* ConversationStore
  const customer_agents = yield* CustomerAgents
  const { directory } = host.loop

  /** The agent that holds a conversation, to which a message that names none goes. */
  const currentAgent = Effect.fnUntraced(function* (tenant: Tenant, id: ConversationId) {
    const found = yield* conversations.get(tenant, id)
    if (found === undefined) return yield* new ConversationNotFound({ id })
    return (yield* holderOf(host, found)).agent
  })

  /**
   * The task of a message to another agent than the conversation began with; undefined where it is the same one. Fails where
   * that agent may take no part: the conversation is a customer's and the agent is not for customers, or the memory of the
   * conversation belongs to another operator.
   */
  const taskForOtherAgent = Effect.fnUntraced(function* (task: Task, by: Principal) {
    const { address, conversation, tenant } = task
    const found = yield* conversations.get(tenant, conversation)
    if (found === undefined || found.address.agent === address.agent) return undefined
    const first = directory.get(found.address.agent)?.spec
    const isKept = found.initiated_by === "customer" && !customer_agents.includes(address.agent)
    if (first === undefined || isKept) {
      return yield* new AddressConflict({ conversation, agent: address.agent })
    }
    const kind = first.memory?.anchor ?? "workspace"
    const sent = { agent: first.name, kind, sender: by.id, conversation }
    yield* Effect.fromResult(anchoredConversation(sent, conversation))
    const { agent, handed_by } = yield* holderOf(host, found)
    const taken: Task = {
      ...task,
      address: found.address,
      agent: address.agent,
      waiting_max: first.mailbox_max,
      reject_when_busy: first.mailbox === "reject",
      ...(agent === address.agent && handed_by !== undefined ? { handed_by } : undefined)
    }
    return taken
  })

  return { currentAgent, taskForOtherAgent }
})

export type OtherAgents = Effect.Success<ReturnType<typeof make>>
