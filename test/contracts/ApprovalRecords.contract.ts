/** Approval records, read in pages. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { ApprovalId, Tenant } from "../../src/value/Ids.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import { answerClient } from "../../src/run/ClientAnswer.ts"
import { cancelRun, decideApproval } from "../../src/run/RunCommand.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = ApprovalRecords | RunPorts | TaskStore

/** A run of a tenant that requests `n` approvals. */
const asking = Effect.fnUntraced(function* (tenant: Tenant, n: number, expires_at?: number) {
  const requests = Array.from({ length: n }, (_, i) =>
    Samples.approvalRequested(
      callId(rootFrame, 1, i),
      expires_at === undefined ? {} : { expires_at }
    )
  )
  const begun = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, n), ...requests])
  return { ...begun, ids: requests.map((request) => request.approval) }
})

const ids = (records: ReadonlyArray<{ readonly id: ApprovalId }>) =>
  records.map((record) => record.id)

const listTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("records are listed oldest first, in pages that continue after one", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const tenant = Samples.tenant()
      const a = yield* asking(tenant, 3)
      const b = yield* asking(tenant, 2)
      const all = [...a.ids, ...b.ids]
      assert.deepStrictEqual(ids(yield* records.list({ tenant, limit: 500 })), all)
      const first = yield* records.list({ tenant, status: "pending", limit: 2 })
      assert.deepStrictEqual(ids(first), all.slice(0, 2))
      const next = yield* records.list({ tenant, status: "pending", limit: 2, after: all[1]! })
      assert.deepStrictEqual(ids(next), all.slice(2, 4))
      const last = yield* records.list({ tenant, limit: 2, after: all[3]! })
      assert.deepStrictEqual(ids(last), all.slice(4))
      assert.deepStrictEqual(yield* records.list({ tenant, limit: 2, after: all[4]! }), [])
    })
  )

  it.effect("records are listed newest first, in pages that continue after one", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const tenant = Samples.tenant()
      const a = yield* asking(tenant, 3)
      yield* asking(Samples.tenant(), 1)
      const b = yield* asking(tenant, 2)
      const all = [...a.ids, ...b.ids].reverse()
      const newest = { tenant, order: "newest" } as const
      assert.deepStrictEqual(ids(yield* records.list({ ...newest, limit: 500 })), all)
      for (const status of [undefined, "pending"] as const) {
        const next = yield* records.list({ ...newest, status, limit: 2, after: all[1]! })
        assert.deepStrictEqual(ids(next), all.slice(2, 4))
      }
      assert.deepStrictEqual(ids(yield* records.list({ ...newest, limit: 2, run_id: a.run })), [
        all[2]!,
        all[3]!
      ])
      const none = [all[4]!, Samples.approvalId()]
      for (const after of none) {
        assert.deepStrictEqual(yield* records.list({ ...newest, limit: 2, after }), [])
      }
    })
  )

  it.effect("a page continues after a record that has left the list", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      const { ids: all, run } = yield* asking(tenant, 3)
      yield* journal.amend(run, (state, now) =>
        decideApproval(
          state,
          {
            call: callId(rootFrame, 1, 1),
            approval: all[1]!,
            decision: { _tag: "Approve" },
            by: Samples.principal(["approver"], tenant),
            digest: "a".repeat(64)
          },
          now
        )
      )
      const after = yield* records.list({ tenant, status: "pending", limit: 5, after: all[1]! })
      assert.deepStrictEqual(ids(after), [all[2]!])
      const pending = yield* records.list({ tenant, status: "pending", limit: 5 })
      assert.deepStrictEqual(ids(pending), [all[0]!, all[2]!])
      const decided = yield* records.list({ tenant, status: "decided", limit: 5 })
      assert.deepStrictEqual(ids(decided), [all[1]!])
    })
  )

  it.effect("records are listed by tenant, run and status", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const a = yield* asking(tenant, 1)
      const b = yield* asking(tenant, 1)
      yield* asking(other, 1)
      yield* journal.amend(a.run, (state) => cancelRun(state, a.run, "ada", "enough"))
      const query = { tenant, limit: 500 }
      assert.deepStrictEqual(ids(yield* records.list(query)), [...a.ids, ...b.ids])
      assert.deepStrictEqual(ids(yield* records.list({ ...query, run_id: b.run })), b.ids)
      assert.deepStrictEqual(ids(yield* records.list({ ...query, status: "cancelled" })), a.ids)
      assert.deepStrictEqual(ids(yield* records.list({ ...query, status: "pending" })), b.ids)
      assert.deepStrictEqual(
        yield* records.list({ ...query, run_id: b.run, status: "cancelled" }),
        []
      )
      assert.isUndefined(yield* records.get(Samples.approvalId()))
    })
  )
}

const readTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a record is read by its id for its tenant, as it is without one, and for no other",
    () =>
      Effect.gen(function* () {
        const records = yield* ApprovalRecords
        const [tenant, other] = [Samples.tenant(), Samples.tenant()]
        const { ids: all, task } = yield* asking(tenant, 2)
        const found = yield* records.read(tenant, all[1]!)
        assert.deepInclude(found, { id: all[1]!, tenant, status: "pending" })
        assert.deepStrictEqual(found, {
          ...(yield* records.get(all[1]!))!,
          conversation: task.conversation,
          asked_by: task.by,
          agent: task.address.agent
        })
        assert.isUndefined(yield* records.read(other, all[1]!))
        assert.isUndefined(yield* records.read(tenant, Samples.approvalId()))
      })
  )
}

const overdueTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("records are listed by their kind, in whole pages", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const tenant = Samples.tenant()
      const requests = Array.from({ length: 6 }, (_, i) =>
        i % 2 === 0
          ? Samples.approvalRequested(callId(rootFrame, 1, i))
          : Samples.clientRequested(callId(rootFrame, 1, i), {
              expires_at: 9_000_000_000_000,
              client: { output_schema: { type: "string" } }
            })
      )
      yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 6), ...requests])
      const idsOf = (odd: number) =>
        requests.flatMap(({ approval }, i) => (i % 2 === odd ? [approval] : []))
      const pending = { tenant, status: "pending", limit: 3 } as const
      assert.deepStrictEqual(ids(yield* records.list({ ...pending, kind: "approval" })), idsOf(0))
      const clients = yield* records.list({ ...pending, kind: "client" })
      assert.deepStrictEqual(ids(clients), idsOf(1))
      assert.deepStrictEqual<unknown>(
        clients.map(({ altered, client, status }) => [client, altered, status]),
        idsOf(1).map(() => [{ output_schema: { type: "string" } }, undefined, "pending"])
      )
      const second = yield* records.list({
        ...pending,
        kind: "client",
        limit: 1,
        after: idsOf(1)[0]
      })
      assert.deepStrictEqual(ids(second), [idsOf(1)[1]])
      const due = yield* records.overdue(9_000_000_000_000, 500)
      assert.deepStrictEqual(ids(due.filter((record) => record.tenant === tenant)), idsOf(1))
    })
  )

  it.effect("a client's answer settles its record and its call, once", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const tenant = Samples.tenant()
      const request = Samples.clientRequested()
      const { run } = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1), request])
      const by = Samples.principal(["operator"], tenant)
      const answers = journal.amend(run, (state, now) =>
        answerClient(state, request.approval, { _tag: "Value", json: "1" }, by, now)
      )
      yield* answers
      const record = yield* records.get(request.approval)
      assert.deepInclude(record, { status: "decided", decided_by: by.id })
      assert.notProperty(record, "decision")
      assert.strictEqual((yield* Effect.flip(answers))._tag, "ApprovalSettled")
      const entries = yield* reader.read(run, 0, 100)
      assert.strictEqual(entries.filter(({ event }) => event._tag === "CallSettled").length, 1)
    })
  )

  it.effect("pending records of every tenant that have expired are overdue", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const a = yield* asking(tenant, 1, 1_000)
      const b = yield* asking(other, 2, 2_000)
      const gone = yield* asking(tenant, 1, 1_000)
      const never = yield* asking(tenant, 1)
      yield* journal.amend(gone.run, (state) => cancelRun(state, gone.run, "ada", "enough"))
      const mine = (found: ReadonlyArray<{ readonly tenant: Tenant; readonly id: ApprovalId }>) =>
        ids(found.filter((record) => record.tenant === tenant || record.tenant === other))
      assert.deepStrictEqual(mine(yield* records.overdue(1_999, 500)), a.ids)
      assert.deepStrictEqual(mine(yield* records.overdue(2_000, 500)), [...a.ids, ...b.ids])
      assert.deepStrictEqual(mine(yield* records.overdue(999, 500)), [])
      assert.strictEqual((yield* records.overdue(2_000, 1)).length, 1)
      assert.strictEqual((yield* records.get(never.ids[0]!))?.status, "pending")
    })
  )

  it.effect("the next expiry is that of the earliest pending record after a time", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const journal = yield* RunJournal
      // Later than the records of other tests.
      const late = 8_640_000_000_000_000
      yield* asking(Samples.tenant(), 1, late - 1)
      yield* asking(Samples.tenant(), 2, late - 3)
      yield* asking(Samples.tenant(), 1)
      const gone = yield* asking(Samples.tenant(), 1, late - 4)
      yield* journal.amend(gone.run, (state) => cancelRun(state, gone.run, "ada", "enough"))
      assert.strictEqual(yield* records.nextExpiry(late - 9), late - 3)
      assert.strictEqual(yield* records.nextExpiry(late - 3), late - 1)
      assert.isUndefined(yield* records.nextExpiry(late - 1))
    })
  )

  it.effect("an overdue record is found behind many of another tenant", () =>
    Effect.gen(function* () {
      const records = yield* ApprovalRecords
      const [a, b] = [Samples.tenant(), Samples.tenant()]
      // Overdue long before the records of other tests.
      const many = yield* asking(a, 20, 10)
      const one = yield* asking(b, 1, 10)
      const found = yield* records.overdue(10, 3)
      assert.deepStrictEqual(found.map(({ tenant }) => tenant).sort(), [a, a, b].sort())
      assert.includeMembers(ids(found), [many.ids[0]!, many.ids[1]!, one.ids[0]!])
      assert.isTrue(ids(found.slice(0, 2)).includes(one.ids[0]!))
    })
  )
}

export const approvalRecordsTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  listTests(it)
  readTests(it)
  overdueTests(it)
}

export const approvalRecordsContract = contract("ApprovalRecords", approvalRecordsTests)
