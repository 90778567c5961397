/**
 * `nautilus.broker_request@1` over the broker that the embedder injects. Where there is none, every call says so.
 */
import { Effect, Option } from "effect"
import { brokered, brokerGovernance, BrokerTools } from "../../src/builtin/BrokerTool.ts"
import {
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError
} from "../../src/error/ToolError.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import type { BrokerRefused, BrokerUnavailable } from "../../services/Broker.ts"
import { Broker } from "../../services/Broker.ts"

const noBroker = () =>
  new ToolTerminalError({
    kind: "internal",
    reason: "NO_BROKER",
    message: "no broker is registered: this runtime was composed without a Broker service."
  })

const notResolved = (error: BrokerUnavailable | BrokerRefused) =>
  error._tag === "BrokerRefused"
    ? new ToolPolicyError({ kind: "permission", reason: "BROKER_REFUSED", message: error.message })
    : new ToolTransientError({
        kind: "external",
        reason: "BROKER_UNAVAILABLE",
        message: error.message,
        ...(error.retry_after_ms === undefined
          ? undefined
          : { retry_after_ms: error.retry_after_ms })
      })

/** For a registry. Needs no broker to be built: a runtime without one refuses the calls, not its start. */
export const tools: Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool> = govern(
  BrokerTools,
  brokerGovernance,
  Effect.map(Effect.serviceOption(Broker), (broker) =>
    BrokerTools.of({
      broker_request: ({ agent_id, intent }) =>
        Option.isNone(broker)
          ? Effect.fail(noBroker())
          : Effect.mapBoth(broker.value.request(agent_id, intent), {
              onSuccess: brokered,
              onFailure: notResolved
            })
    })
  )
)
