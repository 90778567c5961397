/** What is written with the events: approval records, the task's status, the answer in the conversation. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { cancelRun, decideApproval, expireApproval } from "../../src/run/RunCommand.ts"
import * as Samples from "./Samples.ts"

export type Needs = RunPorts | TaskStore | ConversationStore | ApprovalRecords

const statusOf = (run: RunId) =>
  Effect.map(
    Effect.flatMap(TaskStore, (tasks) => tasks.get(run)),
    (task) => [task?.status, task?.reason]
  )

const answersOf = Effect.fnUntraced(function* (of: Samples.Begun) {
  const conversations = yield* ConversationStore
  const { conversation, tenant } = of.task
  const messages = yield* conversations.messages(tenant, conversation, -1, 500)
  return messages.filter((message) => message.role === "assistant")
})

const asking = Effect.fnUntraced(function* (expires_at?: number) {
  const request = Samples.approvalRequested(
    undefined,
    expires_at === undefined ? {} : { expires_at }
  )
  const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1), request])
  return { ...begun, request }
})

const decisionTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-26 an approval request writes a pending record with its event", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const reader = yield* RunReader
      const { request, run, task } = yield* asking(4_000_000_000_000)
      const record = yield* records.get(request.approval)
      const entry = (yield* reader.read(run, 3, 1))[0]!
      const { _tag, approval, proposal, ...rest } = request
      assert.strictEqual(_tag, "ApprovalRequested")
      assert.isNotEmpty(proposal)
      assert.deepStrictEqual(record, {
        id: approval,
        tenant: task.tenant,
        run_id: run,
        ...rest,
        expires_at: 4_000_000_000_000,
        requested_at: entry.at,
        status: "pending"
      })
      assert.strictEqual((yield* reader.head(run)).status, "awaiting_approval")
      assert.deepStrictEqual(yield* statusOf(run), ["processing", undefined])
    })
  )

  it.effect("a decision changes the record, with who decided, what and when", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const { request, run } = yield* asking()
      const decision = { _tag: "Modify", arguments: { event_id: "e-2" }, note: "this one" } as const
      yield* journal.amend(run, (state, now) =>
        decideApproval(
          state,
          {
            call: request.call,
            approval: request.approval,
            decision,
            by: Samples.principal(),
            digest: "c".repeat(64)
          },
          now
        )
      )
      const record = (yield* records.get(request.approval))!
      assert.strictEqual(record.status, "decided")
      assert.deepStrictEqual(record.decision, decision)
      assert.strictEqual(record.decided_by, "ada")
      assert.isAtLeast(record.decided_at ?? 0, record.requested_at)
      assert.deepStrictEqual(record.arguments, request.arguments)
      assert.strictEqual(record.digest, request.digest)
    })
  )
}

const approvalEndTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("the record of an expired approval is expired, that of a cancelled run cancelled", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const late = yield* asking(1)
      yield* journal.amend(late.run, (state, now) =>
        expireApproval(state, late.request.call, late.request.approval, now)
      )
      const expired = (yield* records.get(late.request.approval))!
      assert.strictEqual(expired.status, "expired")
      assert.isUndefined(expired.decision)
      const stopped = yield* asking()
      yield* journal.amend(stopped.run, (state) =>
        cancelRun(state, stopped.run, "operator-1", "enough")
      )
      const cancelled = (yield* records.get(stopped.request.approval))!
      assert.strictEqual(cancelled.status, "cancelled")
      assert.strictEqual(cancelled.decided_by, "operator-1")
    })
  )

  it.effect("an approval that is requested and decided in one append is decided", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      const request = Samples.approvalRequested()
      yield* journal.append(
        begun.next(request, {
          _tag: "ApprovalDecided",
          call: request.call,
          approval: request.approval,
          decision: { _tag: "Approve" },
          by: "ada",
          digest: request.digest
        })
      )
      assert.strictEqual((yield* records.get(request.approval))?.status, "decided")
    })
  )
}

const approvals = (it: Vitest.MethodsNonLive<Needs>) => {
  decisionTests(it)
  approvalEndTests(it)
}

const taskTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-14 a task goes from pending to processing to complete, and stays there", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const tasks = yield* TaskStore
      const task = Samples.newTask()
      yield* tasks.accept(task)
      yield* journal.create(task.id, 1, Samples.runAccepted(task))
      assert.deepStrictEqual(yield* statusOf(task.id), ["pending", undefined])
      const { head } = yield* ownership.claim(task.id, "a")
      assert.deepStrictEqual(yield* statusOf(task.id), ["processing", undefined])
      const fence = { epoch: head.epoch, length: head.length }
      const events = [Samples.modelTurned(1), Samples.runEnded()]
      yield* journal.append({ run: task.id, fence, events, status: "complete" })
      assert.deepStrictEqual(yield* statusOf(task.id), ["complete", undefined])
    })
  )

  it.effect("SA-14 a failed run fails its task with a reason, a cancelled one too", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const failed = yield* Samples.finish({}, { status: "failed", reason: "recursion_limit" })
      assert.deepStrictEqual(yield* statusOf(failed.run), ["failed", "recursion_limit"])
      const begun = yield* Samples.begin()
      yield* journal.amend(begun.run, (state) => cancelRun(state, begun.run, "ada", "enough"))
      assert.strictEqual((yield* statusOf(begun.run))[0], "failed")
      const pending = Samples.newTask()
      yield* (yield* TaskStore).accept(pending)
      yield* journal.create(pending.id, 1, Samples.runAccepted(pending))
      yield* journal.amend(pending.id, (state) => cancelRun(state, pending.id, "ada", "enough"))
      assert.strictEqual((yield* statusOf(pending.id))[0], "failed")
    })
  )
}

const answerTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "the answer is written to the conversation when the run ends, with how it ended, unless it is empty",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const begun = yield* Samples.begin({ channel_origin: "slack" }, [Samples.modelTurned(1)])
        assert.deepStrictEqual(yield* answersOf(begun), [])
        yield* journal.append(begun.next(Samples.runEnded({ text: "all ünstuck" })))
        const answers = yield* answersOf(begun)
        assert.strictEqual(answers.length, 1)
        const { created_at, ...answer } = answers[0]!
        assert.isAbove(created_at, 0)
        assert.deepStrictEqual(answer, {
          conversation: begun.task.conversation,
          seq: 1,
          role: "assistant",
          content: "all ünstuck",
          channel_origin: "slack",
          run_id: begun.run
        })
        const cut = yield* Samples.finish(
          {},
          {
            text: "all üns",
            finish: "length",
            sources: [{ url: "https://example.org/ü", title: "Ü\u0000" }]
          }
        )
        const [cutAnswer] = yield* answersOf(cut)
        assert.deepInclude(cutAnswer, {
          content: "all üns",
          finish: "length",
          sources: [{ url: "https://example.org/ü", title: "Ü\u0000" }]
        })
        assert.notProperty(cutAnswer, "reason")
        const refused = yield* Samples.finish(
          {},
          { status: "failed", reason: "refused", text: "", finish: "refusal" }
        )
        const [why] = yield* answersOf(refused)
        assert.deepInclude(why, { content: "", finish: "refusal", reason: "refused" })
        const silent = yield* Samples.finish({}, { status: "failed", text: "" })
        assert.deepStrictEqual(yield* answersOf(silent), [])
      })
  )
}

const refusalTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("nothing of a refused append is projected", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const records = yield* ApprovalRecords
      const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      const request = Samples.approvalRequested()
      const { fence, ...append } = begun.next(
        request,
        Samples.callSettled(),
        Samples.runEnded({ text: "never said" })
      )
      const stale = { ...append, fence: { ...fence, length: fence.length + 1 } }
      assert.strictEqual((yield* Effect.flip(journal.append(stale)))._tag, "StaleAppend")
      const fenced = { ...append, fence: { ...fence, epoch: fence.epoch + 1 } }
      assert.strictEqual((yield* Effect.flip(journal.append(fenced)))._tag, "FencedOff")
      assert.isUndefined(yield* records.get(request.approval))
      assert.deepStrictEqual(yield* statusOf(begun.run), ["processing", undefined])
      assert.deepStrictEqual(yield* answersOf(begun), [])
      assert.strictEqual(
        (yield* reader.unfinished(begun.task.tenant, begun.task.address, 1)).length,
        1
      )
    })
  )
}

export const projectionTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  approvals(it)
  taskTests(it)
  answerTests(it)
  refusalTests(it)
}
