/** Dead letters: they are read, sent again or given up. */
import { Effect } from "effect"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import * as DeadLetterOperations from "../../src/operation/DeadLetterOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { serve } from "./Served.ts"

export const list = serve(
  DeadLetterOperations.list,
  ({ limit = limit_default, ...filters }, { tenant }) =>
    Effect.map(
      OutboxReader.use((reader) => reader.deadLetters({ ...filters, tenant, limit })),
      (items) => ({ items })
    )
)

export const get = serve(DeadLetterOperations.get, ({ event_id }, { tenant }) =>
  OutboxReader.use((reader) => reader.deadLetter(tenant, event_id))
)

export const replay = serve(DeadLetterOperations.replay, (letter, { id, tenant }) =>
  OutboxReplayer.use((replayer) => replayer.replay({ ...letter, tenant, by: id }))
)

export const discard = serve(DeadLetterOperations.discard, (letter, { id, tenant }) =>
  OutboxReplayer.use((replayer) => replayer.discard({ ...letter, tenant, by: id }))
)
