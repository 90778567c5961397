/**
 * Exchanges JSON-RPC lines with a local program. The program is started without a shell, in a process group of its own that is
 * killed with the connection, so that forked processes end too. The official transport has neither process groups nor bounds on
 * what a server sends.
 */
import { spawn } from "node:child_process"
import type { ChildProcessByStdio } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { Redacted } from "effect"
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import type { McpStdioServer } from "../../src/mcp/McpServer.ts"
import * as OrphanWatch from "../network/OrphanWatch.ts"
import { judgedText, legible } from "./MessageText.ts"
import type { Sdk } from "./Sdk.ts"

type Child = ChildProcessByStdio<Writable, Readable, Readable>

/** How long a program may take to end after its input was closed, and again after SIGTERM. */
const grace_ms = 1_000
/** How long output is still read after the program has ended, from a child process that kept it open. */
const drain_ms = 250
const unasked_per_s_max = 1_000
/** The bound on lines that are not JSON; beyond it the connection ends. */
const garbage_lines_max = 1_000
const unread_bytes_max = 16_000_000
const complaint_chars_max = 2_000

/** Process groups that are alive; they are killed when this process exits without closing its scopes. */
const groups = new Set<number>()

const signal = (group: number, name: NodeJS.Signals): void => {
  try {
    process.kill(-group, name)
  } catch {
    // The group has ended already.
  }
}

const endAll = (): void => {
  for (const group of groups) signal(group, "SIGKILL")
}

const remember = (group: number): void => {
  if (groups.size === 0) process.on("exit", endAll)
  groups.add(group)
  OrphanWatch.watch(group)
}

const forget = (group: number): void => {
  groups.delete(group)
  OrphanWatch.unwatch(group)
  if (groups.size === 0) process.off("exit", endAll)
}

const environmentOf = (server: McpStdioServer): Record<string, string> => {
  const environment: Record<string, string> = {}
  for (const name of server.inherit ?? []) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  for (const [name, value] of Object.entries(server.env ?? {})) {
    environment[name] = Redacted.isRedacted(value) ? Redacted.value(value) : value
  }
  return environment
}

const isDoneWithin = async (done: Promise<unknown>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const first = await Promise.race([done.then(() => true), late])
  clearTimeout(timer)
  return first
}

export class StdioTransport implements Transport {
  onclose: (() => void) | undefined
  onerror: ((error: Error) => void) | undefined
  onmessage: ((message: JSONRPCMessage) => void) | undefined

  readonly #sdk: Sdk
  readonly #server: McpStdioServer
  readonly #message_bytes_max: number
  #child: Child | undefined
  #exited: Promise<void> = Promise.resolve()
  #stopping: Promise<void> | undefined
  #parts: Array<Buffer> = []
  #size = 0
  #garbage = 0
  #second = 0
  #unasked = 0
  #complaint = ""
  #isClosed = false

  constructor(sdk: Sdk, server: McpStdioServer, message_bytes_max: number) {
    this.#sdk = sdk
    this.#server = server
    this.#message_bytes_max = message_bytes_max
  }

  get complaint(): string {
    return this.#complaint
  }

  /** By these two members the client knows a program: it may ask one that does not answer in another way. */
  get pid(): number | null {
    return this.#child?.pid ?? null
  }
  get stderr(): Readable | null {
    return this.#child?.stderr ?? null
  }

  start(): Promise<void> {
    const { args = [], cwd, program } = this.#server
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        cwd,
        env: environmentOf(this.#server),
        stdio: ["pipe", "pipe", "pipe"],
        shell: false,
        detached: true,
        windowsHide: true
      })
      this.#child = child
      this.#exited = new Promise((done) => {
        child.once("error", (error) => {
          reject(error)
          done()
        })
        child.once("exit", () => {
          this.#left(child)
          done()
        })
      })
      child.once("spawn", () => {
        if (child.pid !== undefined) remember(child.pid)
        resolve()
      })
      child.stdin.on("error", (error) => this.onerror?.(error))
      child.stdout.on("error", (error) => this.onerror?.(error))
      child.stdout.on("data", (chunk: Buffer) => this.#read(chunk))
      child.stderr.on("error", () => {})
      child.stderr.on("data", (chunk: Buffer) => {
        this.#complaint = (this.#complaint + chunk.toString("utf8")).slice(-complaint_chars_max)
      })
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child
    if (child === undefined || this.#isClosed || !child.stdin.writable) {
      return Promise.reject(new Error("the program has ended", { cause: { code: "ENOTCONN" } }))
    }
    if (child.stdin.writableLength > unread_bytes_max) {
      const cause = { code: "ENOTCONN" }
      return Promise.reject(new Error("the program does not read what it is sent", { cause }))
    }
    child.stdin.write(`${JSON.stringify(message)}\n`)
    return Promise.resolve()
  }

  /** Resolves when no process of the group is left. */
  close(): Promise<void> {
    return (this.#stopping ??= this.#stop())
  }

  async #stop(): Promise<void> {
    const child = this.#child
    if (child?.pid !== undefined) {
      child.stdin.end()
      if (!(await isDoneWithin(this.#exited, grace_ms))) signal(child.pid, "SIGTERM")
      if (!(await isDoneWithin(this.#exited, grace_ms))) signal(child.pid, "SIGKILL")
      await this.#exited
    }
    this.#closed()
  }

  #left(child: Child): void {
    const group = child.pid
    if (group !== undefined) {
      signal(group, "SIGKILL")
      forget(group)
    }
    // Output that it wrote before it ended is still read.
    const drained = new Promise<void>((resolve) => child.stdout.once("end", resolve))
    void isDoneWithin(drained, drain_ms).then(() => this.#closed())
  }

  #closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#parts = []
    this.#child?.stdout.destroy()
    this.#child?.stderr.destroy()
    this.#child?.stdin.destroy()
    this.onclose?.()
  }

  /** Ends the connection because the server exceeded a bound, after which messages may be incomplete. */
  #break(message: string): void {
    this.onerror?.(new Error(message))
    this.#child?.stdout.destroy()
    if (this.#child?.pid !== undefined) signal(this.#child.pid, "SIGKILL")
    void this.close()
  }

  #read(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(10, from)
      if (end < 0) break
      const last = chunk.subarray(from, end)
      from = end + 1
      if (this.#size + last.length > this.#message_bytes_max) return this.#tooLarge()
      const line = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])
      this.#parts = []
      this.#size = 0
      this.#line(line.toString("utf8").trim())
      if (this.#isClosed || this.#stopping !== undefined) return
    }
    if (from === chunk.length) return
    const rest = chunk.subarray(from)
    this.#parts.push(rest)
    this.#size += rest.length
    if (this.#size > this.#message_bytes_max) this.#tooLarge()
  }

  #tooLarge(): void {
    this.#parts = []
    this.#size = 0
    this.#break(`the server sent a message of more than ${this.#message_bytes_max} bytes`)
  }

  #line(line: string): void {
    if (line === "") return
    let message: unknown
    try {
      message = JSON.parse(judgedText(line) ?? "")
    } catch {
      message = undefined
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      this.#garbage++
      if (this.#garbage > garbage_lines_max) this.#break("the server writes lines that are no JSON")
      return
    }
    if ("method" in message && this.#isFlood()) return
    this.onmessage?.(legible(this.#sdk, message as JSONRPCMessage))
  }

  #isFlood(): boolean {
    const second = Math.floor(performance.now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#unasked = 0
    }
    this.#unasked++
    return this.#unasked > unasked_per_s_max
  }
}
