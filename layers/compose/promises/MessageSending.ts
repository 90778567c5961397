/**
 * How a service sends messages: to the agent that a message names, or to the current agent of its conversation.
 */
import { Effect, Result } from "effect"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { ConversationId } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../../src/principal/Rights.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import { recipient } from "../../service/MessageEffects.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { inTraceOf } from "../../../src/run/Nesting.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { isObject } from "../options/OptionShapes.ts"

/** A customer may send only to agents for customers, in conversations that it began with one. */
const sendAsCustomer = Effect.fnUntraced(function* (message: Message, by: Principal) {
  yield* recipient(yield* Entries.message(message, "message"), by)
  return yield* AgentRuntime.use((agents) => agents.send(message, by))
})

const send = (message: Message, by: Principal) =>
  isLimitedToOwn(by, "send")
    ? sendAsCustomer(message, by)
    : AgentRuntime.use((agents) => agents.send(message, by))

/** A value that cannot be inspected is left for the decoder of messages, which refuses it. */
const looksAs = (message: unknown, is: (message: Partial<Message>) => boolean): boolean =>
  Result.getOrElse(
    Result.try(() => isObject(message) && is(message)),
    () => false
  )

const hasBaggage = (message: Partial<Message>): boolean => "baggage" in message

/** Whether the message names a conversation and no agent, so that it goes to the conversation's current agent. */
const isForHolder = ({ agent, conversation }: Partial<Message>): boolean =>
  agent === undefined && conversation !== undefined

/** Whether the message replaces a run, and names neither its conversation nor an agent, with which it would begin one. */
const isOfNone = ({ agent, conversation, replaces }: Partial<Message>): boolean =>
  replaces !== undefined && conversation === undefined && agent === undefined

const lacksConversation = new InvalidInput({
  field: "message.conversation",
  reason: "it is missing: give that of the run in `replaces`"
})

const toHolder = (message: Message, by: Principal) =>
  Effect.map(
    AgentRuntime.use(({ currentAgent }) =>
      currentAgent(message.conversation as ConversationId, by, message)
    ),
    (agent): Message => ({ ...message, agent })
  )

const sendRead = (message: Message, by: Principal) =>
  looksAs(message, hasBaggage)
    ? Effect.flatMap(Entries.messageWithBaggage(message, "message"), (read) => send(read, by))
    : send(message, by)

const hasTrace = (message: object): boolean => "traceparent" in message || "tracestate" in message

const sendHeld = (message: Message, by: Principal) => {
  if (looksAs(message, isOfNone)) return Effect.fail(lacksConversation)
  return looksAs(message, isForHolder)
    ? Effect.flatMap(toHolder(message, by), (given) => sendRead(given, by))
    : sendRead(message, by)
}

/** Sends a message, in the trace that it names, if it names one. */
export const sendMessage = (message: Message, who: Principal) =>
  Effect.flatMap(Entries.entitled(who, "send"), (by) => {
    if (!looksAs(message, hasTrace)) return sendHeld(message, by)
    const { traceparent, tracestate, ...rest } = message as Message & Record<string, unknown>
    return Effect.flatMap(
      Entries.traceHeaders(defined({ traceparent, tracestate }), "message"),
      (headers) => inTraceOf(headers)(sendHeld(rest, by))
    )
  })
