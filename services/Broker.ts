/**
 * Resolves an agent's intent against the sources that the agent may see (Nautilus). Provided by the embedder; owns
 * clearances and policies of its own, and does not see runs.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { BrokerResponse } from "../src/builtin/BrokerTool.ts"

/** The broker did not answer; a later request may succeed. */
export class BrokerUnavailable extends Schema.TaggedError<BrokerUnavailable>()(
  "BrokerUnavailable",
  {
    /** Why it did not answer. */
    message: Schema.String,
    /** When a later request may succeed, in ms. Absent = not known. */
    retry_after_ms: Schema.optionalKey(Schema.Int)
  }
) {}

/** The broker refuses the intent. `message` is shown to the model. */
export class BrokerRefused extends Schema.TaggedError<BrokerRefused>()("BrokerRefused", {
  /** Why it is refused. */
  message: Schema.String
}) {}

/** Resolves an agent's intent against the sources that the agent may see, for nodes of the kind `broker`. */
export class Broker extends Context.Service<
  Broker,
  {
    /** Sends one request. The response contains its id. */
    request(
      agent_id: string,
      intent: string
    ): Effect.Effect<BrokerResponse, BrokerUnavailable | BrokerRefused>
  }
>()("troupe/services/Broker") {}
