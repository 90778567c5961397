/**
 * Tools whose results the client of the conversation gives, such as the browser of whoever talks with the agent. The gate
 * lets a call through like any other; then its run waits until the client answers (`ApprovalDesk.answer`), or its time is over.
 *
 * ```ts
 * const tools = ClientTools.tools({ tools: [{ type: "client", name: "pick_date", permission: "allow" }] })
 * ```
 */
import { Context, Effect, Result, Schema } from "effect"
import type { ClientTool, ToolConfig, ToolConfigRefused } from "../../src/call/ToolConfig.ts"
import { decodeToolConfig, refuseConfig } from "../../src/call/ToolConfig.ts"
import { declaredSpec } from "../../src/tool/DeclaredSpec.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { bindTool } from "../../src/tool/GovernedTool.ts"
import { jsonSchemaCheck } from "../../src/tool/ToolCodec.ts"

export interface Options {
  /** Configurations of the type `client`. */
  readonly tools: ReadonlyArray<ToolConfig>
}

/** An hour. */
const expires_ms_default = 3_600_000

/** Nothing calls it: the gate asks the client instead. */
const handler = () => Effect.die(new Error("a client's call never runs in the runtime"))

const governed = Effect.fnUntraced(function* ({
  description,
  expires_ms = expires_ms_default,
  input_schema,
  name,
  needs_approval,
  output_schema = {},
  permission,
  read_only = false
}: ClientTool): Effect.fn.Return<GovernedTool, MisdeclaredTool | ToolConfigRefused> {
  if (Result.isFailure(jsonSchemaCheck(output_schema))) {
    const problem = "its output_schema cannot be checked: say it with less of JSON Schema 2020-12"
    return yield* refuseConfig("InvalidToolConfig", name, problem)
  }
  const { input, output, spec } = yield* declaredSpec(
    { name, description, input: undefined, output: Schema.Json, reconcile: false },
    {
      namespace: "client",
      side_effects: read_only ? "read" : "external",
      input_schema: input_schema ?? { type: "object", properties: {}, additionalProperties: true },
      output_schema,
      effect_description: `The user's client runs it. ${description ?? ""}`.trim(),
      ...(permission === undefined ? undefined : { permission }),
      ...(needs_approval === undefined ? undefined : { needs_approval })
    }
  )
  const made = yield* bindTool<never>(spec, { input, output, handler, services: Context.empty() })
  return { ...made, provider: "client", client: { expires_ms } }
})

/** For a registry. Fails with the first tool that cannot be right; configurations of other types are refused. */
export const tools = ({
  tools: configs
}: Options): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool | ToolConfigRefused> =>
  Effect.forEach(configs, (value, at) =>
    Effect.gen(function* () {
      const config = yield* Effect.fromResult(decodeToolConfig(value, `tools.${at}`))
      if ("kind" in config || config.type !== "client") {
        return yield* refuseConfig("InvalidToolConfig", `tools.${at}`, "it is no client tool")
      }
      return yield* governed(config)
    })
  )
