/**
 * A process that writes a message, says so, and then waits to be killed: before it sends (no third argument), or after
 * the receiver's answer and before that is written down (the receiver's URL as the third argument).
 */
import { Effect, Layer } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import * as Deliveries from "./Deliveries.ts"

const [engine, place, url] = process.argv.slice(2) as [string, string, string | undefined]
const say = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

await Effect.runPromise(
  Effect.gen(function* () {
    const outbox = yield* Outbox
    yield* outbox.enqueue([Deliveries.message])
    yield* say("written")
    if (url !== undefined) {
      yield* Layer.build(Deliveries.relay(url, Effect.andThen(say("answered"), Effect.never)))
    }
    // Waiting for nothing does not keep a process alive.
    while (true) yield* Effect.sleep("1 minute")
  }).pipe(Effect.scoped, Effect.provide(Deliveries.stores(engine, place)))
)
