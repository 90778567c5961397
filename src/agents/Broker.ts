/**
 * `nautilus.broker_request@1`: what an agent wants, resolved by a broker, with a note of where the answer came from. The
 * same in a graph's node and as a tool of an agent.
 */
import { Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../error/ToolError.ts"
import type { Governance } from "../tool/GovernedTool.ts"

/** Whatever the broker says, with the id under which it knows the request. */
export const BrokerResponse = Schema.StructWithRest(
  Schema.Struct({ request_id: Schema.NonEmptyString }),
  [Schema.Record(Schema.String, Schema.Json)]
)
export type BrokerResponse = typeof BrokerResponse.Type

/** Stargraph's name of the member that says where a value came from. */
const provenance_key = "__stargraph_provenance__"

const Provenance = Schema.Struct({
  origin: Schema.Literal("tool"),
  source: Schema.Literal("nautilus"),
  external_id: Schema.NonEmptyString
})

const Brokered = Schema.StructWithRest(
  Schema.Struct({ request_id: Schema.NonEmptyString, [provenance_key]: Provenance }),
  [Schema.Record(Schema.String, Schema.Json)]
)
export type Brokered = typeof Brokered.Type

/** The response with its envelope; one that the broker put there itself is replaced. */
export const brokered = (response: BrokerResponse): Brokered => ({
  ...response,
  [provenance_key]: { origin: "tool", source: "nautilus", external_id: response.request_id }
})

const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(16_384))

const BrokerRequest = Tool.make("broker_request", {
  description:
    "Asks the Nautilus broker to resolve an intent for an agent, and gives its response with a note of where it came from.",
  parameters: Schema.Struct({
    agent_id: Text.annotate({ description: "The agent that wants it, as the broker knows it." }),
    intent: Text.annotate({ description: "What it wants, in words." })
  }),
  success: Brokered,
  failure: ToolError
})

export const BrokerTools = Toolkit.make(BrokerRequest)

export const brokerGovernance: { readonly broker_request: Governance } = {
  broker_request: {
    namespace: "nautilus",
    version: "1",
    side_effects: "read",
    capabilities: "tools:broker_request"
  }
}
