/** kill -9 of a service in the middle of a stream: its client goes on with the next process by itself. */
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { createClient } from "troupe/client"
import type { RunPart } from "troupe/client"
import { either } from "../Long.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import { long_text, token } from "./LongText.ts"

const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A stream that is read on its own, and who waits for a part of it. */
const reading = (parts: AsyncIterable<RunPart>) => {
  const seen: Array<RunPart> = []
  const waiting = new Set<() => void>()
  const read = (async () => {
    for await (const part of parts) {
      seen.push(part)
      for (const wake of waiting) wake()
    }
  })()
  const until = (holds: () => boolean) =>
    Promise.race([
      read,
      new Promise<void>((resolve) => {
        const wake = () => {
          if (holds()) resolve()
        }
        waiting.add(wake)
        wake()
      })
    ])
  return { seen, read, until }
}

// On PostgreSQL too in the long form.
for (const [engine, home] of Homes.both.toReversed().slice(0, either(1, 2))) {
  it.live(
    `kill -9 on ${engine}: a stream goes on without loss or repetition, and a message that was sent meanwhile makes one run`,
    () =>
      Effect.gen(function* () {
        const store = yield* home
        const port = yield* freePort
        const begin = Effect.tap(
          Children.start("test/client/clientshop.ts", [JSON.stringify(store), String(port)]),
          (child) => child.printed("listens")
        )
        const child = yield* begin
        // As long as the next process needs to start, on a machine that is busy.
        const client = createClient({ url: `http://127.0.0.1:${port}`, token, retries_max: 30 })
        const { read, seen, until } = reading(client.stream({ agent: "clerk", text: "pay" }))
        const texts = () => seen.filter(({ type }) => type === "text")
        const asked = () =>
          seen.flatMap((part) =>
            part.type === "event" && part.event._tag === "ApprovalRequested" ? [part.event] : []
          )
        yield* Effect.promise(() => until(() => asked().length === 1))
        // While it waits for a person.
        yield* child.kill
        const decided = client.decide(asked()[0]!.approval, { decision: "approve" })
        const next = yield* begin
        yield* Effect.promise(() => decided)
        yield* Effect.promise(() => until(() => texts().length >= 5))
        // In the middle of a turn.
        assert.isBelow(texts().length, 100)
        yield* next.kill
        const sent = client.send({ agent: "clerk", text: "hello" })
        yield* begin
        yield* Effect.promise(() => read)
        const seqs = seen.flatMap((part) => (part.type === "event" ? [part.seq] : []))
        assert.deepStrictEqual(seqs, [...seqs.keys()])
        assert.lengthOf(
          seen.filter(({ type }) => type === "begun"),
          1
        )
        // Both processes write the same text, so that the turn goes on where it was cut off.
        assert.strictEqual(
          texts()
            .map((part) => part.type === "text" && part.text)
            .join(""),
          long_text
        )
        const last = seen.at(-1)
        assert(last?.type === "end")
        assert.include(last.answer, { status: "complete", text: long_text })
        const { run } = yield* Effect.promise(() => sent)
        const { items } = yield* Effect.promise(() => client.runs())
        assert.lengthOf(items, 2)
        assert.strictEqual(items[0]?.id, run)
      }).pipe(Effect.scoped),
    300_000
  )
}
