/** Events of other systems, which the intake decodes. A service without an intake does nothing about any. */
import { Effect, Option } from "effect"
import { EventIntake } from "../../services/EventIntake.ts"
import type { IncomingEvent } from "../../src/delivery/IncomingEvent.ts"
import { EventTypeUnknown, readEvent } from "../../src/delivery/IncomingEvent.ts"
import * as EventOperations from "../../src/operation/EventOperations.ts"
import { serve } from "./Served.ts"

export const publish = serve(
  EventOperations.publish,
  Effect.fnUntraced(function* ({ event }, by) {
    const intake = yield* Effect.serviceOption(EventIntake)
    if (Option.isSome(intake)) return yield* intake.value.publish(event as IncomingEvent, by)
    const { type } = yield* readEvent(event)
    return yield* new EventTypeUnknown({ type, available: [] })
  })
)
