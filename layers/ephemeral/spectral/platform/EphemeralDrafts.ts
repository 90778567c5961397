/**
 * Drafts in one process. The check and the write of each step are synchronous, so that nothing else runs between them.
 */
import { Clock, Effect } from "effect"
import type { DraftStore } from "../../../../services/spectral/platform/contracts/DraftStore.ts"
import type { Tenant } from "../../../../src/value/Ids.ts"
import type {
  Draft,
  DraftAuthor,
  DraftProposal
} from "../../../../src/spectral/platform/contracts/Draft.ts"
import { personal_texts } from "../../../../src/spectral/platform/contracts/RecordTexts.ts"
import { draftId } from "../../../../src/spectral/platform/contracts/Draft.ts"
import type { Publication } from "../../../../src/spectral/platform/contracts/Draft.ts"
import {
  cardContent,
  noRoomFor,
  publishedCard,
  publishedRubric,
  rubricContent,
  withdrawnDraft
} from "../../../../src/spectral/platform/DraftSteps.ts"
import { offerRows } from "../../EphemeralStore.ts"
import type * as PlatformMaps from "./PlatformMaps.ts"
import { orNotFound, pageOf } from "./PlatformMaps.ts"

type Maps = PlatformMaps.PlatformMaps["Service"]

/** The number of a draft: 12 for `draft-12`. Numbers have no gaps. */
const numberOf = ({ draft_id }: Draft): number => Number(draft_id.slice("draft-".length))

const ofCall = (of: DraftAuthor, { author }: Draft): boolean =>
  author.run === of.run && author.call === of.call

/** The content of the draft, the record that it is about, and the revision on which it is based. */
const written = Effect.fnUntraced(function* (
  { frameworks, systems }: PlatformMaps.WorkspaceMaps,
  proposal: DraftProposal
) {
  if (proposal.kind === "rubric") {
    const { kind, ...given } = proposal
    const { framework_id, rubric_id } = given
    const framework = yield* orNotFound(frameworks.get(framework_id), "framework", framework_id)
    const content = yield* Effect.fromResult(rubricContent(framework, given))
    return { kind, framework_id, rubric_id, based_on: framework.version, content } as const
  }
  const { kind, ...given } = proposal
  const { system_id } = given
  const { card, revision } = yield* orNotFound(systems.get(system_id), "system", system_id)
  const content = yield* Effect.fromResult(cardContent(card, given))
  return { kind, system_id, based_on: revision, content } as const
})

const writer = ({ getOrCreate, of }: Maps): DraftStore["Service"]["write"] =>
  Effect.fnUntraced(function* (tenant, proposal, author) {
    const created_at = yield* Clock.currentTimeMillis
    const all = [...of(tenant).drafts.values()]
    const known = all.find((draft) => ofCall(author, draft))
    if (known !== undefined) return known
    const content = yield* written(of(tenant), proposal)
    const open = all.filter(({ state }) => state.status === "draft").length
    const full = noRoomFor(open, all.length)
    if (full !== undefined) return yield* full
    const draft_id = draftId(all.length + 1)
    const { title } = proposal
    const draft: Draft = {
      ...content,
      draft_id,
      title,
      author,
      created_at,
      state: { status: "draft" }
    }
    getOrCreate(tenant).drafts.set(draft_id, draft)
    return draft
  })

const published = Effect.fnUntraced(function* (
  { frameworks, systems }: PlatformMaps.WorkspaceMaps,
  draft: Draft,
  publication: Publication,
  now: number
) {
  if (draft.kind === "rubric") {
    const { framework_id } = draft
    const known = yield* orNotFound(frameworks.get(framework_id), "framework", framework_id)
    const next = yield* Effect.fromResult(publishedRubric(draft, known, publication, now))
    frameworks.set(framework_id, next.framework)
    return next
  }
  const { system_id } = draft
  const known = yield* orNotFound(systems.get(system_id), "system", system_id)
  const next = yield* Effect.fromResult(publishedCard(draft, known, publication, now))
  systems.set(system_id, { card: next.card, revision: next.revision, published: true })
  return next
})

/** The parts of drafts in which a person may be named. */
const erasable = (drafts: Map<string, Draft>) =>
  [...drafts.values()].map((draft) => {
    const { author, content, draft_id, state, title } = draft
    return {
      value: { title, content, principal: author.principal, state },
      texts: personal_texts.draft,
      remove: () => void drafts.delete(draft_id),
      replace: (marked: unknown) => {
        const { principal, ...texts } = marked as { readonly principal: string }
        drafts.set(draft_id, { ...draft, ...texts, author: { ...author, principal } })
      }
    }
  })

export const offerDrafts = ({ of }: Maps): Effect.Effect<void> =>
  offerRows("platform_drafts", (tenant) => erasable(of(tenant).drafts))

export const drafts = (maps: Maps): DraftStore["Service"] => {
  const { of } = maps
  const get = (tenant: Tenant, id: string) =>
    Effect.suspend(() => orNotFound(of(tenant).drafts.get(id), "draft", id))
  return {
    write: writer(maps),
    drafts: (tenant, { kind, status, ...page }) =>
      Effect.sync(() =>
        pageOf(
          of(tenant).drafts,
          page,
          (draft) => ({ numbers: [-numberOf(draft)], id: draft.draft_id, descends: true }),
          (draft) =>
            (kind === undefined || draft.kind === kind) &&
            (status === undefined || draft.state.status === status)
        )
      ),
    draft: get,
    withdraw: Effect.fnUntraced(function* (tenant, id, closing) {
      const now = yield* Clock.currentTimeMillis
      const draft = yield* get(tenant, id)
      const next = yield* Effect.fromResult(withdrawnDraft(draft, closing, now))
      of(tenant).drafts.set(id, next)
      return next
    }),
    publish: Effect.fnUntraced(function* (tenant, id, publication) {
      const now = yield* Clock.currentTimeMillis
      const draft = yield* get(tenant, id)
      const next = yield* published(of(tenant), draft, publication, now)
      of(tenant).drafts.set(id, next.draft)
      return next.revision
    })
  }
}
