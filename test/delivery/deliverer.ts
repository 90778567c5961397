/**
 * A process that writes a message, prints that, and waits to be killed: before it sends (no third argument), or between
 * the receiver's answer and its report to the outbox (the receiver's URL as the third argument).
 */
import { Effect, Layer } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import * as Deliveries from "./Deliveries.ts"

const [engine, place, url] = process.argv.slice(2) as [string, string, string | undefined]
const print = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

await Effect.runPromise(
  Effect.gen(function* () {
    const outbox = yield* Outbox
    yield* outbox.enqueue([Deliveries.message])
    yield* print("written")
    if (url !== undefined) {
      yield* Layer.build(Deliveries.relay(url, Effect.andThen(print("answered"), Effect.never)))
    }
    // A pending promise does not keep a process alive, and a timer does.
    while (true) yield* Effect.sleep("1 minute")
  }).pipe(Effect.scoped, Effect.provide(Deliveries.stores(engine, place)))
)
