/**
 * All stores over one SQL database of either engine. The database is migrated before the stores answer.
 */
import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Stores } from "../../../services/Stores.ts"
import * as Stored from "../../stores/StoredStores.ts"
import * as Migrations from "../engine/Migrations.ts"
import type { PoolerUnusable } from "../engine/PoolerUnusable.ts"
import * as SqlRows from "../engine/SqlRows.ts"
import * as SqlApprovalRecords from "../journal/SqlApprovalRecords.ts"
import * as SqlBlobStore from "./SqlBlobStore.ts"
import * as SqlBudgetLedger from "./SqlBudgetLedger.ts"
import * as SqlConversationStore from "./SqlConversationStore.ts"
import * as SqlCostLedger from "./SqlCostLedger.ts"
import * as SqlMemoryStore from "./SqlMemoryStore.ts"
import type { SqlNotify } from "../engine/SqlNotify.ts"
import * as SqlOutbox from "../outbox/SqlOutbox.ts"
import * as SqlOutboxReader from "../outbox/SqlOutboxReader.ts"
import * as SqlOutboxReplayer from "../outbox/SqlOutboxReplayer.ts"
import * as SqlRunJournal from "../journal/SqlRunJournal.ts"
import * as SqlRunList from "../journal/SqlRunList.ts"
import * as SqlSubjectErasure from "./SqlSubjectErasure.ts"
import * as SqlTaskStore from "../journal/SqlTaskStore.ts"
import * as TenantReads from "../engine/TenantReads.ts"
import * as SqlToolQueue from "../tools/SqlToolQueue.ts"

/** Why the stores could not start. */
export type StartError = Migrations.StartError | PoolerUnusable

/** The client that transactional tools write with. */
export type Client = SqlClient.SqlClient

export const layer: Layer.Layer<Stores, StartError, SqlClient.SqlClient | SqlNotify> =
  Layer.mergeAll(
    SqlRunJournal.layer,
    SqlRunList.layer,
    SqlBudgetLedger.layer,
    SqlCostLedger.layer,
    Stored.layer,
    SqlApprovalRecords.layer,
    SqlMemoryStore.layer,
    SqlOutboxReader.layer,
    SqlOutboxReplayer.layer,
    SqlToolQueue.layer,
    SqlSubjectErasure.layer
  ).pipe(
    Layer.provideMerge(SqlBlobStore.layer),
    Layer.provideMerge(
      Layer.mergeAll(SqlConversationStore.layer, SqlOutbox.layer, SqlTaskStore.layer)
    ),
    Layer.provideMerge(SqlRows.layer),
    Layer.provide(Layer.provideMerge(TenantReads.layer, Migrations.layer))
  )
