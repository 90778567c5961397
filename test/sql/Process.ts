/**
 * A script in a process of its own, which is killed when the scope closes.
 */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { Deferred, Effect } from "effect"
import { flags, runnable } from "../process/Bundle.ts"

export interface Process {
  readonly pid: number
  /** Whole lines that it has printed so far. */
  readonly lines: () => ReadonlyArray<string>
  /** Waits for a number of lines; dies if the process ends before. */
  readonly printed: (count: number) => Effect.Effect<void>
  /** kill -9, and gone. */
  readonly kill: Effect.Effect<void>
}

const ended = (child: ChildProcess) =>
  Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
  })

/** `script` is a path from the repository's root. */
export const run = Effect.fnUntraced(function* (script: string, ...args: ReadonlyArray<string>) {
  let text = ""
  let errors = ""
  const wakeups = new Set<() => void>()
  const wake = () => {
    for (const wakeup of wakeups) wakeup()
  }
  const { compiled, file } = yield* runnable(script)
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled }
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [...flags, file, ...args], { env })),
    (child) =>
      Effect.andThen(
        Effect.sync(() => child.kill("SIGKILL")),
        ended(child)
      )
  )
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString()
    wake()
  })
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
  child.once("exit", wake)
  const lines = () => text.split("\n").slice(0, -1)
  const self: Process = {
    pid: child.pid!,
    lines,
    printed: (count) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<void>()
        const wakeup = () => {
          if (lines().length >= count) Deferred.doneUnsafe(done, Effect.void)
          else if (child.exitCode !== null) {
            Deferred.doneUnsafe(done, Effect.die(new Error(`${script} ended: ${errors}`)))
          }
        }
        wakeups.add(wakeup)
        wakeup()
        return Effect.ensuring(
          Deferred.await(done),
          Effect.sync(() => wakeups.delete(wakeup))
        )
      }),
    kill: Effect.andThen(
      Effect.sync(() => child.kill("SIGKILL")),
      ended(child)
    )
  }
  return self
})
