/**
 * Messages that stand in place of an earlier one: which run a sender may replace, and what becomes of the message.
 */
import { Effect } from "effect"
import { isOpenTo } from "../../../src/conversation/CustomerView.ts"
import type { AgentTask, StoredExtras } from "../../../src/delivery/AgentTask.ts"
import { AgentBusy } from "../../../src/delivery/AgentTask.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import { branches_max, ordinalBefore } from "../../../src/run/Branch.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { addressKey } from "../../../src/value/Ids.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { ActorHost } from "./ActorHost.ts"

/** The run that the message replaces, if the sender may replace it: one of this conversation, and for a customer of its own. */
const replacedTask = Effect.fnUntraced(function* (
  { tasks }: ActorHost,
  { conversation, replaces }: Message,
  by: Principal
) {
  if (replaces === undefined) return undefined
  const found = yield* tasks.read(by.tenant, replaces)
  if (
    found === undefined ||
    found.conversation !== conversation ||
    isErased(found.message) ||
    !isOpenTo(by, "send", found.by)
  ) {
    return yield* new RunNotFound({ run_id: replaces })
  }
  if (found.status === "pending" || found.status === "processing") {
    return yield* new AgentBusy({ address: addressKey(found.address), replaces })
  }
  const others = yield* tasks.branches(by.tenant, found.conversation)
  if (others.length >= branches_max) {
    return yield* new InvalidInput({
      field: "message.replaces",
      reason: `this conversation has ${branches_max} messages in place of others, which is the most: begin another one`
    })
  }
  return found
})

/** A message of which only the run that it replaces is said is that run's message again. */
const saidAgain = (message: Message, replaced: AgentTask | undefined): Message =>
  replaced === undefined || message.text !== "" || message.parts !== undefined
    ? message
    : {
        ...message,
        text: replaced.message,
        parts: replaced.parts,
        context: message.context ?? replaced.context,
        answer_schema: message.answer_schema ?? replaced.answer_schema
      }

/**
 * The message as its run gets it, and where its task stands (`branch`), handed over as the replaced one was. Fails with RunNotFound
 * for a run that the sender may not replace, and with AgentBusy for one that is not over.
 */
export const inPlaceOf = Effect.fnUntraced(function* (
  host: ActorHost,
  message: Message,
  by: Principal
) {
  const replaced = yield* replacedTask(host, message, by)
  const placed: Pick<StoredExtras, "branch" | "handed_by"> =
    replaced === undefined
      ? {}
      : {
          branch: { replaces: replaced.id, after: ordinalBefore(replaced) },
          ...(agentOfRun(replaced) === message.agent && defined({ handed_by: replaced.handed_by }))
        }
  return { message: saidAgain(message, replaced), placed }
})
