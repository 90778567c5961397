/** The client over real HTTP: messages, streams, decisions, files, typed answers and errors, on each kind of store. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Client, RunPart, TroupeError } from "troupe/client"
import { createClient } from "troupe/client"
import { z } from "zod"
import { either } from "../Long.ts"
import type { Shop, Who } from "../wires/WireScene.ts"
import { held, picture, ran, shop, tokens } from "../wires/WireScene.ts"

const refusal = (promise: Promise<unknown>): Promise<TroupeError> =>
  promise.then(
    () => assert.fail("it was not refused"),
    (error: TroupeError) => error
  )

const all = async <A>(items: AsyncIterable<A>): Promise<Array<A>> => {
  const found: Array<A> = []
  for await (const item of items) found.push(item)
  return found
}

const textOf = (parts: ReadonlyArray<Pick<RunPart, "type">>): string =>
  (parts as ReadonlyArray<RunPart>).map((part) => (part.type === "text" ? part.text : "")).join("")

const folder = mkdtempSync(join(tmpdir(), "troupe-client-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const stores = [
  ["ephemeral stores", undefined],
  ["PGlite", { directory: join(folder, "db") }]
] as const

for (const [engine, store] of stores.slice(0, either(1, 2))) {
  describe(`a client of ${engine}`, () => {
    let troupe: Shop
    const of = (who: Who, more: object = {}): Client =>
      createClient({ url: troupe.url ?? "", token: tokens[who], ...more })
    beforeAll(async () => {
      troupe = await shop(store === undefined ? {} : { store })
    }, 240_000)
    afterAll(() => troupe.stop())

    it("streams a run to its end: its text in pieces, each event once and in order, and the answer", async () => {
      const parts = await all(of("olga").stream({ agent: "clerk", text: "look 1003" }))
      assert.strictEqual(parts[0]?.type, "begun")
      assert.strictEqual(textOf(parts), "One moment.Done with look 1003.")
      const seqs = parts.flatMap((part) => (part.type === "event" ? [part.seq] : []))
      assert.deepStrictEqual(seqs, [...seqs.keys()])
      const last = parts.at(-1)
      assert(last?.type === "end")
      assert.include(last.answer, { status: "complete", text: "Done with look 1003." })
    })

    it("goes on behind the cursor of every part, with the same text and events", async () => {
      const client = of("carl")
      const parts = await all(client.stream({ agent: "clerk", text: "look 7" }))
      const [begun] = parts
      assert(begun?.type === "begun")
      const { conversation, run } = begun
      assert.isAtLeast(parts.length, 6)
      for (const [at, part] of parts.entries()) {
        if (part.type === "end") continue
        const rest = await all(client.stream({ run, conversation, after: part.cursor }))
        const now = parts.slice(0, at + 1)
        assert.strictEqual(textOf([...now, ...rest]), textOf(parts), part.type)
        const events = (some: typeof parts) =>
          some.flatMap((each) => (each.type === "event" ? [each.seq] : []))
        assert.deepStrictEqual([...events(now), ...events(rest)], events(parts))
        assert.deepStrictEqual(rest.at(-1), parts.at(-1))
      }
      const sent = await client.send({ conversation, text: "again" })
      assert.strictEqual(sent.ordinal, 2)
      assert.strictEqual(textOf(await all(client.stream(sent))), "You said: again")
    })

    it("answers questions in each way, and tells who comes late", async () => {
      ran.length = 0
      const client = of("olga")
      const answered = async (
        text: string,
        ...decisions: Array<Parameters<Client["decide"]>[1]>
      ) => {
        let answer = await client.ask({ agent: "clerk", text })
        for (const decision of decisions) {
          assert(answer.status === "awaiting_approval")
          const [question] = answer.approvals
          assert(question?.payload.tool_name === "refund")
          await client.decide(question.id, decision)
          const { run, conversation } = answer
          answer = await client.result({ run, conversation })
          const late = await refusal(client.decide(question.id, { decision: "approve" }))
          assert.include(late, { _tag: "ApprovalSettled", status: 409, retryable: false })
        }
        return answer
      }
      const ends = [
        await answered("refund 1", { decision: "approve" }),
        await answered("refund 2", { decision: "deny", reason: "fraud" }),
        await answered("refund 3", { decision: "modify", arguments: { order: "33" } }),
        await answered("refund 4", { decision: "request_revision", note: "the other one" })
      ]
      assert.deepStrictEqual(
        ends.map(({ status }) => status),
        ["complete", "complete", "complete", "complete"]
      )
      assert.deepStrictEqual(ran, ["refund 1", "refund 33"])
    })

    it("shows a customer its own question, and staff's to nobody else", async () => {
      const mine = await of("carl").ask({ agent: "clerk", text: "refund 5" })
      assert(mine.status === "awaiting_approval")
      const [question] = mine.approvals
      assert(question)
      const foreign = await refusal(of("cora").decide(question.id, { decision: "approve" }))
      assert.include(foreign, { _tag: "ApprovalNotFound", status: 404 })
      await of("carl").decide(question.id, { decision: "approve" })
      assert.include(await of("carl").result(mine), { text: "Done with refund 5." })
    })

    it("cancels a run that is at work", async () => {
      const client = of("olga")
      let release = (): void => {}
      held.promise = new Promise<void>((resolve) => (release = resolve))
      const sent = await client.send({ agent: "clerk", text: "hold 1" })
      await client.cancel(sent.run, "enough")
      release()
      assert.strictEqual((await client.result(sent)).status, "cancelled")
      assert.strictEqual((await refusal(client.cancel(sent.run, "twice")))._tag, "RunIsOver")
      assert.strictEqual((await client.run(sent.run)).status, "cancelled")
    })

    it("gives pages whole, and goes on behind them", async () => {
      const client = of("vera")
      const first = await client.runs({ limit: 1 })
      assert.lengthOf(first.items, 1)
      const second = await client.runs({ limit: 1, after: first.next_after! })
      assert.notStrictEqual(second.items[0]?.id, first.items[0]?.id)
    })

    it("makes one run of a message with a key, however often it is sent", async () => {
      const client = of("carl")
      const message = { agent: "clerk", text: "once", idempotency_key: "key-1" }
      const [one, two] = await Promise.all([client.send(message), client.send(message)])
      assert.deepStrictEqual(one, two)
      const other = await refusal(client.send({ ...message, text: "twice" }))
      assert.include(other, { _tag: "IdempotencyConflict", status: 422 })
    })

    it("takes a file to an agent and back", async () => {
      const client = of("carl")
      const bytes = Uint8Array.from(Buffer.from(picture.data, "base64"))
      const part = await client.upload(new File([bytes], "point.png", { type: "image/png" }))
      assert.include(part, { type: "image", media_type: "image/png", name: "point.png" })
      assert.strictEqual(
        (await client.upload(bytes, { media_type: "image/png" })).digest,
        part.digest
      )
      const sent = await client.send({ agent: "clerk", text: "what is this?", parts: [part] })
      await client.result(sent)
      const file = await client.file(sent.conversation, part.digest)
      assert.strictEqual(file.type, "image/png")
      assert.deepStrictEqual(new Uint8Array(await file.arrayBuffer()), bytes)
      const foreign = await refusal(of("cora").file(sent.conversation, part.digest))
      assert.include(foreign, { _tag: "ConversationNotFound", status: 404 })
    })

    it("gives an answer of a schema its value", async () => {
      const answer = z.object({ order: z.string() })
      const client = of("olga")
      const told = await client.ask({ agent: "clerk", text: 'json {"order":"1003"}', answer })
      assert(told.status === "complete")
      assert.deepStrictEqual(told.value, { order: "1003" })
      const [part] = (
        await all(client.stream({ agent: "clerk", text: 'json {"order":"7"}', answer }))
      ).slice(-1)
      assert(part?.type === "end" && part.answer.status === "complete")
      assert.strictEqual(part.answer.value.order, "7")
      // Only the code of the schema refuses it.
      const strict = answer.refine(({ order }) => order !== "7")
      const unfit = await refusal(
        client.ask({ agent: "clerk", text: 'json {"order":"7"}', answer: strict })
      )
      assert.strictEqual(unfit._tag, "AnswerUnfit")
    })

    it("gives each of two streams its own run", async () => {
      const client = of("olga")
      const [one, two] = await Promise.all(
        ["first", "second"].map((text) => all(client.stream({ agent: "clerk", text })))
      )
      assert.strictEqual(textOf(one!), "You said: first")
      assert.strictEqual(textOf(two!), "You said: second")
    })

    it("ends a stream by its signal, in the middle, and the run goes on", async () => {
      const client = of("olga")
      const control = new AbortController()
      const reason = new Error("enough")
      let begun: RunPart | undefined
      const error = await refusal(
        (async () => {
          const loop = client.stream({ agent: "clerk", text: "stay" }, { signal: control.signal })
          for await (const part of loop) {
            begun ??= part
            if (part.type === "text") control.abort(reason)
          }
        })()
      )
      assert.strictEqual(error as unknown, reason)
      assert(begun?.type === "begun")
      assert.include(await client.result(begun), { text: "You said: stay" })
      const before = AbortSignal.abort(reason)
      assert.strictEqual((await refusal(client.runs({}, { signal: before }))) as unknown, reason)
    })

    it("watches a conversation from a cursor on", async () => {
      const client = of("olga")
      const { conversation } = await client.ask({ agent: "clerk", text: "one" })
      const control = new AbortController()
      const seen: Array<string> = []
      let cursor = "0"
      for await (const item of client.watch(conversation, undefined, { signal: control.signal })) {
        if (item.type === "event") {
          seen.push(item.event._tag)
          cursor = item.cursor
        }
        if (item.type === "current") break
      }
      assert.deepStrictEqual([seen[0], seen.at(-1)], ["RunAccepted", "RunEnded"])
      const { run } = await client.send({ conversation, text: "two" })
      for await (const item of client.watch(conversation, cursor)) {
        if (item.type === "event") {
          assert.strictEqual(item.run, run)
          if (item.event._tag === "RunEnded") break
        }
      }
      const ahead = await refusal(all(client.watch(conversation, "9.0")))
      assert.include(ahead, { _tag: "CursorAhead", status: 400 })
      const sent = { run: "01999999-0000-7000-8000-000000000000", conversation }
      assert.include(await refusal(all(client.stream(sent))), { _tag: "RunNotFound" })
      assert.include(await refusal(client.result(sent)), { _tag: "RunNotFound" })
      assert.include(await refusal(all(client.watch(conversation, "x"))), { _tag: "BadCursor" })
      assert.include(await refusal(all(client.watch("none"))), { _tag: "ConversationNotFound" })
    })

    it("says what the service refuses, with its members and names", async () => {
      const none = await refusal(of("olga").send({ agent: "nobody", text: "hi" }))
      assert.include(none, { _tag: "AgentNotFound", status: 404, retryable: false, attempts: 1 })
      assert.include(none.problem?.available ?? [], "clerk")
      const wrong = await refusal(of("olga").runs({ limit: 0 }))
      assert.include(wrong, { _tag: "InvalidRequest", status: 400 })
      assert.deepStrictEqual(wrong.problem?.errors?.[0]?.path, ["query", "limit"])
      assert.include(await refusal(of("carl").runs()), { _tag: "Forbidden", status: 403 })
      const forged = { ...({ approved_by: "olga" } as object), agent: "clerk", text: "hi" }
      assert.include(await refusal(of("olga").send(forged)), { status: 400 })
      assert.include(await refusal(of("otto").run((await of("olga").runs()).items[0]!.id)), {
        _tag: "RunNotFound"
      })
    })

    it("asks for another token where one is refused, and once more only", async () => {
      const given = ["old", tokens.olga]
      const renewing = of("olga", { token: () => given.shift() ?? "none" })
      await renewing.runs()
      assert.lengthOf(given, 0)
      let asked = 0
      const refused = of("olga", { token: async () => `bad-${asked++}` })
      const error = await refusal(refused.runs())
      assert.include(error, { _tag: "Unauthorized", status: 401, attempts: 2 })
      assert.strictEqual(asked, 2)
      const fixed = await refusal(of("olga", { token: "secret-bad" }).runs())
      assert.include(fixed, { _tag: "Unauthorized", attempts: 1 })
      assert.notInclude(JSON.stringify({ ...fixed }) + fixed.stack + fixed.message, "secret-bad")
      const broken = new Error("signed out")
      const failing = of("olga", { token: () => Promise.reject(broken) })
      assert.strictEqual((await refusal(failing.runs())) as unknown, broken)
    })
  })
}
