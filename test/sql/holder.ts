/** A process that takes the data directory of its first argument, says so, and holds it until it is killed. */
import { Effect, Exit } from "effect"
import * as DirectoryLock from "../../layers/sql/engine/DirectoryLock.ts"

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const exit = yield* Effect.exit(DirectoryLock.acquire(process.argv[2]!))
      process.stdout.write(Exit.isSuccess(exit) ? "held\n" : `${JSON.stringify(exit)}\n`)
      // Waiting for nothing does not keep a process alive.
      while (Exit.isSuccess(exit)) yield* Effect.sleep("1 minute")
    })
  )
)
