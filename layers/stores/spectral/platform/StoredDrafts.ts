/**
 * Drafts. A draft and its target are changed in one transaction, that of the call that publishes the draft. The rows of both are
 * locked, the draft's first.
 */
import { Clock, Effect } from "effect"
import type { DraftStore } from "../../../../services/spectral/platform/contracts/DraftStore.ts"
import type { Rows } from "../../../../services/Rows.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import { draftId } from "../../../../src/spectral/platform/contracts/Draft.ts"
import type {
  Draft,
  DraftAuthor,
  DraftProposal,
  DraftState
} from "../../../../src/spectral/platform/contracts/Draft.ts"
import {
  cardContent,
  noRoomFor,
  publishedCard,
  publishedRubric,
  rubricContent,
  withdrawnDraft
} from "../../../../src/spectral/platform/DraftSteps.ts"
import type { Stored } from "../../TypedRows.ts"
import { tableRows } from "../../TypedRows.ts"
import * as Tables from "./PlatformTables.ts"
import { orNotFound, pageLimit } from "./PlatformTables.ts"
import { frameworkIn, systemIn } from "./StoredWorkspaces.ts"

type Driver = Rows["Service"]

const originOf = ({ call, run }: DraftAuthor): string => `${run} ${call}`

const authorOf = (origin: string, principal: string): DraftAuthor => {
  const at = origin.indexOf(" ")
  return { run: origin.slice(0, at), call: origin.slice(at + 1), principal }
}

/** A target and a content are always those of the kind. */
const draftOf = (row: Stored<typeof Tables.drafts.columns>): Draft => {
  const { based_on, created_at, document, draft_id, kind, origin, state, target } = row
  const { content, principal, title } = document
  const author = authorOf(origin, principal)
  return { draft_id, kind, title, based_on, author, created_at, state, ...target, content } as Draft
}

const writer = (driver: Driver): DraftStore["Service"]["write"] => {
  const rows = tableRows(driver, Tables.drafts)
  const numbers = tableRows(driver, Tables.draftNumbers)
  const [framework, system] = [frameworkIn(driver), systemIn(driver)]
  /** The content of the draft, the record that it is about, and the revision on which it is based. */
  const written = Effect.fnUntraced(function* (tenant: Tenant, proposal: DraftProposal) {
    if (proposal.kind === "rubric") {
      const { kind: _kind, ...given } = proposal
      const { framework_id, rubric_id } = given
      const known = yield* framework(tenant, framework_id)
      const content = yield* Effect.fromResult(rubricContent(known, given))
      return { target: { framework_id, rubric_id }, based_on: known.version, content }
    }
    const { kind: _kind, ...given } = proposal
    const { system_id } = given
    const { card, revision } = yield* system(tenant, system_id)
    const content = yield* Effect.fromResult(cardContent(card, given))
    return { target: { system_id }, based_on: revision, content }
  })
  return Effect.fnUntraced(function* (tenant, proposal, author) {
    // Numbers have no gaps, and the limit holds.
    yield* driver.alone(`troupe drafts ${tenant}`)
    const origin = originOf(author)
    const known = yield* rows.one({ tenant, origin })
    if (known !== undefined) return draftOf(known)
    const { content, ...draft } = yield* written(tenant, proposal)
    const open = yield* rows.count({ where: { tenant, status: "draft" } })
    const newest = { where: { tenant }, order: ["number"], descends: true, limit: 1 }
    const [{ number: last } = { number: 0 }] = yield* numbers.all(newest)
    const full = noRoomFor(open, last)
    if (full !== undefined) return yield* full
    const state: DraftState = { status: "draft" }
    const { kind, title } = proposal
    const number = last + 1
    const row = {
      tenant,
      draft_id: draftId(number),
      number,
      kind,
      status: state.status,
      created_at: yield* Clock.currentTimeMillis,
      origin,
      ...draft,
      document: { title, principal: author.principal, content },
      state
    }
    yield* rows.add([row])
    return draftOf(row)
  }, driver.transaction)
}

export const drafts = (driver: Driver): DraftStore["Service"] => {
  const rows = tableRows(driver, Tables.drafts)
  const frameworks = tableRows(driver, Tables.frameworks)
  const systems = tableRows(driver, Tables.systems)
  const [framework, system] = [frameworkIn(driver), systemIn(driver)]
  const get = (tenant: Tenant, draft_id: string, lock?: "wait") =>
    rows
      .one({ tenant, draft_id: draft_id as Draft["draft_id"] }, lock)
      .pipe(orNotFound("draft", draft_id), Effect.map(draftOf))
  const keep = (tenant: Tenant, { draft_id, state }: Draft) =>
    rows.set({ where: { tenant, draft_id } }, { status: state.status, state })
  return {
    write: writer(driver),
    drafts: (tenant, { after, kind, limit, status }) =>
      Effect.map(
        rows.list({
          where: { tenant, kind, status },
          order: ["number", "draft_id"],
          descends: true,
          after: after === undefined ? undefined : { tenant, draft_id: after as Draft["draft_id"] },
          limit: pageLimit(limit)
        }),
        (found) => found.map(draftOf)
      ),
    draft: (tenant, id) => get(tenant, id),
    withdraw: Effect.fnUntraced(function* (tenant, id, closing) {
      const now = yield* Clock.currentTimeMillis
      const draft = yield* get(tenant, id, "wait")
      const next = yield* Effect.fromResult(withdrawnDraft(draft, closing, now))
      yield* keep(tenant, next)
      return next
    }, driver.transaction),
    publish: Effect.fnUntraced(function* (tenant, id, publication) {
      const now = yield* Clock.currentTimeMillis
      const draft = yield* get(tenant, id, "wait")
      if (draft.kind === "rubric") {
        const { framework_id } = draft
        const known = yield* framework(tenant, framework_id, "wait")
        const next = yield* Effect.fromResult(publishedRubric(draft, known, publication, now))
        yield* frameworks.set({ where: { tenant, framework_id } }, { framework: next.framework })
        yield* keep(tenant, next.draft)
        return next.revision
      }
      const { system_id } = draft
      const known = yield* system(tenant, system_id, "wait")
      const next = yield* Effect.fromResult(publishedCard(draft, known, publication, now))
      const { card, revision } = next
      yield* systems.set({ where: { tenant, system_id } }, { card, revision, published: true })
      yield* keep(tenant, next.draft)
      return revision
    }, driver.transaction)
  }
}
