/** Requests and errors of JSON-RPC 2.0, which two of the wires speak. */
import { Schema } from "effect"

/** The codes of errors (JSON-RPC 2.0, section 5.1). */
export const rpc_codes = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603
} as const

export type RpcId = string | number

export const RpcRequest = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  method: Schema.String,
  id: Schema.Union([Schema.String, Schema.Finite]),
  params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
})

const isIdentified = Schema.is(Schema.Struct({ id: RpcRequest.fields.id }))

/** The id of what may be a request. */
export const rpcIdOf = (json: unknown): RpcId | undefined =>
  isIdentified(json) ? json.id : undefined

/** An error. `status`: of its HTTP response. */
export interface RpcRefusal {
  readonly status: number
  /** Absent = the message has none that can be read. */
  readonly id?: RpcId
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The response of an error. */
export const rpcError = ({ code, data, id = null as never, message }: RpcRefusal): object => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, ...(data === undefined ? undefined : { data }) }
})
