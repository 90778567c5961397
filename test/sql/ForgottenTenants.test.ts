/** What principals read by an id, with statements that do not compare tenants: row security alone keeps them apart. */
import { createHash } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { Stores } from "../../services/Stores.ts"
import { RunList } from "../../services/RunList.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { ApprovalId, Tenant } from "../../src/value/Ids.ts"
import { recordKey } from "../../src/tool/CallRecord.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"
import { forgetfully, keptApart, withoutRowSecurity } from "./Forgetting.ts"

type Read = (tenant: Tenant) => Effect.Effect<unknown, unknown, Stores>

/** What is read of a run whose last event is a question, whose message has a file, and of which a call is recorded. */
const readsOf = (
  { run, task }: Samples.Begun,
  approval: ApprovalId
): Readonly<Record<string, Read>> => ({
  approval: (tenant) => ApprovalRecords.use((records) => records.read(tenant, approval)),
  conversation: (tenant) => ConversationStore.use((store) => store.read(tenant, task.conversation)),
  run: (tenant) => TaskStore.use((tasks) => tasks.read(tenant, run)),
  events: (tenant) => RunReader.use((reader) => reader.readFor(tenant, run, 0, 16)),
  rows: (tenant) => RunQuarantine.use((quarantine) => quarantine.raw(tenant, run, 0, 16)),
  quarantined: (tenant) =>
    RunQuarantine.use((quarantine) => quarantine.quarantined({ tenant, limit: 1 })),
  holders: (tenant) =>
    BlobStore.use((blobs) => blobs.heldBy(tenant, task.conversation, file.digest)),
  file: (tenant) => BlobStore.use((blobs) => blobs.read(tenant, file.digest, 0, 10)),
  calls: (tenant) => CallRecords.use((records) => records.ofRun(tenant, run, 10)),
  tool: (tenant) => CallRecords.use((records) => records.ofTool(tenant, "look", 10))
})

const bytes = new TextEncoder().encode("a receipt")
const file = {
  digest: createHash("sha256").update(bytes).digest("hex"),
  media_type: "text/plain"
}

/** Keeps the file with the run's message and records a call, and puts another run of the tenant in quarantine. */
const furnish = Effect.fnUntraced(function* ({ run, task }: Samples.Begun) {
  const { conversation, tenant, trace_id } = task
  const holder = { run, conversation, as: "message" } as const
  yield* BlobStore.use((blobs) => blobs.put(tenant, file, bytes, holder, 1_000))
  const call = {
    key: recordKey(`${run}/${Samples.firstCall}`, 0n),
    tenant,
    run_id: run,
    call_id: Samples.firstCall,
    trace_id,
    agent_name: "operations",
    tool_name: "look",
    arguments: {},
    outcome: { _tag: "Value", json: "1" },
    started_at: 1,
    ended_at: 2,
    duration_ms: 1
  } as const
  yield* CallRecords.use((records) => records.store([call]))
  const broken = yield* Samples.begin({ tenant })
  yield* SqlClient.SqlClient.use((sql) =>
    sql.unsafe("DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = 0", [broken.run])
  )
  const error = yield* RunReader.use((reader) => Effect.flip(reader.read(broken.run, 0, 10)))
  assert.strictEqual(error._tag, "RunQuarantined")
})

onEngines("reads of a principal whose statements compare no tenants", (it) => {
  it.effect("find what is its own tenant's, and of another one only without row security", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const request = Samples.approvalRequested()
      const begun = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1), request])
      yield* furnish(begun)
      yield* keptApart(readsOf(begun, request.approval), { tenant, other })
    })
  )

  it.effect("of runs that are not over compare them too: row security is the second wall", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      yield* Samples.begin({ tenant: Samples.tenant() })
      const open = RunList.use((runs) => runs.open(tenant, 10))
      assert.deepStrictEqual(yield* withoutRowSecurity(open), [])
      yield* Samples.begin({ tenant })
      assert.lengthOf(yield* withoutRowSecurity(open), 1)
    })
  )

  it.effect("of several tenants at once are answered to each as if it were alone", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const begun = yield* Effect.forEach(Array.from({ length: 12 }), () =>
        Samples.begin({ tenant: Samples.tenant() })
      )
      const asked = begun.flatMap(({ task }) =>
        begun.map(({ run, task: of }) => ({ reader: task.tenant, run, isOwn: of === task }))
      )
      const answers = yield* Effect.forEach(
        asked,
        ({ reader, run }) => forgetfully(tasks.read(reader, run)),
        { concurrency: "unbounded" }
      )
      for (const [i, { isOwn, reader, run }] of asked.entries()) {
        assert.strictEqual(answers[i]?.id, isOwn ? run : undefined)
        assert.strictEqual(answers[i]?.tenant, isOwn ? reader : undefined)
      }
    })
  )
})
