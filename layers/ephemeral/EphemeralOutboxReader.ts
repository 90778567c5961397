/**
 * Reads the dead letters of one process.
 */
import { Effect, Layer } from "effect"
import type { DeadLetterQuery } from "../../services/OutboxReader.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import type { DeadLetter } from "../../src/delivery/OutboxMessage.ts"
import { DeadLetterNotFound } from "../../src/delivery/OutboxMessage.ts"
import { EphemeralStore } from "./EphemeralStore.ts"

const page_max = 500

const matches = (letter: DeadLetter, query: DeadLetterQuery): boolean =>
  letter.tenant === query.tenant &&
  letter.status === (query.status ?? "dead") &&
  (query.handler_name === undefined || letter.handler_name === query.handler_name) &&
  letter.dead_at >= (query.dead_from ?? -Infinity) &&
  letter.dead_at <= (query.dead_to ?? Infinity)

/** The letters that come after the query's `after`, in the given order; none if that letter is unknown. */
const lettersBehind = (
  letters: ReadonlyArray<DeadLetter>,
  { after, tenant }: DeadLetterQuery
): ReadonlyArray<DeadLetter> => {
  if (after === undefined) return letters
  const at = letters.findIndex((letter) => letter.event_id === after && letter.tenant === tenant)
  return at === -1 ? [] : letters.slice(at + 1)
}

const make = Effect.map(EphemeralStore, (store) =>
  OutboxReader.of({
    deadLetters: (query) =>
      Effect.sync(() =>
        lettersBehind(
          [...store.dead.values()].reverse().map((stored) => stored.letter),
          query
        )
          .filter((letter) => matches(letter, query))
          .slice(0, Math.min(query.limit, page_max))
      ),
    deadLetter: Effect.fn("OutboxReader.deadLetter")(function* (tenant, event_id) {
      const letter = store.dead.get(event_id)?.letter
      if (letter?.tenant !== tenant) return yield* new DeadLetterNotFound({ event_id })
      return letter
    })
  })
)

export const layer: Layer.Layer<OutboxReader, never, EphemeralStore> = Layer.effect(
  OutboxReader,
  make
)
