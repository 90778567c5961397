/**
 * Runs one program as a Node process. SIGINT and SIGTERM interrupt it, so that its scopes close in order; then the
 * process exits with the code that shells and supervisors expect for that signal. A second signal ends it at once: nothing
 * that was acknowledged is lost then, as nothing is by kill -9.
 */
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import { Runtime } from "effect"
import type { Effect } from "effect"

/** 128 plus the signal's number, the convention of shells and init systems. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * A signal that comes sooner after the first, in ms, is the same one: a terminal sends Ctrl-C to npm and to this process, and npm
 * passes its own on.
 */
const second_after_ms = 500

/** The exit code of an interrupted program by default. */
const interrupted = 130

/**
 * Runs the program until it ends or a signal interrupts it. In all other cases it has its own exit code: a program that fails
 * while it is stopping exits with 1.
 */
export const run = <A, E>(
  program: Effect.Effect<A, E>,
  options: {
    /** True = a failure of the program is not printed. Absent = it is. */
    readonly disableErrorReporting?: boolean
  } = {}
): void => {
  let first: keyof typeof codes | undefined
  let first_at = 0
  const note = (given: NodeJS.Signals) => {
    const signal = given as keyof typeof codes
    if (first === undefined) {
      first = signal
      first_at = performance.now()
    } else if (performance.now() - first_at >= second_after_ms) {
      process.stderr.write(`a second ${signal}: this process ends at once\n`)
      process.exit(codes[signal])
    }
  }
  for (const signal of Object.keys(codes)) process.on(signal, note)
  NodeRuntime.runMain(program, {
    ...options,
    teardown: (exit, onExit) => {
      for (const signal of Object.keys(codes)) process.off(signal, note)
      Runtime.defaultTeardown(exit, (code) =>
        onExit(code === interrupted && first !== undefined ? codes[first] : code)
      )
    }
  })
}
