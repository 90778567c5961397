/**
 * Erasures of subjects, for the facade.
 */
import { Effect, Schema } from "effect"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { ErasedSubject, ErasureId } from "../../src/erasure/Erasure.ts"
import * as Entries from "../../src/entry/Entries.ts"
import { InvalidInput, inputReader } from "../../src/entry/InvalidInput.ts"
import { Tenant } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"

const readRequest = inputReader(
  Schema.Struct({ subject: ErasedSubject, tenant: Schema.optionalKey(Tenant) })
)
const readPage = inputReader(
  Schema.Struct({
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))),
    after: Schema.optionalKey(ErasureId)
  })
)

export const erase = Effect.fnUntraced(function* (request: unknown, by: Principal) {
  const { id, tenant: own } = yield* Entries.entitled(by, "erase")
  const { subject, tenant = own } = yield* readRequest(request, "request")
  if (tenant !== own) {
    return yield* new InvalidInput({
      field: "request.tenant",
      message: "it is not the principal's tenant"
    })
  }
  return yield* SubjectErasure.use((erasure) => erasure.erase({ tenant, subject, by: id }))
})

export const list = Effect.fnUntraced(function* (page: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "erase")
  const read = yield* readPage(page, "page")
  return yield* SubjectErasure.use((erasure) => erasure.list({ limit: 50, ...read, tenant }))
})
