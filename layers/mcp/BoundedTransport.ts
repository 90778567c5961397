/**
 * Messages of a server within the bounds of JSON that comes from outside: what nests deeper, or holds more values, never
 * reaches the client. An answer beyond them is an error for whoever waits for it. Private to this room.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import { isWithin } from "../../src/entry/BoundedJson.ts"

/** JSON-RPC's code for a failure within; the text is shown with the tool's failure. */
const beyond = { code: -32603, message: "its answer nests too deep, or holds too many values" }

/** The same message, or an error in the place of an answer; undefined where nobody waits for it. */
const withinBounds = (message: JSONRPCMessage): JSONRPCMessage | undefined => {
  if (isWithin(message)) return message
  const id = "id" in message && !("method" in message) ? message.id : undefined
  return id === undefined ? undefined : ({ jsonrpc: "2.0", id, error: beyond } as JSONRPCMessage)
}

/** The same transport: what its client puts in the place of `onmessage` hears only what is within the bounds. */
export const bounded = <T extends Transport>(transport: T): T => {
  let heard: Transport["onmessage"]
  const hears: NonNullable<Transport["onmessage"]> = (message, extra) => {
    const within = withinBounds(message)
    if (within !== undefined) heard?.(within as never, extra)
  }
  return Object.defineProperty(transport, "onmessage", {
    configurable: true,
    get: () => (heard === undefined ? undefined : hears),
    set: (listener: Transport["onmessage"]) => {
      heard = listener
    }
  })
}
