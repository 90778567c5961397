/**
 * Promises that a module's code rejects and nobody awaits. Node would end the process, and after its next start the same call
 * of the same run would end it again, with the runs of everybody.
 */
import { Cause, Effect } from "effect"
import type { Scope } from "effect"
import { exceptionOf, logFault } from "../../layers/runtime/tool/FaultReport.ts"

/** Logs each of them as an error, until the scope closes. An exception that nobody catches still ends the process. */
export const logged: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const log = (reason: unknown): void => {
    fork(logFault("a promise was rejected that nobody awaits", exceptionOf(Cause.die(reason)), {}))
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("unhandledRejection", log)),
    () => Effect.sync(() => process.off("unhandledRejection", log))
  )
})
