/** The options of a worker that runs the bodies of tools from a queue. */
import type { Timed } from "../../../src/value/Times.ts"
import type * as LocalToolRegistry from "../../runtime/directory/LocalToolRegistry.ts"
import type { ToolQueueConfig } from "../../runtime/queue/ToolQueueConfig.ts"
import type { Telemetry } from "../../telemetry/OpenTelemetry.ts"
import type { ToolServices } from "./ServiceOptions.ts"
import type { PostgresStore } from "./ServiceOptions.ts"

export interface WorkerOptions {
  /** Single tools and families of tools, as `tool` and `govern` make them. A `transactional` one is refused. */
  readonly tools: ReadonlyArray<LocalToolRegistry.Family<unknown, ToolServices>>
  /** The names of the tools to serve. Absent = all tools that can run from a queue. */
  readonly serve?: ReadonlyArray<string>
  /** The capabilities that the tools get. Absent = none: a tool that needs a capability is refused. */
  readonly capabilities?: ReadonlyArray<string>
  /** The name of this provider in the list of tools that workers offer. Absent = `worker`. */
  readonly provider?: string
  /** The PostgreSQL server that the runtime uses, and settings of its client: `{ postgres: "postgres://..." }`. */
  readonly store: Timed<PostgresStore>
  /**
   * Where traces, metrics and logs are sent. `true` = also to the default collector, or to the OpenTelemetry provider that the
   * application registered; `false` = nowhere. Absent = to the collector that the standard `OTEL_*` variables name, if any.
   */
  readonly telemetry?: boolean | Telemetry
  /** Times and bounds of the queue: the members of `ToolQueueConfig`. Absent = its defaults. */
  readonly config?: Timed<Partial<ToolQueueConfig>>
}
