/** Bodies and errors of the wires that speak JSON-RPC. */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { readJson } from "../../../src/value/BoundedJson.ts"
import type { RpcRefusal } from "../../../src/wire/JsonRpc.ts"
import { rpc_codes, rpcError } from "../../../src/wire/JsonRpc.ts"
import type { WireCall } from "./WireRequest.ts"
import { readBody } from "./WireRequest.ts"

export const respondError = (refusal: RpcRefusal) =>
  HttpServerResponse.jsonUnsafe(rpcError(refusal), { status: refusal.status })

/** A refusal with a code of the protocol. */
export class Refused {
  readonly refusal: Omit<RpcRefusal, "id">

  constructor(refusal: Omit<RpcRefusal, "id">) {
    this.refusal = refusal
  }
}
export const refuse = (refusal: Omit<RpcRefusal, "id">) => Effect.fail(new Refused(refusal))

/** The JSON of a body of at most so many bytes, within the bounds of all JSON, or why it is none. Fails with 413 and 415. */
export const rpcBody = (call: WireCall, bytes_max: number) =>
  Effect.map(
    readBody(call, (text) => Effect.succeed(readJson(text)), bytes_max),
    Result.mapError(({ message, reason }): RpcRefusal =>
      reason === "too_large"
        ? { status: 413, code: rpc_codes.request, message: `Of the body: ${message}.` }
        : { status: 400, code: rpc_codes.parse, message: `The body is not JSON: ${message}.` }
    )
  )
