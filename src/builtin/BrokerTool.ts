/**
 * `nautilus.broker_request@1`: resolves an agent's intent by a broker and adds the provenance of the response. It is the
 * same tool in a graph's node and for an agent.
 */
import { Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../error/ToolError.ts"
import type { Governance } from "../tool/GovernedTool.ts"

/** The response of the broker, with its id of the request; other members are kept as they are. */
export const BrokerResponse = Schema.StructWithRest(
  Schema.Struct({ request_id: Schema.NonEmptyString }),
  [Schema.Record(Schema.String, Schema.Json)]
)
export type BrokerResponse = typeof BrokerResponse.Type

/** Stargraph's name of the member with the provenance of a value. */
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

/** The response with its provenance, which replaces any that the broker put there itself. */
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
