import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { resultText } from "../../src/conversation/Transcript.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const said = (request: { readonly history: ReadonlyArray<{ readonly role: string }> }) =>
  request.history.map((entry) => ("text" in entry ? String(entry.text) : entry.role))

/** Answers with what it was told. */
const echo: H.Options["script"] = ({ transcript }) => {
  const [first] = transcript
  return text(first?.role === "user" ? `heard ${first.text}` : "")
}

describe("a conversation", () => {
  it.live(
    "ST-02 SA-40 shows the first message's turn to the second, of its own conversation only",
    () =>
      Effect.gen(function* () {
        yield* H.ended(yield* H.send("one"))
        yield* H.ended(yield* H.send("other", "c-2"), "c-2")
        yield* H.ended(yield* H.send("two"))
        const asked = yield* H.requests
        assert.deepStrictEqual(asked.map(said), [[], [], ["one", "heard one"]])
      }).pipe(Effect.provide(H.layer({ script: echo })))
  )

  it.live("SA-42 continues in another process, from the store alone", () =>
    Effect.gen(function* () {
      const first = yield* H.boot({ script: echo })
      yield* first.run(Effect.flatMap(H.send("one"), H.ended))
      yield* first.stop
      const second = yield* H.boot({ script: echo })
      yield* second.run(Effect.flatMap(H.send("two"), H.ended))
      const [request] = yield* second.run(H.requests)
      assert.deepStrictEqual(said(request!), ["one", "heard one"])
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live("ST-03 has its own events in order, beside another conversation", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([H.send("a", "c-a"), H.send("b", "c-b")])
      const ofA = yield* H.ended(a!, "c-a")
      const ofB = yield* H.ended(b!, "c-b")
      assert.deepInclude(H.end(ofA), { text: "heard a" })
      assert.deepInclude(H.end(ofB), { text: "heard b" })
    }).pipe(Effect.provide(H.layer({ script: echo })))
  )

  it.live("shows a model no more of its history than the budget, in whole runs", () =>
    Effect.gen(function* () {
      for (const word of ["a", "b", "c"]) yield* H.ended(yield* H.send(`${word} `.repeat(100)))
      yield* H.ended(yield* H.send("last"))
      const history = (yield* H.requests).at(-1)!.history
      // A run is about 210 tokens: three of them do not fit into 600, and a cut goes down to half.
      assert.deepStrictEqual(
        said({ history }).map((each) => each.slice(0, 12)),
        ["[messages 1 ", "c c c c c c ", "heard c c c "]
      )
    }).pipe(Effect.provide(H.layer({ script: echo, agent: { history_tokens_max: 600 } })))
  )

  it.live("shows a model the same history in a new process", () => {
    const agent = { history_tokens_max: 600 }
    return Effect.gen(function* () {
      const first = yield* H.boot({ script: echo, agent })
      for (const word of ["a", "b", "c"])
        yield* first.run(Effect.flatMap(H.send(`${word} `.repeat(100)), H.ended))
      yield* first.stop
      const second = yield* H.boot({ script: echo, agent })
      yield* second.run(Effect.flatMap(H.send("last"), H.ended))
      const [request] = yield* second.run(H.requests)
      assert.strictEqual(request?.history.length, 3)
      assert.include(said(request!)[1], "c c c")
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.live("handles 1,000 messages in their order, one at a time", () => {
    let now = 0
    let most = 0
    return Effect.gen(function* () {
      const runs = yield* Effect.forEach(
        Array.from({ length: 1_000 }, (_, i) => `m${i}`),
        (m) => H.send(m)
      )
      yield* H.ended(runs[999]!)
      const asked = yield* H.requests
      const heard = asked.map(({ transcript }) => (transcript[0] as { text: string }).text)
      assert.deepStrictEqual(
        heard,
        Array.from({ length: 1_000 }, (_, i) => `m${i}`)
      )
      assert.strictEqual(most, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          agent: { history_tokens_max: 100 },
          script: () =>
            Effect.gen(function* () {
              most = Math.max(most, ++now)
              yield* Effect.yieldNow
              now--
              return text("ok")
            })
        })
      )
    )
  })

  it.live(
    "refuses a message beyond the mailbox's bound, and accepts one when there is room",
    () => {
      const gate = Deferred.makeUnsafe<void>()
      return Effect.gen(function* () {
        const first = yield* H.send("one")
        yield* H.send("two")
        const full = yield* Effect.flip(H.send("three"))
        assert.deepInclude(full, { _tag: "MailboxFull", waiting_max: 2 })
        yield* Deferred.succeed(gate, undefined)
        yield* H.ended(first)
        yield* H.ended(yield* H.send("three"))
      }).pipe(
        Effect.provide(
          H.layer({
            agent: { mailbox_max: 2 },
            script: () => Effect.as(Deferred.await(gate), text("ok"))
          })
        )
      )
    }
  )

  it.live(
    "keeps 1,000 of 10,000 messages while it is busy, refuses the rest, and delays no other conversation",
    () => {
      const gate = Deferred.makeUnsafe<void>()
      return Effect.gen(function* () {
        const answers = yield* Effect.forEach(
          Array.from({ length: 10_000 }, (_, n) => `message ${n}`),
          (text) => Effect.result(H.send(text)),
          { concurrency: 64 }
        )
        const refused = answers.flatMap((answer) =>
          answer._tag === "Failure" ? [answer.failure] : []
        )
        assert.strictEqual(answers.length - refused.length, 1_000)
        assert.deepStrictEqual([...new Set(refused.map(({ _tag }) => _tag))], ["MailboxFull"])
        yield* H.ended(yield* H.send("elsewhere", "c-2"), "c-2")
        yield* Deferred.succeed(gate, undefined)
        const last = answers.findLast((answer) => answer._tag === "Success")
        if (last?._tag === "Success") yield* H.ended(last.success)
      }).pipe(
        Effect.provide(
          H.layer({
            script: ({ transcript }) =>
              Effect.as(
                JSON.stringify(transcript).includes("elsewhere")
                  ? Effect.void
                  : Deferred.await(gate),
                text("ok")
              )
          })
        )
      )
    }
  )

  it.live("refuses a second message where the agent's mailbox is `reject`", () => {
    const gate = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const first = yield* H.send("one")
      assert.strictEqual((yield* Effect.flip(H.send("two")))._tag, "AgentBusy")
      yield* Deferred.succeed(gate, undefined)
      yield* H.ended(first)
      yield* H.ended(yield* H.send("two"))
    }).pipe(
      Effect.provide(
        H.layer({
          agent: { mailbox: "reject" },
          script: () => Effect.as(Deferred.await(gate), text("ok"))
        })
      )
    )
  })

  it.live("cancels its run for a second message where the agent's mailbox is `interrupt`", () =>
    Effect.gen(function* () {
      const first = yield* H.send("one")
      yield* H.question(first)
      const second = yield* H.send("two")
      const all = yield* H.ended(first)
      assert.deepInclude(H.end(all), { status: "cancelled", reason: "superseded" })
      assert.deepStrictEqual(H.outcome(all), { _tag: "Cancelled" })
      assert.deepInclude(H.end(yield* H.ended(second)), { status: "complete" })
      assert.deepStrictEqual(yield* H.pending, [])
      // What was cancelled is part of the past, and its call has its result there.
      const { history } = (yield* H.requests).at(-1)!
      assert.deepStrictEqual(
        history.map(({ role }) => role),
        ["user", "assistant", "tool"]
      )
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.asks((n) => Effect.succeed(n)) },
          agent: { mailbox: "interrupt" },
          script: ({ history }) => (history.length === 0 ? call("pay", { n: 1 }) : text("ok"))
        })
      )
    )
  )

  it.live("refuses a message of 10 MB with a typed error, and the service goes on", () =>
    Effect.gen(function* () {
      const large = yield* Effect.flip(H.send("x".repeat(10_000_000)))
      assert.deepInclude(large, { _tag: "MessageTooLarge", bytes_max: 1_000_000 })
      // 400,000 characters, 1.2 MB of UTF-8.
      const wide = yield* Effect.flip(H.send("€".repeat(400_000)))
      assert.strictEqual(wide._tag, "MessageTooLarge")
      yield* H.ended(yield* H.send("€".repeat(333_333)))
    }).pipe(Effect.provide(H.layer({ script: [text("ok")] })))
  )

  it.live("keeps a result of 1 MB whole, and shows the model 32,768 bytes of it", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Value" && outcome.json.length, 333_335)
      const tool = (yield* H.requests)[1]!.transcript.find((entry) => entry.role === "tool")
      const shown = resultText(tool as never)
      const [kept, note] = shown.split("\n")
      assert.isAtMost(new TextEncoder().encode(kept).length, 32_768)
      assert.isAbove(new TextEncoder().encode(kept).length, 32_764)
      assert.match(kept!, /^"€+$/)
      assert.include(note, "cut at 32768 bytes")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads(() => Effect.succeed("€".repeat(333_333))) },
          script: [call("look", { n: 1 }), text("ok")]
        })
      )
    )
  )

  it.live("refuses a result of 5 MB as terminal, and keeps none of it", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.class, "ToolTerminalError")
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "RESULT_TOO_LARGE")
      assert.isBelow(JSON.stringify(all).length, 10_000)
      assert.deepInclude(H.end(all), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads(() => Effect.succeed("x".repeat(5_000_000))) },
          script: [call("look", { n: 1 }), text("ok")]
        })
      )
    )
  )

  it.live("refuses an unknown agent, and names the existing ones", () =>
    Effect.gen(function* () {
      const runtime = yield* AgentRuntime
      const error = yield* Effect.flip(
        runtime.send({ agent: AgentName.make("nobody"), text: "hello" }, H.alice)
      )
      assert.deepInclude(error, { _tag: "AgentNotFound", agent: "nobody" })
      assert.deepStrictEqual("available" in error && error.available, ["tester"])
    }).pipe(Effect.provide(H.layer({ script: [] })))
  )

  it.live(
    "SA-15 is begun by the principal that its first message names, or else by its sender",
    () =>
      Effect.gen(function* () {
        const agents = yield* AgentRuntime
        const store = yield* ConversationStore
        const begin = Effect.fnUntraced(function* (
          role: "customer" | "operator",
          more: object = {}
        ) {
          const sender = new Principal({ id: "sender", tenant: H.tenant, roles: [role] })
          const { task } = yield* agents.send(
            { agent: H.agentName, text: "hello", ...more },
            sender
          )
          return yield* store.get(H.tenant, task.conversation)
        })
        const begun = [
          yield* begin("customer"),
          yield* begin("operator"),
          yield* begin("operator", { initiated_by: "agent" })
        ]
        assert.deepStrictEqual(
          begun.map((each) => each?.initiated_by),
          ["customer", "system", "agent"]
        )
      }).pipe(Effect.provide(H.layer({ script: echo })))
  )

  it.live("keeps its messages and answers in order", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("one"))
      yield* H.ended(yield* H.send("two"))
      const messages = yield* ConversationStore.use((store) =>
        store.messages(H.tenant, ConversationId.make("c-1"), -1, 10)
      )
      assert.deepStrictEqual(
        messages.map(({ content, role }) => [role, content]),
        [
          ["user", "one"],
          ["assistant", "heard one"],
          ["user", "two"],
          ["assistant", "heard two"]
        ]
      )
    }).pipe(Effect.provide(H.layer({ script: echo })))
  )
})
