/**
 * What an event of another system causes: a message that an agent answers in a conversation, or a memory. A feature or an
 * application says it for each type of event.
 */
import { Effect, Predicate, Schema } from "effect"
import { text_units_max } from "../memory/MemoryRow.ts"
import { InvalidInput, inputReader } from "../schema/InvalidInput.ts"
import { ConversationId } from "../value/Ids.ts"
import type { IncomingEvent } from "./IncomingEvent.ts"
import { EventTypeUnknown } from "./IncomingEvent.ts"
import { textUpTo } from "../value/Bounds.ts"

/** Of a message to an agent, in UTF-16 units: an event has less. */
const told_units_max = 1_000_000

/** How long an Effect of a handler may run, in ms: less than a relay waits for an answer. */
const handler_ms_max = 10_000

/** A message is sent to the agent, in the conversation of the event's subject: later events about it continue there. */
export const Tell = Schema.TaggedStruct("Tell", {
  conversation: ConversationId,
  text: Schema.String.check(Schema.isMaxLength(told_units_max))
})
export interface Tell extends Schema.Schema.Type<typeof Tell> {}

/** A memory is written, in the agent's persistent tier and beside the conversation. */
export const Remember = Schema.TaggedStruct("Remember", {
  conversation: ConversationId,
  text: Schema.String.check(Schema.isMaxLength(text_units_max)),
  /** The person whom the memory is about. Absent = nobody. */
  subject: Schema.optionalKey(textUpTo(200))
})
export interface Remember extends Schema.Schema.Type<typeof Remember> {}

export type EventEffect = Tell | Remember

type Given = typeof Tell.Encoded | typeof Remember.Encoded

/**
 * Says what an event causes: `{ _tag: "Tell", conversation, text }` or `{ _tag: "Remember", conversation, text, subject? }`, at
 * once or as an Effect, which may run for 10 s. Fails with InvalidInput where the event's data does not fit its type. It is called
 * for each delivery of the event, so it causes nothing itself.
 */
export type EventHandler = (event: IncomingEvent) => Given | Effect.Effect<Given, InvalidInput>

/** Handlers by the type of event, as CloudEvents name it. */
export type EventHandlers = Readonly<Record<string, EventHandler>>

const read = inputReader(Schema.Union([Tell, Remember]))

/**
 * Fails with EventTypeUnknown if there is no handler of the type. What a handler gives has to be an effect: a promise is refused,
 * and its rejection goes nowhere. A handler that throws or runs too long is a defect.
 */
export const effectOf = (
  handlers: EventHandlers,
  event: IncomingEvent
): Effect.Effect<EventEffect, EventTypeUnknown | InvalidInput> =>
  Effect.suspend((): Effect.Effect<EventEffect, EventTypeUnknown | InvalidInput> => {
    const { type } = event
    const handler = Object.hasOwn(handlers, type) ? handlers[type] : undefined
    if (handler === undefined) {
      return Effect.fail(new EventTypeUnknown({ type, available: Object.keys(handlers) }))
    }
    const field = `events.handlers.${type}`
    const given: unknown = handler(event)
    if (Predicate.isPromiseLike(given)) {
      given.then(undefined, () => undefined)
      const message = "Expected what the event causes, at once or as an Effect; this is a promise"
      return Effect.fail(new InvalidInput({ field, reason: message }))
    }
    const said = Effect.isEffect(given)
      ? Effect.timeoutOrElse(given as Effect.Effect<unknown, InvalidInput>, {
          duration: handler_ms_max,
          orElse: () => Effect.die(new Error(`${field} ran for more than ${handler_ms_max} ms`))
        })
      : Effect.succeed(given)
    return Effect.flatMap(said, (effect) => read(effect, field))
  })
