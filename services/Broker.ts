/**
 * Whoever resolves what an agent wants against the sources that the agent may see (Nautilus). Injected by the embedder;
 * owns clearances and policies, and knows nothing of runs.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { BrokerResponse } from "../src/agents/Broker.ts"

/** The broker did not answer; it may later. */
export class BrokerUnavailable extends Schema.TaggedError<BrokerUnavailable>()(
  "BrokerUnavailable",
  { message: Schema.String, retry_after_ms: Schema.optionalKey(Schema.Int) }
) {}

/** The agent may not have what it wants. `message` is shown to the model. */
export class BrokerRefused extends Schema.TaggedError<BrokerRefused>()("BrokerRefused", {
  message: Schema.String
}) {}

export class Broker extends Context.Service<
  Broker,
  {
    /** One request, whose id is in the response. */
    request(
      agent_id: string,
      intent: string
    ): Effect.Effect<BrokerResponse, BrokerUnavailable | BrokerRefused>
  }
>()("troupe/services/Broker") {}
