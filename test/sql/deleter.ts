/** A process that deletes a conversation. Arguments: a url, a tenant, the conversation. */
import { Effect, Layer, Redacted } from "effect"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { ConversationId, Tenant } from "../../src/value/Ids.ts"

const [, , url, tenant, conversation] = process.argv

await Effect.runPromise(
  SubjectErasure.use((erasure) =>
    erasure.eraseConversation({
      tenant: Tenant.make(tenant!),
      conversation: ConversationId.make(conversation!),
      by: "carl"
    })
  ).pipe(
    Effect.provide(
      Layer.provide(SqlStores.layer, Layer.orDie(Postgres.layer({ url: Redacted.make(url!) })))
    )
  )
)
process.stdout.write("deleted\n")
