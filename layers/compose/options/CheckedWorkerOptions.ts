/**
 * Checks the options of a worker before anything is opened: an option that does not fit its type fails with `InvalidInput`
 * and its field.
 */
import type { Effect } from "effect"
import { Schema } from "effect"
import { Capability } from "../../../src/capability/Capability.ts"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { shapeReader } from "../../../src/schema/InvalidInput.ts"
import type { ToolQueueConfig } from "../../runtime/queue/ToolQueueConfig.ts"
import type { WorkerOptions } from "./WorkerOptions.ts"
import {
  between,
  family,
  definedOptions,
  int32_max,
  is,
  isPostgres,
  postgres_shape,
  optionalBetween,
  Telemetry,
  text,
  texts,
  time
} from "./OptionShapes.ts"

const Store = is<WorkerOptions["store"]>(postgres_shape, isPostgres)

/** Results have to be kept for more than an hour, because the queue's senders rely on it. */
const result_ms_min = 3_600_001

const config = {
  concurrency: optionalBetween(1, 500),
  deliveries_max: optionalBetween(1, 1_000),
  ack_wait_ms: time(1, int32_max),
  backoff_ms: Schema.optionalKey(
    Schema.Array(between(0, int32_max)).check(Schema.isMinLength(1), Schema.isMaxLength(100))
  ),
  message_ms_max: time(1, int32_max),
  sweep_ms: time(1, int32_max),
  stop_ms: time(0, int32_max),
  offer_ms: time(1, int32_max),
  show_ms: time(0, int32_max),
  result_ms: time(result_ms_min, int32_max)
} satisfies Record<keyof ToolQueueConfig, unknown>

const fields = {
  tools: Schema.Array(family).check(Schema.isMaxLength(10_000)),
  serve: Schema.optionalKey(texts),
  capabilities: Schema.optionalKey(Schema.Array(Capability).check(Schema.isMaxLength(256))),
  provider: Schema.optionalKey(text),
  store: Store,
  telemetry: Schema.optionalKey(Telemetry),
  config: Schema.optionalKey(Schema.Struct(config))
} satisfies Record<keyof WorkerOptions, unknown>

const read = shapeReader(Schema.Struct(fields))

/** Checks the options of a worker. Fails with the first option that is wrong. */
export const checkWorkerOptions = (options: unknown): Effect.Effect<unknown, InvalidInput> =>
  read(definedOptions(options), "")
