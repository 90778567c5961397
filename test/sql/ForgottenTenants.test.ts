/** What principals read by an id, with statements that do not compare tenants: row security alone keeps them apart. */
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { Stores } from "../../services/Stores.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Tenant } from "../../src/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onBothEngines } from "./Engines.ts"
import { forgetfully, withoutRowSecurity } from "./Forgetting.ts"

/** What of a run, whose last event is a question, is read by an id. */
const readsOf = (
  { run, task }: Samples.Begun,
  approval: ReturnType<typeof Samples.approvalId>
): Readonly<Record<string, (tenant: Tenant) => Effect.Effect<unknown, unknown, Stores>>> => ({
  approval: (tenant) => ApprovalRecords.use((records) => records.read(tenant, approval)),
  conversation: (tenant) => ConversationStore.use((store) => store.read(tenant, task.conversation)),
  run: (tenant) => TaskStore.use((tasks) => tasks.read(tenant, run))
})

/** Whether there is something: undefined, an empty list and a failure are nothing. */
const isFound = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) &&
  exit.value !== undefined &&
  !(Array.isArray(exit.value) && exit.value.length === 0)

onBothEngines("reads of a principal whose statements compare no tenants", (it) => {
  it.effect("find what is its own tenant's, and of another one only without row security", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const request = Samples.approvalRequested()
      const begun = yield* Samples.begin({ tenant }, [Samples.modelTurned(1, 1), request])
      for (const [name, read] of Object.entries(readsOf(begun, request.approval))) {
        const found = (reader: Tenant) =>
          Effect.map(Effect.exit(forgetfully(read(reader))), isFound)
        assert.isTrue(yield* found(tenant), name)
        assert.isFalse(yield* found(other), name)
        assert.isTrue(yield* withoutRowSecurity(found(other)), name)
      }
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
