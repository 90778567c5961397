/**
 * The steps of a draft: it is written against the current revision, and then either published on that revision or withdrawn,
 * once.
 */
import { Result } from "effect"
import { canonical } from "../../value/Canonical.ts"
import { rubrics_max } from "./contracts/PlatformEvent.ts"
import { ChangeRefused } from "./contracts/RecordErrors.ts"
import type {
  CardContent,
  CardDraft,
  CardProposal,
  Closing,
  Draft,
  Publication,
  RubricContent,
  RubricDraft,
  RubricProposal
} from "./contracts/Draft.ts"
import { drafts_max, drafts_open_max, targetOf } from "./contracts/Draft.ts"
import type { Framework } from "./Framework.ts"
import { revisions_max } from "./Framework.ts"
import type { SystemCard } from "./contracts/SystemCard.ts"
import { limits_max } from "./contracts/SystemCard.ts"

type Step<A> = Result.Result<A, ChangeRefused>

const refused = (message: string) => Result.fail(new ChangeRefused({ message }))

/** The highest revision of a card. */
const card_revisions_max = 1_000_000
const same = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

/**
 * Why no more drafts can be written; undefined = one more can. `open` is how many drafts wait, and `last` is the number of the
 * newest.
 */
export const noRoomFor = (open: number, last: number): ChangeRefused | undefined => {
  if (open >= drafts_open_max) {
    const message = `${drafts_open_max} drafts wait, which is the most: publish or withdraw some of them`
    return new ChangeRefused({ message })
  }
  if (last < drafts_max) return undefined
  return new ChangeRefused({ message: `${drafts_max} drafts were written, which is the most` })
}

/** Why a framework can have no further revision with this rubric; undefined = it can. */
const fullFramework = (
  { framework_id, revisions, rubrics }: Framework,
  rubric_id: string
): string | undefined => {
  if (revisions.length >= revisions_max) {
    return `the framework ${framework_id} has ${revisions_max} versions, which is the most`
  }
  const isNew = rubrics.every((rubric) => rubric.rubric_id !== rubric_id)
  return isNew && rubrics.length >= rubrics_max
    ? `the framework ${framework_id} has ${rubrics_max} rubrics, which is the most`
    : undefined
}

/** The content of the proposed rubric, or the reason why it cannot be proposed. */
export const rubricContent = (framework: Framework, given: RubricProposal): Step<RubricContent> => {
  const { framework_id, rubric_id, title: _, ...fields } = given
  const full = fullFramework(framework, rubric_id)
  if (full !== undefined) return refused(full)
  const known = framework.rubrics.find((rubric) => rubric.rubric_id === rubric_id)
  if (known !== undefined) {
    const { rubric_id: __, ...before } = known
    const { sources = [], ...said } = fields
    const after = { ...before, ...said }
    return same(before, after)
      ? refused(`the rubric ${rubric_id} of ${framework_id} says this already`)
      : Result.succeed({ ...after, sources })
  }
  const { criteria, description, enabled = true, name, sources = [], threshold } = fields
  return criteria === undefined ||
    description === undefined ||
    name === undefined ||
    threshold === undefined
    ? refused(
        `the framework ${framework_id} has no rubric ${rubric_id}: a new one needs name, description, criteria and threshold`
      )
    : Result.succeed({ name, description, criteria, threshold, enabled, sources })
}

const contentOf = ({ limits, name, owner, parts, purpose }: SystemCard): CardContent => ({
  name,
  purpose,
  owner,
  parts,
  limits
})

/**
 * The content of the proposed card, or the reason why it cannot be proposed. A limit that the card already has is not added
 * again.
 */
export const cardContent = (card: SystemCard, given: CardProposal): Step<CardContent> => {
  const { add_limits = [], system_id, title: _, ...fields } = given
  const before = contentOf(card)
  const limits = [...new Set([...(fields.limits ?? card.limits), ...add_limits])]
  if (limits.length > limits_max) {
    return refused(
      `the card of ${system_id} would have ${limits.length} limits; at most ${limits_max}`
    )
  }
  const after = { ...before, ...fields, limits }
  return same(before, after)
    ? refused(`the card of ${system_id} says this already`)
    : Result.succeed(after)
}

const closed = (draft: Draft, rest: string): Step<never> =>
  refused(`the draft ${draft.draft_id} is ${draft.state.status}; ${rest}`)

export const withdrawnDraft = (draft: Draft, { by, reason }: Closing, at: number): Step<Draft> =>
  draft.state.status === "draft"
    ? Result.succeed({ ...draft, state: { status: "withdrawn", closed: { by, at, reason } } })
    : closed(draft, "only one that waits is withdrawn")

/** Why this draft cannot be published as it was approved; undefined = it is what was approved, and it is still open. */
const unfit = (draft: Draft, { based_on, target_id }: Publication): Step<never> | undefined => {
  if (draft.state.status !== "draft") return closed(draft, "one that waits is published, once")
  if (target_id !== targetOf(draft)) {
    return refused(
      `the draft ${draft.draft_id} is of ${targetOf(draft)}, not of ${JSON.stringify(target_id)}`
    )
  }
  return based_on === draft.based_on
    ? undefined
    : refused(`the draft ${draft.draft_id} is based on ${draft.based_on}, not on ${based_on}`)
}

const outdated = (draft: Draft, what: string, revision: number): Step<never> =>
  refused(
    `${what} is at revision ${revision}, and the draft ${draft.draft_id} is based on ${draft.based_on}: ` +
      "look at what is there now, and write a new draft"
  )

const publishedState = ({ by, reason }: Closing, at: number, revision: number) =>
  ({ status: "published", closed: { by, at, reason }, revision }) as const

/**
 * The framework with the draft's rubric as its next version, and the published draft. Fails with the reason if it cannot be
 * published.
 */
export const publishedRubric = (
  draft: RubricDraft,
  framework: Framework,
  publication: Publication,
  at: number
): Step<{ readonly draft: Draft; readonly framework: Framework; readonly revision: number }> => {
  const no = unfit(draft, publication)
  if (no !== undefined) return no
  const { content, framework_id, rubric_id } = draft
  if (framework.version !== draft.based_on) {
    return outdated(draft, `the framework ${framework_id}`, framework.version)
  }
  const full = fullFramework(framework, rubric_id)
  if (full !== undefined) return refused(full)
  const { sources, ...fields } = content
  const rubric = { rubric_id, ...fields }
  const { rubrics } = framework
  const isNew = rubrics.every((each) => each.rubric_id !== rubric_id)
  const version = framework.version + 1
  const { by, reason } = publication
  return Result.succeed({
    draft: { ...draft, state: publishedState(publication, at, version) },
    revision: version,
    framework: {
      ...framework,
      version,
      rubrics: isNew
        ? [...rubrics, rubric]
        : rubrics.map((each) => (each.rubric_id === rubric_id ? rubric : each)),
      revisions: [...framework.revisions, { version, at, by, reason, sources }]
    }
  })
}

/** The card with the draft's content, and the published draft. Fails with the reason if it cannot be published. */
export const publishedCard = (
  draft: CardDraft,
  { card, revision }: { readonly card: SystemCard; readonly revision: number },
  publication: Publication,
  at: number
): Step<{ readonly draft: Draft; readonly card: SystemCard; readonly revision: number }> => {
  const no = unfit(draft, publication)
  if (no !== undefined) return no
  const what = `the card of ${draft.system_id}`
  if (revision !== draft.based_on) return outdated(draft, what, revision)
  if (revision >= card_revisions_max) {
    return refused(`${what} has ${card_revisions_max} revisions, which is the most`)
  }
  const next = revision + 1
  return Result.succeed({
    draft: { ...draft, state: publishedState(publication, at, next) },
    card: { ...card, ...draft.content, updated_at: at },
    revision: next
  })
}
