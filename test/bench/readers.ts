/**
 * What clients that open an event stream and read nothing of it cost the service: opens so many, keeps them open, and
 * prints by how much the memory of the process that serves them has grown.
 */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import type { Socket } from "node:net"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { runCommandLine } from "../../scripts/command/CommandLine.ts"

const count = (name: string, fallback: number, description: string) =>
  Argument.Int(name).pipe(
    Argument.withDescription(`${description} (${fallback})`),
    Argument.withDefault(fallback)
  )

const given = {
  readers: count("readers", 2_000, "streams that are open at the same time"),
  messages: count("messages", 40, "messages of the conversation that they are opened on"),
  units: count("units", 50_000, "characters of each message"),
  directory: Argument.String("directory").pipe(
    Argument.withDescription("where the store is; without it the store is in memory"),
    Argument.optional,
    Argument.map(Option.getOrUndefined)
  )
}
type Given = Command.Command.Config.Infer<typeof given>

/** A connection that takes the head of the answer and nothing behind it. */
const open = (port: number, token: string, conversation: string) =>
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

const Started = Schema.fromJsonString(
  Schema.Struct({ port: Schema.Int, conversation: Schema.String })
)
const Memory = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite))

/** Streams that are open before memory is first read: they load and compile what all of them share. */
const first_readers = 20

const measure = async ({ directory, messages, readers, units }: Given): Promise<void> => {
  const token = randomUUID()
  const file = fileURLToPath(new URL("ReadersService.ts", import.meta.url))
  const numbers = [readers, messages, units].map(String)
  const service = spawn(
    process.execPath,
    ["--expose-gc", file, token, ...numbers, ...(directory === undefined ? [] : [directory])],
    { stdio: ["pipe", "pipe", "inherit"] }
  )
  const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<unknown> => (await lines.next()).value
  const memory = async () => {
    service.stdin.write("\n")
    return Schema.decodeUnknownSync(Memory)(await line())
  }
  const { conversation, port } = Schema.decodeUnknownSync(Started)(await line())
  const sockets: Array<Socket> = []
  for (let i = 0; i < first_readers; i++) sockets.push(await open(port, token, conversation))
  await sleep(2_000)
  const before = await memory()
  while (sockets.length < readers) {
    const length = Math.min(50, readers - sockets.length)
    const opened = Array.from({ length }, () => open(port, token, conversation))
    sockets.push(...(await Promise.all(opened)))
  }
  await sleep(5_000)
  for (const [name, after] of Object.entries(await memory())) {
    const then = before[name] ?? 0
    const each = Math.round((after - then) / (readers - first_readers))
    console.log(`${name}: ${megabytes(then)} to ${megabytes(after)}, ${each} bytes a reader`)
  }
  for (const socket of sockets) socket.destroy()
  service.kill()
}

const command = Command.make("readers", given, (values) =>
  Effect.promise(() => measure(values))
).pipe(
  Command.withDescription("Measures what clients that read nothing of their event stream cost.")
)

await Effect.runPromise(runCommandLine(command))
