/**
 * Calls that the platform's gateway runs with secrets of its own. Each is one POST to the callback, whose answer contains the
 * result as `call.data.content`.
 */
import { Effect, Exit, Option, Result, Schema } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import { withoutHosts } from "../../src/network/PrivateHosts.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { CallContext, GovernedTool } from "../../src/tool/GovernedTool.ts"
import type { InputCodec } from "../../src/tool/ToolCodec.ts"
import type { PlatformClient } from "./PlatformClient.ts"

const what = "gateway tool call"
/** The longest detail of a failure, in UTF-16 units. */
const detail_max = 2_000

const Reply = Schema.Struct({
  call: Schema.Struct({
    data: Schema.optionalKey(
      Schema.NullOr(Schema.Struct({ content: Schema.optionalKey(Schema.Json) }))
    ),
    status: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          code: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite, Schema.Null])),
          message: Schema.optionalKey(Schema.NullOr(Schema.String))
        })
      )
    )
  })
})
const decode = Schema.decodeUnknownOption(Reply)

export interface GatewayRef {
  readonly endpoint: string
  readonly ref: string
  readonly timeout_ms?: number | undefined
}

/** Takes the arguments as an object or as the JSON text of one: some models write the text. */
export const textOrObject = (input: InputCodec): InputCodec => ({
  json_schema: input.json_schema,
  decode: (args) => {
    const read = typeof args === "string" ? readJson(args) : undefined
    return input.decode(read !== undefined && Result.isSuccess(read) ? read.success : args)
  }
})

/** Whether a code is an HTTP status from 400 on, as a number or a text, or a word for an error. */
const isError = (code: string | number | null | undefined): boolean =>
  /^\d+$/.test(String(code)) ? Number(code) >= 400 : /error|fail/i.test(String(code ?? ""))

const asText = (value: Schema.Json): string =>
  typeof value === "string" ? value : JSON.stringify(value)

/** The content of an answer, unchanged. If the status in the answer is an error, the call fails, whatever the HTTP status was. */
const contentOf = (
  answer: Schema.Json,
  endpoint: string
): Exit.Exit<Schema.Json, ToolTerminalError | ToolUserError> => {
  const reply = Option.getOrUndefined(decode(answer))
  if (reply === undefined) {
    return Exit.fail(
      new ToolTerminalError({
        kind: "external",
        reason: "GATEWAY_ANSWER",
        message: `${what} failed: the gateway's answer has no result`
      })
    )
  }
  const { data, status } = reply.call
  const content = data?.content ?? null
  if (!isError(status?.code)) return Exit.succeed(content)
  const text = content === null ? (status?.message ?? "") : asText(content)
  const detail = withoutHosts(text, endpoint)
  return Exit.fail(
    new ToolUserError({
      kind: "external",
      reason: "GATEWAY_TOOL_ERROR",
      message: `${what} failed: ${truncateUnits(detail, detail_max) || "it gave no reason"}`
    })
  )
}

/** Calls what a reference names, with these arguments. `timeout_ms` absent = that of the client. */
export const callRef = (
  client: PlatformClient,
  { endpoint, ref, timeout_ms }: GatewayRef,
  args: unknown,
  call: CallContext
): Effect.Effect<Json, ToolError> => {
  const body = JSON.stringify({
    data: {
      id: call.key ?? `${call.run}/${call.call}`,
      type: "function",
      function: { name: ref, arguments: args }
    }
  })
  const more = timeout_ms === undefined ? undefined : { timeout_ms }
  const request = { method: "POST", url: new URL(endpoint), body, ...more } as const
  return Effect.flatMap(client.send(what, request, call), (answer) => contentOf(answer, endpoint))
}

export const handlerOf =
  (client: PlatformClient, endpoint: string, ref: string): GovernedTool["handler"] =>
  (args, { call }) =>
    callRef(client, { endpoint, ref }, args, call)
