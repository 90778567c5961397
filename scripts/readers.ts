/**
 * What readers of event streams that do not read cost the service: opens so many, lets them stand, and says by how much
 * the process that serves them has grown. `node scripts/readers.ts [readers] [messages] [units] [directory]`.
 */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const [, , readers = "2000", messages = "40", units = "50000", ...directory] = process.argv
const token = randomUUID()
const file = fileURLToPath(new URL("readers/Service.ts", import.meta.url))
const service = spawn(
  process.execPath,
  ["--expose-gc", file, token, readers, messages, units, ...directory],
  { stdio: ["pipe", "pipe", "inherit"] }
)
const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]()
const line = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string)

const held = async () => {
  service.stdin.write("\n")
  return (await line()) as Readonly<Record<string, number>>
}

/** One that takes the head of the answer and nothing behind it. */
const open = (port: number, conversation: string) =>
  new Promise<Socket>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () =>
      socket.write(
        `GET /v1/conversations/${conversation}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`
      )
    )
    socket.once("data", (chunk) => {
      socket.pause()
      if (chunk.toString().startsWith("HTTP/1.1 200")) resolve(socket)
      else reject(new Error(chunk.toString().slice(0, 200)))
    })
    socket.once("error", reject)
  })

const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`

const { conversation, port } = (await line()) as { readonly port: number; conversation: string }
const sockets: Array<Socket> = []
// What the first ones load and compile is no reader's.
for (let i = 0; i < 20; i++) sockets.push(await open(port, conversation))
await sleep(2_000)
const before = await held()
while (sockets.length < Number(readers)) {
  const some = Math.min(50, Number(readers) - sockets.length)
  sockets.push(...(await Promise.all(Array.from({ length: some }, () => open(port, conversation)))))
}
await sleep(5_000)
const after = await held()
for (const name of Object.keys(after)) {
  const grown = after[name]! - before[name]!
  const each = Math.round(grown / (Number(readers) - 20))
  console.log(
    `${name}: ${megabytes(before[name]!)} to ${megabytes(after[name]!)}, ${each} bytes a reader`
  )
}
for (const socket of sockets) socket.destroy()
service.kill()
