/** Amazon's event streams: events of JSON in frames of bytes. */
import { crc32 } from "node:zlib"

const header = (name: string, value: string): Buffer => {
  const said = Buffer.from(value)
  const size = Buffer.alloc(2)
  size.writeUInt16BE(said.length)
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    size,
    said
  ])
}

/** A frame of Amazon's event streams, of `{type: payload}`: lengths, headers, payload, and checks of both. */
export const frame = (event: object): Buffer => {
  const [[type, payload] = ["", {}]] = Object.entries(event)
  const kind = type.endsWith("Exception") ? "exception" : "event"
  const headers = Buffer.concat([
    header(":message-type", kind),
    header(`:${kind}-type`, type),
    header(":content-type", "application/json")
  ])
  const said = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + said.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const before = Buffer.concat([prelude, headers, said])
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(before))
  return Buffer.concat([before, check])
}
