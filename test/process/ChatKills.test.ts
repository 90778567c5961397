/** kill -9 under a chat of the AI SDK: within a text, and while a question is open. The page goes on with the next process. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Chat } from "@ai-sdk/react"
import { assert, it } from "@effect/vitest"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { Effect } from "effect"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"

const said = /serving (\S+)\n/

const until = (holds: () => boolean) =>
  Effect.gen(function* () {
    while (!holds()) yield* Effect.sleep(5)
  })

for (const [engine, home] of Homes.some) {
  it.live(
    `kill -9 on ${engine}: a chat goes on within its text and behind its question, and pays once`,
    () =>
      Effect.gen(function* () {
        const store = JSON.stringify(yield* home)
        const folder = mkdtempSync(join(tmpdir(), "troupe-chat-"))
        yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
        const paid = join(folder, "paid")
        writeFileSync(paid, "")
        let url = ""
        const serve = Effect.gen(function* () {
          const child = yield* Children.start("test/process/chatter.ts", [store, paid])
          yield* child.printed(said)
          url = said.exec(child.text())?.[1] ?? ""
          return child
        })
        const chat = new Chat({
          transport: new DefaultChatTransport({
            api: "http://service/wires/ui-messages/shop",
            headers: { authorization: "Bearer a-token-for-carl-of-the-shop" },
            fetch: (input, init) => fetch(String(input).replace("http://service", url), init)
          }),
          sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
        })
        const parts = () => (chat.messages[1]?.role === "assistant" ? chat.messages[1].parts : [])
        const text = () => parts().flatMap((part) => (part.type === "text" ? [part.text] : []))
        const call = () => parts().find((part) => part.type === "dynamic-tool")

        const first = yield* serve
        void chat.sendMessage({ text: "Pay me back." })
        yield* until(() => (text()[0]?.length ?? 0) > 8)
        yield* first.kill
        yield* until(() => chat.status === "error")
        const before = chat.messages[1]?.id

        const second = yield* serve
        yield* Effect.promise(() => chat.resumeStream())
        yield* until(() => call()?.state === "approval-requested" && chat.status === "ready")
        assert.strictEqual(chat.messages[1]?.id, before)
        assert.deepStrictEqual(text(), ["That is 40 euros, which I pay back at once."])
        yield* second.kill

        yield* serve
        yield* Effect.promise(async () => {
          const id = call()?.approval?.id ?? ""
          await chat.addToolApprovalResponse({ id, approved: true })
        })
        yield* until(() => text().length === 2 && chat.status === "ready")
        assert.deepStrictEqual(text()[1], "It is paid back.")
        assert.strictEqual(call()?.state, "output-available")
        assert.strictEqual(readFileSync(paid, "utf8"), "1003\n")
        assert.lengthOf(chat.messages, 2)
      }).pipe(Effect.scoped),
    120_000
  )
}
