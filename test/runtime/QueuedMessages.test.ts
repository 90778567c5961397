/** A message behind a question: its sender and whoever watches are told which question it waits for. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { customerItem } from "../../layers/service/CustomerRules.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ApprovalId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"

const conversation = ConversationId.make("c-1")

const sendAccepted = (words: string, by = H.alice) =>
  AgentRuntime.use((agents) => agents.send({ agent: H.agentName, conversation, text: words }, by))

/** The first `count` notices of a watch from the start; `onFirst` is completed with the first. */
const notices = (count: number, onFirst = Deferred.makeUnsafe<FeedItem>()) =>
  AgentRuntime.use((agents) =>
    agents.watch(conversation, { ordinal: 0, seq: -1 }, H.alice).pipe(
      Stream.filter((item) => item._tag === "Queued"),
      Stream.tap((item) => Deferred.succeed(onFirst, item)),
      Stream.take(count),
      Stream.runCollect
    )
  )

const asking = (mailbox: "enqueue" | "reject" | "interrupt" | "answer") =>
  H.layer({
    tools: { pay: H.asks((n) => Effect.succeed(n)), look: H.reads((n) => Effect.succeed(n)) },
    agent: { mailbox },
    script: ({ transcript }) =>
      JSON.stringify(transcript).includes("pay twice") && transcript.length < 5
        ? call("pay", { n: transcript.length })
        : transcript.length === 1
          ? call("pay", { n: 1 })
          : text("ok")
  })

describe("a message behind a question", () => {
  it.live("its sender is told the question with the acceptance, and not where nothing waits", () =>
    Effect.gen(function* () {
      const first = yield* sendAccepted("one")
      assert.isUndefined(first.queued_behind)
      const asked = yield* H.question(first.task.id)
      const second = yield* sendAccepted("two")
      const { approval, call: of } = asked
      assert.deepStrictEqual(second.queued_behind, {
        run: first.task.id,
        questions: [{ call: of, approval }]
      })
      yield* H.decide(approval, H.approve)
      yield* H.ended(first.task.id)
    }).pipe(Effect.provide(asking("enqueue")))
  )

  it.live(
    "whoever watches is told, also one that comes later, and again of the next question",
    () =>
      Effect.gen(function* () {
        const first = yield* H.send("pay twice")
        const { approval } = yield* H.question(first)
        const told = yield* Deferred.make<FeedItem>()
        const watching = yield* Effect.forkChild(notices(2, told))
        const second = yield* H.send("two")
        const [late] = yield* notices(1)
        assert.deepInclude(late, { run: second, ordinal: 2 })
        yield* Deferred.await(told)
        yield* H.decide(approval, H.approve)
        const next = yield* H.question(first, 2)
        assert.deepStrictEqual(
          (yield* Fiber.join(watching)).map(
            (item) => item._tag === "Queued" && [item.run, item.behind.questions[0]?.approval]
          ),
          [
            [second, approval],
            [second, next.approval]
          ]
        )
      }).pipe(Effect.provide(asking("enqueue")))
  )

  it.live("a customer is told of it, and only of questions that it may answer", () =>
    Effect.gen(function* () {
      const first = yield* H.send("one")
      yield* H.question(first)
      const second = yield* sendAccepted("two")
      const behind = second.queued_behind!
      const item: FeedItem = { _tag: "Queued", run: second.task.id, ordinal: 2, behind }
      assert.deepStrictEqual(customerItem(item), { ...item, behind: { run: first, questions: [] } })
      const [{ approval }] = behind.questions as [{ readonly approval: ApprovalId }]
      const open = {
        ...item,
        behind: { run: first, questions: [{ approval, customer: true as const }] }
      }
      assert.deepStrictEqual(customerItem(open), open)
    }).pipe(Effect.provide(asking("enqueue")))
  )

  it.live("an agent that refuses a second message says which question its run waits for", () =>
    Effect.gen(function* () {
      const first = yield* H.send("one")
      const { approval } = yield* H.question(first)
      const refused = yield* Effect.flip(sendAccepted("two"))
      const behind = refused._tag === "AgentBusy" ? refused.behind : undefined
      assert.deepInclude(behind, { run: first })
      assert.strictEqual(behind?.questions[0]?.approval, approval)
    }).pipe(Effect.provide(asking("reject")))
  )

  it.live("a message that cancels the run before it is not queued behind its question", () =>
    Effect.gen(function* () {
      const first = yield* H.send("one")
      yield* H.question(first)
      assert.isUndefined((yield* sendAccepted("two")).queued_behind)
      assert.deepInclude(H.end(yield* H.ended(first)), { status: "cancelled" })
    }).pipe(Effect.provide(asking("interrupt")))
  )

  it.live("a message that is answered meanwhile tells of the question too, which stays open", () =>
    Effect.gen(function* () {
      const first = yield* H.send("one")
      const { approval } = yield* H.question(first)
      const second = yield* sendAccepted("two")
      assert.deepStrictEqual(second.queued_behind?.run, first)
      assert.deepStrictEqual(
        second.queued_behind?.questions.map((each) => each.approval),
        [approval]
      )
      yield* H.ended(second.task.id)
      yield* H.decide(approval, H.approve)
      yield* H.ended(first)
    }).pipe(Effect.provide(asking("answer")))
  )

  it.live("nobody is told of a message behind a run that is at work", () => {
    const gate = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const first = yield* H.send("one")
      const second = yield* sendAccepted("two")
      assert.isUndefined(second.queued_behind)
      yield* Deferred.succeed(gate, undefined)
      yield* H.ended(first)
      yield* H.ended(second.task.id)
    }).pipe(Effect.provide(H.layer({ script: () => Effect.as(Deferred.await(gate), text("ok")) })))
  })
})
