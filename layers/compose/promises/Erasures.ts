/**
 * The methods of a service for erasures of subjects.
 */
import { Effect, Schema } from "effect"
import { SubjectErasure } from "../../../services/SubjectErasure.ts"
import { ErasedSubject, ErasureId } from "../../../src/erasure/Erasure.ts"
import { Limit, limit_default } from "../../../src/operation/Page.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import type { Principal } from "../../../src/principal/Principal.ts"

const readRequest = inputReader(Schema.Struct({ subject: ErasedSubject }))
const readPage = inputReader(
  Schema.Struct({ limit: Schema.optionalKey(Limit), after: Schema.optionalKey(ErasureId) })
)

export const erase = Effect.fnUntraced(function* (request: unknown, by: Principal) {
  const { id, tenant } = yield* Entries.entitled(by, "erase")
  const { subject } = yield* readRequest(request, "request")
  return yield* SubjectErasure.use((erasure) => erasure.erase({ tenant, subject, by: id }))
})

export const list = Effect.fnUntraced(function* (page: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "erase")
  const read = yield* readPage(page, "page")
  return yield* SubjectErasure.use((erasure) =>
    erasure.list({ limit: limit_default, ...read, tenant })
  )
})
