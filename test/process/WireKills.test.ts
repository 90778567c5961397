/** kill -9 under clients of wires: within a text, and while a question is open. They go on with the next process. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import { wire_clients } from "./WireClients.ts"
import type { Send } from "./WireClients.ts"

const serving = /serving (\S+)\n/
const first_text = "That is 40 euros, which I pay back at once."

const until = (holds: () => boolean) =>
  Effect.gen(function* () {
    while (!holds()) yield* Effect.sleep(5)
  })

/** How often a service was asked by its clients, which is told where it is. */
const makeService = (store: string, paid: string) => {
  const at = { url: "" }
  const send: Send = (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input)
    const headers = new Headers(init?.headers)
    headers.set("authorization", "Bearer a-token-for-carl-of-the-shop")
    return fetch(at.url + pathname + search, { ...init, headers })
  }
  const serve = Effect.gen(function* () {
    const child = yield* Children.start("test/process/chatter.ts", [store, paid])
    yield* child.printed(serving)
    at.url = serving.exec(child.text())?.[1] ?? ""
    return child
  })
  return { send, serve }
}

for (const [engine, home] of Homes.some) {
  describe(`kill -9 on ${engine}`, () => {
    for (const [wire, clientOf] of Object.entries(wire_clients)) {
      it.live(
        `a client of ${wire} goes on within its text and behind its question, and pays once`,
        () =>
          Effect.gen(function* () {
            const store = JSON.stringify(yield* home)
            const folder = mkdtempSync(join(tmpdir(), "troupe-wire-"))
            yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
            const paid = join(folder, "paid")
            writeFileSync(paid, "")
            const { send, serve } = makeService(store, paid)

            const first = yield* serve
            const client = clientOf(send)
            let isOver = false
            const over = () => {
              isOver = true
            }
            client.say("Pay me back.").then(over, over)
            // A host of MCP is told nothing before the end: then it is within the text.
            yield* wire === "mcp" ? first.printed("asked\n") : until(() => client.said().length > 8)
            yield* first.kill
            yield* until(() => isOver)

            const second = yield* serve
            yield* Effect.promise(client.resume)
            assert.strictEqual(client.said(), first_text)
            yield* second.kill

            yield* serve
            yield* Effect.promise(client.approve)
            assert.strictEqual(client.said(), `${first_text} It is paid back.`)
            assert.strictEqual(readFileSync(paid, "utf8"), "1003\n")
          }).pipe(Effect.scoped),
        120_000
      )
    }
  })
}
