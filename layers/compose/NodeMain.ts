/**
 * One program as a whole Node process. A signal that asks it to end interrupts it, so that its scopes close in their
 * order; only then does the process end, with the code by which a shell or a supervisor knows that signal.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Runtime } from "effect"
import type { Effect } from "effect"

/** 128 and the signal's number, as shells and init systems have it. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const

/** The default's code of a program that was interrupted, by whatever. */
const interrupted = 130

/**
 * Runs it until it ends or a signal ends it. What ends it otherwise keeps its own code: a program that fails while it is
 * being stopped says so with 1.
 */
export const run = <A, E>(
  program: Effect.Effect<A, E>,
  options: { readonly disableErrorReporting?: boolean } = {}
): void => {
  let first: keyof typeof codes | undefined
  const note = (signal: NodeJS.Signals) => {
    first ??= signal as keyof typeof codes
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
