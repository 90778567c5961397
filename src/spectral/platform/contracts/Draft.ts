/**
 * Drafts of a rubric or of a system's card, which are written before they are published. The content of a draft never changes, so
 * whoever approves its publication approves what could be read.
 */
import { Schema } from "effect"
import { By, Moment, Text, Version, FrameworkId, RecordId, SystemId } from "./Fact.ts"
import { Rubric, RubricSources } from "./Rubric.ts"
import { SystemCard } from "./SystemCard.ts"

/** How many drafts of one workspace may wait for their publication at the same time. */
export const drafts_open_max = 100
/** How many drafts may be written in one workspace in total. */
export const drafts_max = 999_999

export const DraftId = Schema.String.check(
  Schema.isPattern(/^draft-[1-9][0-9]{0,5}$/, { description: "draft- and a number" })
).pipe(Schema.brand("DraftId"))
export type DraftId = typeof DraftId.Type

export const draftId = (number: number): DraftId => DraftId.make(`draft-${number}`)

export const DraftKind = Schema.Literals(["rubric", "system_card"])
export type DraftKind = typeof DraftKind.Type

export const DraftStatus = Schema.Literals(["draft", "published", "withdrawn"])
export type DraftStatus = typeof DraftStatus.Type

export const DraftTitle = Text(200)

/** Why a draft is published or withdrawn. */
export const DraftReason = Text(1_000)

const { criteria, description, enabled, name, threshold } = Rubric.fields
const sources = RubricSources

/** The complete rubric except its id. */
export const RubricContent = Schema.Struct({
  name,
  description,
  criteria,
  threshold,
  enabled,
  /** The rubric's sources, for the framework's revision. */
  sources
})
export interface RubricContent extends Schema.Schema.Type<typeof RubricContent> {}

const { limits, name: card_name, owner, parts, purpose } = SystemCard.fields

/** The whole card except `system_id`, `framework_id` and `updated_at`. */
export const CardContent = Schema.Struct({ name: card_name, purpose, owner, parts, limits })
export interface CardContent extends Schema.Schema.Type<typeof CardContent> {}

/**
 * A rubric as an author proposes it. Absent members stay unchanged. A new rubric needs all members except `enabled` and
 * `sources`.
 */
export const RubricProposal = Schema.Struct({
  framework_id: FrameworkId,
  rubric_id: RecordId.annotate({ description: "One of the framework's, or that of a new rubric." }),
  title: DraftTitle.annotate({ description: "What changes, in a sentence." }),
  name: Schema.optionalKey(name),
  description: Schema.optionalKey(description),
  criteria: Schema.optionalKey(criteria),
  threshold: Schema.optionalKey(threshold),
  enabled: Schema.optionalKey(enabled),
  sources: Schema.optionalKey(sources)
})
export interface RubricProposal extends Schema.Schema.Type<typeof RubricProposal> {}

/** A change of the card of a known system. Absent members stay unchanged. */
export const CardProposal = Schema.Struct({
  system_id: SystemId,
  title: DraftTitle.annotate({ description: "What changes, in a sentence." }),
  name: Schema.optionalKey(card_name),
  purpose: Schema.optionalKey(purpose),
  owner: Schema.optionalKey(owner),
  parts: Schema.optionalKey(parts),
  limits: Schema.optionalKey(limits).annotate({
    description: "All limits, in place of the card's."
  }),
  add_limits: Schema.optionalKey(limits).annotate({
    description: "Limits that are added, such as the summaries of failure patterns."
  })
})
export interface CardProposal extends Schema.Schema.Type<typeof CardProposal> {}

export type DraftProposal =
  | ({ readonly kind: "rubric" } & RubricProposal)
  | ({ readonly kind: "system_card" } & CardProposal)

/** The call that wrote the draft. The run's journal says which agent made it and why. */
export const DraftAuthor = Schema.Struct({
  run: Schema.String,
  /** The id of the call, which contains its frame and its step. */
  call: Schema.String,
  /** The principal whose message began the run. */
  principal: Schema.String
})
export interface DraftAuthor extends Schema.Schema.Type<typeof DraftAuthor> {}

export const DraftState = Schema.Struct({
  status: DraftStatus,
  /** Who published or withdrew the draft, and why. Absent = it is still open. */
  closed: Schema.optionalKey(Schema.Struct({ by: By, at: Moment, reason: DraftReason })),
  /** The revision that the draft's publication created. */
  revision: Schema.optionalKey(Version)
})
export interface DraftState extends Schema.Schema.Type<typeof DraftState> {}

const common = {
  draft_id: DraftId,
  title: DraftTitle,
  /** The revision of the framework or card that the author saw. The draft can be published on that revision only. */
  based_on: Version,
  author: DraftAuthor,
  created_at: Moment,
  state: DraftState
}

export const RubricDraft = Schema.Struct({
  ...common,
  kind: Schema.Literal("rubric"),
  framework_id: FrameworkId,
  rubric_id: RecordId,
  content: RubricContent
})
export interface RubricDraft extends Schema.Schema.Type<typeof RubricDraft> {}

export const CardDraft = Schema.Struct({
  ...common,
  kind: Schema.Literal("system_card"),
  system_id: SystemId,
  content: CardContent
})
export interface CardDraft extends Schema.Schema.Type<typeof CardDraft> {}

export const Draft = Schema.Union([RubricDraft, CardDraft])
export type Draft = typeof Draft.Type

/** The id of the rubric or system that the draft changes. */
export const targetOf = (draft: Draft): string =>
  draft.kind === "rubric" ? draft.rubric_id : draft.system_id

/** Who publishes or withdraws a draft, and why. */
export interface Closing {
  readonly by: string
  readonly reason: string
}

/** A publication as it was approved, with what the approver was shown of the draft beside its id. */
export interface Publication extends Closing {
  readonly target_id: string
  readonly based_on: number
}
