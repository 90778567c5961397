/**
 * Programs that the checks and the tests start: their output is kept or shown, and none runs for ever.
 */
import { spawn } from "node:child_process"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Ran {
  readonly ok: boolean
  /** How it ended where it did not end well, for example "it ended with 1". */
  readonly how: string
  readonly output: string
  /** The last of what it printed, of a program whose output was shown too. */
  readonly tail: string
  readonly ms: number
}

/** What a program may print before the rest of it is left out. */
const output_bytes_max = 400_000
/** What is kept of the end of its output, in UTF-16 units. */
const tail_max = 20_000
export type Form = "short" | "full"

const env: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`
}
if (!process.stdout.isTTY) {
  delete env.FORCE_COLOR
  env.NO_COLOR = "1"
}

/** A program to its end, at most `timeout_ms`. Its output is kept, or given to `live` at once, up to a bound. */
export const run = (
  program: string,
  args: ReadonlyArray<string>,
  options: {
    readonly timeout_ms: number
    readonly live?: (text: string) => void
    readonly form?: Form
    /** Beside those of this process. */
    readonly env?: NodeJS.ProcessEnv
    /** Where it and what it starts keep their files. */
    readonly folder?: string
  }
): Promise<Ran> =>
  new Promise((settle) => {
    const began = performance.now()
    const chunks: Array<string> = []
    const child = spawn(program, args, {
      cwd: root,
      env: {
        ...env,
        ...options.env,
        TROUPE_TEST: options.form ?? "short",
        ...(options.folder === undefined ? {} : { TMPDIR: options.folder })
      },
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32"
    })
    let late = false
    const timer = setTimeout(() => {
      late = true
      child.kill("SIGTERM")
      setTimeout(() => child.kill("SIGKILL"), 5_000).unref()
    }, options.timeout_ms)
    let bytes = 0
    let tail = ""
    const keep = (chunk: Buffer) => {
      bytes += chunk.length
      tail = (tail + chunk.toString()).slice(-tail_max)
      if (bytes - chunk.length > output_bytes_max) return
      if (options.live !== undefined) options.live(chunk.toString())
      else chunks.push(chunk.toString())
      if (bytes > output_bytes_max) {
        chunks.push("\n... the rest is left out; run one file: npm test -- test/some/path\n")
      }
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    let done = false
    const end = (ok: boolean, how: string, note = "") => {
      if (done) return
      done = true
      clearTimeout(timer)
      const stopped = `it was stopped after ${seconds(options.timeout_ms)}`
      settle({
        ok: ok && !late,
        how: late ? stopped : how,
        output: chunks.join("") + note + (late ? `${stopped}\n` : ""),
        tail,
        ms: performance.now() - began
      })
    }
    child.on("error", ({ message }) =>
      end(false, `it did not start: ${message}`, `${program} did not start: ${message}\n`)
    )
    child.on("close", (code, signal) => end(code === 0, `it ended with ${code ?? signal}`))
  })

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
