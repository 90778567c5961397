/**
 * Runs one program in a process group of its own, which is killed when the program ends, when its time is over, or when
 * its caller is interrupted, and also when this process is killed (`OrphanWatch`). A process that leaves the group (`setsid`) is
 * not killed.
 */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { Effect } from "effect"
import * as OrphanWatch from "../network/OrphanWatch.ts"

export interface Command {
  /** An absolute path. */
  readonly file: string
  /** What the program is told that it was called. */
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  /** All of it: nothing of this process's own environment is added. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | undefined
  readonly timeout_ms: number
  /** Of each of the two outputs. */
  readonly output_bytes_max: number
}

export interface EndedProcess {
  readonly exit_code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timed_out: boolean
}

/** Output that is still in the pipe when a program has ended is waited for so long. */
const flush_ms = 500

/** Kills what is left of a group; a group that has ended is no error. */
const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    child.kill("SIGKILL")
  }
}

/** Keeps the beginning of an output, up to whole characters, and goes on reading, so that the program is not held up. */
const kept = (stream: NodeJS.ReadableStream | null, bytes_max: number) => {
  const chunks: Array<Buffer> = []
  let [length, truncated] = [0, false]
  stream?.on("data", (chunk: Buffer) => {
    const room = bytes_max - length
    if (chunk.length > room) truncated = true
    if (room <= 0) return
    chunks.push(chunk.subarray(0, room))
    length += Math.min(chunk.length, room)
  })
  stream?.on("error", () => undefined)
  return () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    // A character that the cut divided is left out; the rest of one that the program never finished is shown as such.
    return { text: decoder.decode(Buffer.concat(chunks), { stream: truncated }), truncated }
  }
}

/** Fails with the system's code where the program could not be started. Interrupting it kills the group, and waits. */
export const run = (command: Command): Effect.Effect<EndedProcess, string> =>
  Effect.callback<EndedProcess, string>((resume) => {
    let child: ChildProcess
    try {
      child = spawn(command.file, command.args, {
        argv0: command.name,
        cwd: command.cwd,
        env: { ...command.env },
        shell: false,
        detached: true,
        windowsHide: true,
        stdio: ["pipe", "pipe", "pipe"]
      })
    } catch (error) {
      return resume(Effect.fail(codeOf(error)))
    }
    const group = child.pid
    if (group !== undefined) OrphanWatch.watch(group)
    const [stdout, stderr] = [
      kept(child.stdout, command.output_bytes_max),
      kept(child.stderr, command.output_bytes_max)
    ]
    let timed_out = false
    const timer = setTimeout(() => {
      timed_out = true
      killGroup(child)
    }, command.timeout_ms)
    child.on("error", (error) => {
      clearTimeout(timer)
      resume(Effect.fail(codeOf(error)))
    })
    child.on("exit", () => {
      clearTimeout(timer)
      // Whatever it left behind in its group ends with it; then the pipes are read to their end.
      killGroup(child)
      if (group !== undefined) OrphanWatch.unwatch(group)
      setTimeout(() => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, flush_ms).unref()
    })
    child.on("close", (exit_code, signal) => {
      const [out, err] = [stdout(), stderr()]
      resume(
        Effect.succeed({
          exit_code,
          signal,
          stdout: out.text,
          stderr: err.text,
          truncated: out.truncated || err.truncated,
          timed_out
        })
      )
    })
    // A program that reads nothing breaks the pipe, which is no fault.
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(command.stdin)
    return Effect.callback<void>((over) => {
      clearTimeout(timer)
      // What has exited was killed with its group then; later its number may be somebody else's.
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
        return over(Effect.void)
      }
      child.on("exit", () => over(Effect.void))
      killGroup(child)
    })
  })

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "UNKNOWN"
