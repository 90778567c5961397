/** Erasures of subjects, and the records of them. */
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { ErasureRecord } from "../../src/erasure/Erasure.ts"
import * as ErasureOperations from "../../src/operation/ErasureOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { Effect } from "effect"
import { pageOf, serve } from "./Served.ts"

export const list = serve(
  ErasureOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default }, { tenant }) {
    const erasures = yield* SubjectErasure
    const page = yield* boundedPage(limit, (last: ErasureRecord | undefined, limit) =>
      erasures.list({ tenant, limit, after: last?.id ?? after })
    )
    return pageOf(page, "id")
  })
)

export const erase = serve(ErasureOperations.erase, ({ subject }, { id, tenant }) =>
  SubjectErasure.use((erasures) => erasures.erase({ tenant, subject, by: id }))
)
