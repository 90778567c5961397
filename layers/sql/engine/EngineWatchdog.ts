/**
 * Ends the process where its embedded database stands still: PostgreSQL in the process runs on its only thread, so that a statement
 * that never returns takes requests, signals and timers with it. Another thread watches.
 */
import { writeSync } from "node:fs"
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import type { Scope } from "effect"

/** How long a statement may neither return nor use a file, in ms. */
export const still_ms_default = 60_000

/** The time between two looks, in ms. What is counted are looks, because a process that was stopped is not at fault. */
const look_ms = 1_000

const stderr = 2

const lastWords = (reason: string): string =>
  `troupe: ${reason}. This process ends; what it acknowledged is stored, and its next start goes on.\n`

/**
 * Ends the process as `kill -9` does, because nothing in it can end in order without the engine. Its supervisor sees SIGKILL, or
 * the exit code 137. Nothing that was acknowledged is lost.
 */
export const endProcess = (reason: string): void => {
  try {
    writeSync(stderr, lastWords(reason))
  } catch {
    // Nobody reads it.
  }
  process.kill(process.pid, "SIGKILL")
}

/** The other thread's program. It is text, because a bundle has no files beside it. While a statement runs, the number is odd. */
const program = `
const { writeSync } = require("node:fs")
const { workerData } = require("node:worker_threads")
const { beats, look_ms, looks_max, words } = workerData
let last = 0
let looks = 0
setInterval(() => {
  const now = Atomics.load(beats, 0)
  looks = now === last && now % 2 !== 0 ? looks + 1 : 0
  last = now
  if (looks < looks_max) return
  try { writeSync(${stderr}, words) } catch {}
  process.kill(process.pid, "SIGKILL")
}, look_ms)
`

export interface EngineWatchdog {
  /** A statement begins, or has ended. */
  readonly turn: () => void
  /** The running statement goes on. */
  readonly used: () => void
}

/** Watches until the scope closes. `still_ms` is at least 1,000. */
export const start = (still_ms: number): Effect.Effect<EngineWatchdog, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const beats = new Int32Array(new SharedArrayBuffer(4))
        const reason = `the embedded database stands still: a statement has done nothing for ${still_ms / 1_000} s`
        const looks_max = Math.ceil(still_ms / look_ms)
        const workerData = { beats, look_ms, looks_max, words: lastWords(reason) }
        const worker = new Worker(program, { eval: true, workerData, env: {}, execArgv: [] })
        worker.unref()
        return { beats, worker }
      }),
      ({ worker }) => Effect.promise(() => worker.terminate())
    ),
    ({ beats }) => ({
      turn: () => void Atomics.add(beats, 0, 1),
      used: () => void Atomics.add(beats, 0, 2)
    })
  )
