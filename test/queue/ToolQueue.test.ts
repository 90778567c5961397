import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as TenantReads from "../../layers/sql/engine/TenantReads.ts"
import * as SqlToolQueue from "../../layers/sql/tools/SqlToolQueue.ts"
import { ToolQueue, waiting_max } from "../../services/ToolQueue.ts"
import * as Samples from "../contracts/Samples.ts"
import { toolQueueContract } from "../contracts/ToolQueue.contract.ts"
import { engines } from "../sql/Engines.ts"

const sql = SqlToolQueue.layer.pipe(
  Layer.provide(TenantReads.layer),
  Layer.provide(Migrations.layer)
)

toolQueueContract("ephemeral", EphemeralToolQueue.layer)
for (const [engine, client] of engines) toolQueueContract(engine, Layer.provide(sql, client))

it.effect(
  "a tenant whose calls fill their places leaves the places of another free (ephemeral)",
  () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const tool = "shop.full@1"
      const [a, b] = [Samples.tenant(), Samples.tenant()]
      const send = (tenant: typeof a) =>
        queue.send({ id: Samples.unique("call"), tool, tenant, expires_at: 9e12, payload: {} })
      yield* Effect.replicateEffect(
        Effect.suspend(() => send(a)),
        waiting_max
      )
      assert.deepInclude(yield* Effect.flip(send(a)), { _tag: "ToolQueueFull", tool, waiting_max })
      assert.isUndefined(yield* send(b))
    }).pipe(Effect.provide(EphemeralToolQueue.layer))
)
