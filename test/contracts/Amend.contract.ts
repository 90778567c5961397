/** Commands from outside a run's loop, and the wakeups that follow them. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Result, Scope } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import type { Claimant } from "../../services/RunNews.ts"
import { RunNews } from "../../services/RunNews.ts"
import type { Claim } from "../../services/RunOwnership.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import { ApprovalExpired } from "../../src/approval/Approval.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { Amendment } from "../../src/run/RunCommand.ts"
import { cancelRun, decideApproval } from "../../src/run/RunCommand.ts"
import type { RunState } from "../../src/run/RunState.ts"
import * as Samples from "./Samples.ts"

type Needs = RunPorts | TaskStore

const asking = Effect.fnUntraced(function* () {
  const request = Samples.approvalRequested()
  const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1), request])
  return { ...begun, request }
})

const amendmentTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("an amendment answers, is appended, and makes the owner's length stale", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { next, request, run } = yield* asking()
      yield* journal.amend(run, (state, now) => {
        assert.isAbove(now, 0)
        return decideApproval(
          state,
          {
            call: request.call,
            approval: request.approval,
            decision: { _tag: "Approve" },
            by: Samples.principal(),
            digest: request.digest
          },
          now
        )
      })
      const { entries, head } = yield* Samples.snapshot(run)
      assert.strictEqual(entries.at(-1)!.event._tag, "ApprovalDecided")
      assert.strictEqual(head.length, 5)
      assert.strictEqual(head.status, "processing")
      assert.strictEqual(head.epoch, 1)
      const late = yield* Effect.flip(journal.append(next(Samples.callSettled())))
      assert.strictEqual(late._tag, "StaleAppend")
    })
  )

  it.effect("an event that its codec cannot read back is not written, and the run goes on", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { request, run } = yield* asking()
      const before = yield* Samples.snapshot(run)
      const decided = {
        _tag: "ApprovalDecided",
        call: request.call,
        approval: request.approval,
        by: "ada",
        digest: request.digest
      }
      for (const decision of [{ _tag: "deny" }, { _tag: "Deny" }, "Deny", false, { n: NaN }]) {
        const error = yield* Effect.flip(
          journal.amend(run, () => ({
            events: [{ ...decided, decision } as never],
            answer: Result.succeed(undefined)
          }))
        )
        assert.deepInclude(error, { _tag: "JournalError", lost: false })
      }
      assert.deepStrictEqual(yield* Samples.snapshot(run), before)
      yield* journal.amend(run, (state) => cancelRun(state, run, "ada", "enough"))
      assert.strictEqual((yield* Samples.snapshot(run)).head.status, "cancelled")
    })
  )
}

const refusalTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a refusal is typed, and the events of its amendment are appended", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { request, run } = yield* asking()
      const error = yield* Effect.flip(
        journal.amend(run, () => ({
          events: [
            {
              _tag: "ApprovalClosed",
              call: request.call,
              approval: request.approval,
              how: "expired"
            },
            Samples.callSettled(request.call, { _tag: "Expired" })
          ],
          answer: Result.fail(new ApprovalExpired({ id: request.approval, expired_at: 1 }))
        }))
      )
      assert.strictEqual(error._tag, "ApprovalExpired")
      const { entries, head } = yield* Samples.snapshot(run)
      assert.deepStrictEqual(
        entries.slice(4).map((entry) => entry.event._tag),
        ["ApprovalClosed", "CallSettled"]
      )
      assert.strictEqual(head.status, "processing")
    })
  )

  it.effect("a refusal without events, and an unknown run, change nothing", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { request, run } = yield* asking()
      const before = yield* Samples.snapshot(run)
      const error = new ApprovalExpired({ id: request.approval, expired_at: 1 })
      const refused = yield* Effect.flip(
        journal.amend(run, () => ({ events: [], answer: Result.fail(error) }))
      )
      assert.strictEqual(refused._tag, "ApprovalExpired")
      assert.deepStrictEqual(yield* Samples.snapshot(run), before)
      const unknown = yield* Effect.flip(
        journal.amend(Samples.runId(), () => ({ events: [], answer: Result.succeed(1) }))
      )
      assert.strictEqual(unknown._tag, "RunNotFound")
    })
  )

  it.effect("the status is right when a command changed the state that it was given", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { run } = yield* asking()
      yield* journal.amend(run, (state) => cancelRun(state, run, "ada", "enough"))
      const { entries, head } = yield* Samples.snapshot(run)
      assert.strictEqual(head.status, "cancelled")
      assert.strictEqual(entries.at(-1)!.event._tag, "RunEnded")
      assert.strictEqual(head.length, entries.length)
    })
  )
}

const concurrencyTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("of 16 decisions at once one wins and 15 fail because it was settled", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { request, run } = yield* asking()
      const results = yield* Effect.forEach(
        Array.from({ length: 16 }, (_, i) => i),
        (i) =>
          Effect.result(
            journal.amend(run, (state, now) =>
              decideApproval(
                state,
                {
                  call: request.call,
                  approval: request.approval,
                  decision: i % 2 === 0 ? { _tag: "Approve" } : { _tag: "Deny", reason: "no" },
                  by: Samples.principal(["approver"], undefined, `person-${i}`),
                  digest: request.digest
                },
                now
              )
            )
          ),
        { concurrency: "unbounded" }
      )
      const won = results.flatMap((result, i) => (Result.isSuccess(result) ? [i] : []))
      assert.strictEqual(won.length, 1)
      const tags = results.flatMap((result) =>
        Result.isFailure(result) ? [result.failure._tag] : []
      )
      assert.deepStrictEqual(tags, Array<string>(15).fill("ApprovalSettled"))
      const decided = (yield* Samples.snapshot(run)).entries.flatMap(({ event }) =>
        event._tag === "ApprovalDecided" ? [event.by] : []
      )
      assert.deepStrictEqual(decided, [`person-${won[0]}`])
    })
  )

  it.effect("listeners are woken after the commit, until their scope closes", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const news = yield* RunNews
      const { run } = yield* asking()
      const woken = Deferred.makeUnsafe<void>()
      const closed = yield* Scope.make()
      let afterClose = 0
      yield* Scope.provide(
        news.onAmended((id) => {
          if (id === run) afterClose++
        }),
        closed
      )
      yield* Scope.close(closed, Exit.void)
      yield* news.onAmended((id) => {
        if (id === run) Deferred.doneUnsafe(woken, Exit.void)
      })
      yield* journal.amend(run, (state) => cancelRun(state, run, "ada", "enough"))
      yield* Effect.timeout(Deferred.await(woken), "10 seconds")
      assert.strictEqual((yield* reader.head(run)).status, "cancelled")
      assert.strictEqual(afterClose, 0)
    })
  )
}

/** Approves the question of a run, and gives the claims that the claimant was handed. */
const approved = Effect.fnUntraced(function* (
  { request, run }: Effect.Success<ReturnType<typeof asking>>,
  claimant: Claimant,
  command: (state: RunState, now: number) => Amendment<void, unknown> = (state, now) =>
    decideApproval(
      state,
      {
        call: request.call,
        approval: request.approval,
        decision: { _tag: "Approve" },
        by: Samples.principal(),
        digest: request.digest
      },
      now
    )
) {
  const journal = yield* RunJournal
  const news = yield* RunNews
  const claims: Array<Claim | undefined> = []
  yield* news.onAmended((id, claim) => {
    if (id === run) claims.push(claim)
  }, claimant)
  yield* journal.amend(run, command)
  return claims
})

const acceptsAll = () => ({ owner: Samples.unique("heir"), accepts: () => true })

const claimantTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a run that an amendment gave work is claimed with it, and its old owner is fenced",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const ownership = yield* RunOwnership
        const asked = yield* asking()
        const heir = acceptsAll()
        yield* ownership.heartbeat(heir.owner, 60_000)
        const [claim] = yield* approved(asked, heir)
        assert.deepStrictEqual(claim, yield* Samples.snapshot(asked.run))
        assert.strictEqual(claim?.head.owner, heir.owner)
        assert.strictEqual(claim?.head.epoch, 2)
        assert.deepStrictEqual(
          claim?.entries.slice(-2).map(({ event }) => event._tag),
          ["ApprovalDecided", "RunClaimed"]
        )
        const late = yield* Effect.flip(journal.append(asked.next(Samples.callSettled())))
        assert.strictEqual(late._tag, "FencedOff")
        const fence = { epoch: 2, length: claim?.head.length ?? 0 }
        yield* journal.append({ ...asked.next(Samples.callSettled()), fence })
      })
  )

  it.effect("no run is claimed that its claimant does not want, or that another process has", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const unwanted = yield* asking()
      const refusing = { owner: Samples.unique("heir"), accepts: () => false }
      assert.deepStrictEqual(yield* approved(unwanted, refusing), [undefined])
      const request = Samples.approvalRequested()
      const owner = Samples.unique("owner")
      yield* ownership.heartbeat(owner, 60_000)
      const taken = yield* Samples.begin({}, [Samples.modelTurned(1, 1), request], owner)
      assert.deepStrictEqual(yield* approved({ ...taken, request }, acceptsAll()), [undefined])
      for (const { run } of [unwanted, taken]) {
        assert.strictEqual((yield* reader.head(run)).epoch, 1)
      }
    })
  )

  it.effect("a run is taken from an owner that seems gone, if it waited for people alone", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const owner = Samples.unique("owner")
      yield* ownership.heartbeat(owner, 60_000)
      const begun = Effect.fnUntraced(function* (calls: number) {
        const request = Samples.approvalRequested()
        const turned = Samples.modelTurned(1, calls)
        return { ...(yield* Samples.begin({}, [turned, request], owner)), request }
      })
      const claimant = (gone: string) => ({
        ...acceptsAll(),
        isProbablyDead: (other: string) => other === gone
      })
      const waiting = yield* begun(1)
      const heir = claimant(owner)
      yield* ownership.heartbeat(heir.owner, 60_000)
      const [claim] = yield* approved(waiting, heir)
      assert.deepStrictEqual(claim, yield* Samples.snapshot(waiting.run))
      assert.strictEqual(claim?.head.owner, heir.owner)
      const late = yield* Effect.flip(journal.append(waiting.next(Samples.callSettled())))
      assert.strictEqual(late._tag, "FencedOff")
      const other = yield* begun(1)
      assert.deepStrictEqual(yield* approved(other, claimant("another")), [undefined])
      // Its second call is at work there.
      const working = yield* begun(2)
      assert.deepStrictEqual(yield* approved(working, claimant(owner)), [undefined])
    })
  )

  it.effect("no run is claimed that has ended with its amendment, or waits still", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ended = yield* asking()
      assert.deepStrictEqual(
        yield* approved(ended, acceptsAll(), (state) =>
          cancelRun(state, ended.run, "ada", "enough")
        ),
        [undefined]
      )
      const request = Samples.approvalRequested()
      const second = { ...Samples.approvalRequested(), call: callId(rootFrame, 1, 1) }
      const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 2), request, second])
      assert.deepStrictEqual(yield* approved({ ...begun, request }, acceptsAll()), [undefined])
      for (const { run } of [ended, begun]) {
        assert.strictEqual((yield* reader.head(run)).epoch, 1)
      }
    })
  )
}

export const amendTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  amendmentTests(it)
  refusalTests(it)
  concurrencyTests(it)
  claimantTests(it)
}
