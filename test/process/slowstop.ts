/** A program whose stop takes as many ms as its argument says. */
import { Effect } from "effect"
import * as NodeMain from "../../layers/compose/entries/NodeMain.ts"

const stop_ms = Number(process.argv[2])

NodeMain.run(
  Effect.onInterrupt(
    Effect.andThen(
      Effect.sync(() => console.log("ready")),
      Effect.never
    ),
    () =>
      Effect.andThen(
        Effect.sync(() => console.log("stopping")),
        Effect.delay(
          Effect.sync(() => console.log("stopped")),
          stop_ms
        )
      )
  ),
  { disableErrorReporting: true }
)
