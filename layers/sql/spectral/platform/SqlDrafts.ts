/**
 * Drafts in SQL. A draft and its target are changed in one transaction, that of the call that publishes the draft. The rows of
 * both are locked, the draft's first.
 */
import { Clock, Effect, Schema } from "effect"
import type { DraftStore } from "../../../../services/spectral/platform/contracts/DraftStore.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import {
  FrameworkId,
  RecordId,
  SystemId
} from "../../../../src/spectral/platform/contracts/RecordId.ts"
import { Moment, Version } from "../../../../src/spectral/platform/contracts/Fact.ts"
import {
  CardContent,
  Draft,
  DraftId,
  draftId,
  DraftKind,
  DraftState,
  DraftStatus,
  DraftTitle,
  RubricContent
} from "../../../../src/spectral/platform/contracts/Draft.ts"
import type {
  DraftAuthor,
  DraftProposal
} from "../../../../src/spectral/platform/contracts/Draft.ts"
import {
  cardContent,
  noRoomFor,
  publishedCard,
  publishedRubric,
  rubricContent,
  withdrawnDraft
} from "../../../../src/spectral/platform/DraftSteps.ts"
import { Framework } from "../../../../src/spectral/platform/Framework.ts"
import { SystemCard } from "../../../../src/spectral/platform/contracts/SystemCard.ts"
import { readableRows, rowDecoder } from "../../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../../engine/SqlFailure.ts"
import { oneOf, pageReader } from "./RecordRows.ts"
import type { RecordReads } from "./RecordRows.ts"

const rowOf = <T extends Schema.Codec<unknown, unknown>, C extends Schema.Codec<unknown, unknown>>(
  target: T,
  content: C
) => ({
  draft_id: DraftId,
  based_on: Version,
  created_at: Moment,
  origin: Schema.String,
  target: Schema.fromJsonString(target),
  document: Schema.fromJsonString(
    Schema.Struct({ title: DraftTitle, principal: Schema.String, content })
  ),
  state: Schema.fromJsonString(DraftState)
})

const rubric_ids = Schema.Struct({ framework_id: FrameworkId, rubric_id: RecordId })
const card_ids = Schema.Struct({ system_id: SystemId })

const Row = Schema.Union([
  Schema.Struct({ kind: Schema.Literal(0), ...rowOf(rubric_ids, RubricContent) }),
  Schema.Struct({ kind: Schema.Literal(1), ...rowOf(card_ids, CardContent) })
])
type Row = typeof Row.Type

const decodeDrafts = rowDecoder(Row, "drafts")
const readDrafts = readableRows(Row, "drafts")

const columns =
  "kind, draft_id, based_on, created_at::float8 AS created_at, origin, target, document, state"
const one_text = `SELECT ${columns} FROM troupe.platform_drafts WHERE tenant = $1::text AND draft_id = $2::text`
const of_origin = `SELECT ${columns} FROM troupe.platform_drafts WHERE tenant = $1::text AND origin = $2::text`

/** The column `origin`: the run and the call of the author, separated by a space, which a run's id does not contain. */
const originOf = ({ call, run }: DraftAuthor): string => `${run} ${call}`

const authorOf = (origin: string, principal: string): DraftAuthor => {
  const at = origin.indexOf(" ")
  return { run: origin.slice(0, at), call: origin.slice(at + 1), principal }
}

const draftOf = (row: Row): Draft => {
  const { based_on, created_at, draft_id, origin, state } = row
  const { principal, title } = row.document
  const common = {
    draft_id,
    title,
    based_on,
    author: authorOf(origin, principal),
    created_at,
    state
  }
  return row.kind === 0
    ? { ...common, kind: "rubric", ...row.target, content: row.document.content }
    : { ...common, kind: "system_card", ...row.target, content: row.document.content }
}

const kindNumber = (kind: DraftKind): number => DraftKind.literals.indexOf(kind)
const statusNumber = (status: DraftStatus): number => DraftStatus.literals.indexOf(status)

const decodeFrameworks = rowDecoder(
  Schema.Struct({ framework: Schema.fromJsonString(Framework) }),
  "frameworks"
)
const decodeCards = rowDecoder(
  Schema.Struct({ card: Schema.fromJsonString(SystemCard), revision: Version }),
  "system cards"
)
const decodeRoom = rowDecoder(
  Schema.Struct({ open: Schema.Int, last: Schema.Int }),
  "counts of drafts"
)

/** Readers of the records that a draft may be about. */
const targetsOf = (of: RecordReads, lock: "" | "FOR UPDATE") => ({
  framework: oneOf(
    of,
    `SELECT framework FROM troupe.platform_frameworks WHERE tenant = $1::text AND framework_id = $2::text ${lock}`,
    decodeFrameworks,
    "framework"
  ),
  card: oneOf(
    of,
    `SELECT card, revision FROM troupe.platform_systems WHERE tenant = $1::text AND system_id = $2::text ${lock}`,
    decodeCards,
    "system"
  )
})

/** Serialises the writers of a tenant, so that numbers have no gaps and the limit holds. */
const writer_lock =
  "SELECT pg_advisory_xact_lock(hashtextextended('troupe drafts ' || $1::text, 0))::text"
const room_text = `SELECT coalesce(max(number), 0)::int4 AS last,
    (SELECT count(*)::int4 FROM troupe.platform_drafts WHERE tenant = $1::text AND status = 0) AS open
  FROM troupe.platform_drafts WHERE tenant = $1::text`

const writer = (of: RecordReads): DraftStore["Service"]["write"] => {
  const { sql } = of
  const targets = targetsOf(of, "")
  /** The content of the draft, the record that it is about, and the revision on which it is based. */
  const written = Effect.fnUntraced(function* (tenant: Tenant, proposal: DraftProposal) {
    if (proposal.kind === "rubric") {
      const { kind, ...given } = proposal
      const { framework_id, rubric_id } = given
      const { framework } = yield* targets.framework(tenant, framework_id)
      const content = yield* Effect.fromResult(rubricContent(framework, given))
      const target = { framework_id, rubric_id }
      return { kind, ...target, target, based_on: framework.version, content } as const
    }
    const { kind, ...given } = proposal
    const { system_id } = given
    const { card, revision } = yield* targets.card(tenant, system_id)
    const content = yield* Effect.fromResult(cardContent(card, given))
    return { kind, system_id, target: { system_id }, based_on: revision, content } as const
  })
  return Effect.fnUntraced(
    function* (tenant, proposal, author) {
      yield* sql.unsafe(writer_lock, [tenant])
      const origin = originOf(author)
      const [known] = yield* decodeDrafts(yield* sql.unsafe(of_origin, [tenant, origin]))
      if (known !== undefined) return draftOf(known)
      const { target, ...draft } = yield* written(tenant, proposal)
      const [room] = yield* decodeRoom(yield* sql.unsafe(room_text, [tenant]))
      const { last, open } = room ?? { last: 0, open: 0 }
      const full = noRoomFor(open, last)
      if (full !== undefined) return yield* full
      const number = last + 1
      const draft_id = draftId(number)
      const created_at = yield* Clock.currentTimeMillis
      const state: DraftState = { status: "draft" }
      const { title } = proposal
      const { principal } = author
      yield* sql.unsafe(
        `INSERT INTO troupe.platform_drafts (tenant, draft_id, number, kind, created_at, based_on, origin, target, document, state)
         VALUES ($1::text, $2::text, $3::int4, $4::int2, $5::int8, $6::int4, $7::text, $8::text, $9::text, $10::text)`,
        [
          tenant,
          draft_id,
          number,
          kindNumber(draft.kind),
          created_at,
          draft.based_on,
          origin,
          JSON.stringify(target),
          JSON.stringify({ title, principal, content: draft.content }),
          JSON.stringify(state)
        ]
      )
      return { ...draft, draft_id, title, author, created_at, state }
    },
    inTransaction(sql),
    Effect.mapError(orStoreError)
  )
}

const closer = (of: RecordReads): Pick<DraftStore["Service"], "publish" | "withdraw"> => {
  const { sql } = of
  const targets = targetsOf(of, "FOR UPDATE")
  const locked = oneOf(of, `${one_text} FOR UPDATE`, decodeDrafts, "draft")
  const keep = (tenant: Tenant, { draft_id, state }: Draft) =>
    sql.unsafe(
      `UPDATE troupe.platform_drafts SET status = $3::int2, state = $4::text
       WHERE tenant = $1::text AND draft_id = $2::text`,
      [tenant, draft_id, statusNumber(state.status), JSON.stringify(state)]
    )
  return {
    withdraw: Effect.fnUntraced(
      function* (tenant, id, closing) {
        const now = yield* Clock.currentTimeMillis
        const draft = draftOf(yield* locked(tenant, id))
        const next = yield* Effect.fromResult(withdrawnDraft(draft, closing, now))
        yield* keep(tenant, next)
        return next
      },
      inTransaction(sql),
      Effect.mapError(orStoreError)
    ),
    publish: Effect.fnUntraced(
      function* (tenant, id, publication) {
        const now = yield* Clock.currentTimeMillis
        const draft = draftOf(yield* locked(tenant, id))
        if (draft.kind === "rubric") {
          const { framework } = yield* targets.framework(tenant, draft.framework_id)
          const next = yield* Effect.fromResult(publishedRubric(draft, framework, publication, now))
          yield* sql.unsafe(
            "UPDATE troupe.platform_frameworks SET framework = $3::text WHERE tenant = $1::text AND framework_id = $2::text",
            [tenant, draft.framework_id, JSON.stringify(next.framework)]
          )
          yield* keep(tenant, next.draft)
          return next.revision
        }
        const known = yield* targets.card(tenant, draft.system_id)
        const next = yield* Effect.fromResult(publishedCard(draft, known, publication, now))
        yield* sql.unsafe(
          `UPDATE troupe.platform_systems SET card = $3::text, revision = $4::int4, published = true
           WHERE tenant = $1::text AND system_id = $2::text`,
          [tenant, draft.system_id, JSON.stringify(next.card), next.revision]
        )
        yield* keep(tenant, next.draft)
        return next.revision
      },
      inTransaction(sql),
      Effect.mapError(orStoreError)
    )
  }
}

export const drafts = (of: RecordReads): DraftStore["Service"] => {
  const page = pageReader(of, {
    table: "platform_drafts",
    columns,
    id: "draft_id",
    order: ["number", "draft_id"],
    direction: "DESC",
    filters: [
      ["kind", "int2"],
      ["status", "int2"]
    ],
    read: readDrafts
  })
  const one = oneOf(of, one_text, decodeDrafts, "draft")
  return {
    write: writer(of),
    drafts: (tenant, { kind, status, ...query }) =>
      Effect.map(
        page(
          tenant,
          query,
          kind === undefined ? undefined : kindNumber(kind),
          status === undefined ? undefined : statusNumber(status)
        ),
        (rows) => rows.map(draftOf)
      ),
    draft: (tenant, id) =>
      Effect.mapBoth(one(tenant, id), { onSuccess: draftOf, onFailure: orStoreError }),
    ...closer(of)
  }
}
