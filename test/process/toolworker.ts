/**
 * A worker of the queue of tool calls, with the bodies of `far` and `sure`. Arguments: the server's URL and the counter's.
 */
import { flushCompileCache } from "node:module"
import { Effect, Layer, Logger, Redacted } from "effect"
import * as NodeMain from "../../layers/compose/entries/NodeMain.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Outside from "./Outside.ts"
import type { Notice } from "./Plan.ts"

const [postgres, counter] = process.argv.slice(2) as [string, string]

const tools = Outside.remote.map((options) =>
  tool(options, (_, call) => Outside.effect(counter, options.name, "", call))
)

const main = Effect.gen(function* () {
  yield* Layer.build(
    ToolWorker.layer({ tools }).pipe(
      Layer.provide(Stores.postgres(Redacted.make(postgres))),
      Layer.provide(
        Layer.effect(
          ToolQueueConfig,
          Effect.map(ToolQueueConfig, (config) => ({ ...config, backoff_ms: [200, 1_000] }))
        )
      )
    )
  )
  process.send?.({ notice: "ready" } satisfies Notice)
  flushCompileCache()
  return yield* Effect.never
})

process.on("disconnect", () => process.exit())
NodeMain.run(
  Effect.provide(Effect.scoped(main), Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]))
)
