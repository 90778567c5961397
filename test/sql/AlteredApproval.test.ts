import { assert } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { NodeCrypto } from "@effect/platform-node"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as LocalApprovalDesk from "../../layers/runtime/approval/LocalApprovalDesk.ts"
import * as OpenQuestions from "../../layers/runtime/approval/OpenQuestions.ts"
import { shownDigest } from "../../layers/runtime/tool/CallDigests.ts"
import { shownByRequest } from "../../src/approval/ShownApproval.ts"
import type { ApprovalRequested } from "../../src/run/RunEvent.ts"
import { Digest } from "effect/crypto"
import * as NoAgents from "../contracts/NoAgents.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

const withDesk = Effect.provide([
  LocalApprovalDesk.layer.pipe(
    Layer.provide(Layer.merge(OpenQuestions.layer, NoAgents.layer)),
    Layer.provideMerge(NodeCrypto.layerDigest)
  ),
  Logger.layer([])
])

/** A run that asks one question. `signed`: as runs ask today; else as they did before there was a digest of what is shown. */
const asking = Effect.fnUntraced(function* (
  signed: boolean,
  given: Partial<ApprovalRequested> = {}
) {
  const tenant = Samples.tenant()
  const begun = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1)])
  const plain = Samples.approvalRequested(Samples.firstCall, given)
  const shown_digest = yield* shownDigest(
    yield* Digest.Digest,
    shownByRequest(begun.run, tenant, plain)
  )
  const request = signed ? { ...plain, shown_digest } : plain
  yield* (yield* RunJournal).append(begun.next(request))
  return { ...begun, tenant, id: request.approval }
})

/** What somebody who reaches the database writes into the record. */
const alterations: ReadonlyArray<readonly [field: string, path: string, value: string]> = [
  ["payload", "{payload,tool_name}", '"read_balance"'],
  ["payload", "{payload,agent_name}", '"auditor"'],
  ["payload", "{payload,args_summary}", '"amount: 1"'],
  ["payload", "{payload,effect_description}", '"HARMLESS"'],
  ["arguments", "{arguments}", '{"event_id":"harmless"}'],
  ["tool_key", "{tool_key}", '"operations.read_balance@1"'],
  ["approvers", "{approvers}", '["operator"]'],
  ["expires_at", "{expires_at}", "99999999999999"],
  ["digest", "{digest}", `"${"c".repeat(64)}"`],
  ["shown_digest", "{shown_digest}", `"${"d".repeat(64)}"`],
  ["policy_version", "{policy_version}", '"2"']
]

onEngines("a record that was changed in the database", (it) => {
  for (const signed of [true, false]) {
    it.effect(
      `decides nothing, whatever of it was changed (${signed ? "with" : "without"} a digest of what is shown)`,
      () =>
        withDesk(
          Effect.gen(function* () {
            const desk = yield* ApprovalDesk
            const reader = yield* RunReader
            const sql = yield* SqlClient.SqlClient
            const { id, run, tenant } = yield* asking(signed)
            const by = Samples.principal(["admin"], tenant)
            const before = (yield* reader.head(run)).length
            for (const [field, path, value] of alterations) {
              yield* sql.unsafe(
                "UPDATE troupe.approvals SET payload = jsonb_set(payload::jsonb, $2::text[], $3::text::jsonb)::text WHERE id = $1::uuid",
                [id, path, value]
              )
              const error = yield* Effect.flip(desk.decide(id, { _tag: "Approve" }, by))
              assert.strictEqual(error._tag, "ApprovalAltered", path)
              if (error._tag === "ApprovalAltered") assert.include(error.fields, field)
              assert.strictEqual((yield* reader.head(run)).length, before)
              const [listed] = yield* desk.pending(by, 1)
              assert.deepInclude(listed, { id, altered: true })
              assert.deepInclude(yield* desk.get(id, by), { id, altered: true })
              const stored = yield* ApprovalRecords.use((records) => records.get(id))
              assert.notProperty(stored, "altered")
              // The record as it was, from the run's own event.
              const [row] = yield* sql.unsafe<{ readonly payload: string }>(
                "SELECT payload FROM troupe.run_events WHERE run_id = $1::uuid AND type = 'ApprovalRequested'",
                [run]
              )
              yield* sql.unsafe("UPDATE troupe.approvals SET payload = $2 WHERE id = $1::uuid", [
                id,
                restored(row!.payload, id, tenant, run)
              ])
            }
            assert.notProperty((yield* desk.pending(by, 1))[0], "altered")
            yield* desk.decide(id, { _tag: "Approve" }, by)
            assert.strictEqual((yield* reader.head(run)).length, before + 1)
          })
        )
    )
  }

  it.effect("can be denied, and is asked no more, while nothing else is decided on it", () =>
    withDesk(
      Effect.gen(function* () {
        const desk = yield* ApprovalDesk
        const sql = yield* SqlClient.SqlClient
        const { id, run, tenant } = yield* asking(true)
        const by = Samples.principal(["approver"], tenant)
        yield* sql.unsafe(
          "UPDATE troupe.approvals SET payload = jsonb_set(payload::jsonb, '{arguments}', '{}')::text WHERE id = $1::uuid",
          [id]
        )
        const others = [
          { _tag: "Modify", arguments: {} },
          { _tag: "RequestRevision", note: "less" }
        ] as const
        for (const decision of others) {
          const error = yield* Effect.flip(desk.decide(id, decision, by))
          assert.strictEqual(error._tag, "ApprovalAltered")
        }
        yield* desk.decide(id, { _tag: "Deny", reason: "not what was asked" }, by)
        assert.deepStrictEqual(yield* desk.pending(by, 500), [])
        const events = yield* (yield* RunReader).read(run, 0, 100)
        const settled = events.at(-1)!.event
        assert.strictEqual(settled._tag === "CallSettled" && settled.outcome._tag, "Denied")
      })
    )
  )

  it.effect("moved to another run or call decides nothing", () =>
    withDesk(
      Effect.gen(function* () {
        const desk = yield* ApprovalDesk
        const reader = yield* RunReader
        const sql = yield* SqlClient.SqlClient
        const harmless = yield* asking(true)
        const harmful = yield* asking(true)
        const [row] = yield* sql.unsafe<{ readonly payload: string }>(
          "SELECT payload FROM troupe.approvals WHERE id = $1::uuid",
          [harmless.id]
        )
        const moved = JSON.stringify({ ...JSON.parse(row!.payload), run_id: harmful.run })
        yield* sql.unsafe("UPDATE troupe.approvals SET payload = $2 WHERE id = $1::uuid", [
          harmless.id,
          moved
        ])
        const by = Samples.principal(["admin"], harmless.tenant)
        const error = yield* Effect.flip(desk.decide(harmless.id, { _tag: "Approve" }, by))
        assert.strictEqual(error._tag, "ApprovalNotFound")
        assert.strictEqual((yield* reader.head(harmful.run)).status, "awaiting_approval")
      })
    )
  )

  it.effect("that cannot be read hides none of the others, and cannot be decided", () =>
    withDesk(
      Effect.gen(function* () {
        const desk = yield* ApprovalDesk
        const records = yield* ApprovalRecords
        const sql = yield* SqlClient.SqlClient
        const spoilt = yield* asking(true, { expires_at: 1 })
        const whole = yield* asking(true, { expires_at: 1 })
        yield* sql.unsafe("UPDATE troupe.approvals SET payload = 'no JSON' WHERE id = $1::uuid", [
          spoilt.id
        ])
        const overdue = (yield* records.overdue(2, 500)).map(({ id }) => id)
        assert.include(overdue, whole.id)
        assert.notInclude(overdue, spoilt.id)
        yield* sql.unsafe("UPDATE troupe.approvals SET tenant = $2 WHERE id = $1::uuid", [
          whole.id,
          spoilt.tenant
        ])
        const page = yield* records.list({ tenant: spoilt.tenant, limit: 1 })
        assert.deepStrictEqual(
          page.map(({ id }) => id),
          [whole.id]
        )
        const by = Samples.principal(["admin"], spoilt.tenant)
        const error = yield* Effect.flip(desk.decide(spoilt.id, { _tag: "Approve" }, by))
        assert.strictEqual(error._tag, "StoreError")
      })
    )
  )
})

const restored = (event: string, id: string, tenant: string, run_id: string): string => {
  const { _tag: _, approval: __, proposal: ___, tool_digest: ____, ...rest } = JSON.parse(event)
  return JSON.stringify({ ...rest, id, tenant, run_id, requested_at: 0, status: "pending" })
}
