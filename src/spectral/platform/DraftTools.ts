/**
 * The Operations Agent's tools for drafts. Writing a draft changes no published record. Publishing one needs a person's approval
 * or, as for any action, an authorisation that the workspace gave in advance.
 */
import { Effect, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import { ToolError } from "../../error/ToolError.ts"
import type { Governance } from "../../tool/GovernedTool.ts"
import { Moment, Version, RecordId } from "./contracts/Fact.ts"
import {
  CardProposal,
  Draft,
  DraftId,
  DraftKind,
  DraftReason,
  DraftStatus,
  RubricProposal
} from "./contracts/Draft.ts"

const Written = Schema.Struct({
  draft_id: DraftId,
  target_id: RecordId,
  based_on: Version,
  status: DraftStatus
})

const DraftRubric = Tool.make("draft_rubric", {
  description:
    "Writes a draft of a rubric, a new one or the next form of one that is there; what is left out stays as it is. It changes no framework until it is published. Look at get_rubrics first.",
  parameters: RubricProposal,
  success: Written,
  failure: ToolError
})

const DraftSystemCard = Tool.make("draft_system_card", {
  description:
    "Writes a draft of the next form of a system's card; what is left out stays as it is. It changes no card until it is published. Look at get_system_card first.",
  parameters: CardProposal,
  success: Written,
  failure: ToolError
})

const ListDrafts = Tool.make("list_drafts", {
  description: "Drafts of rubrics and system cards, newest first. Page with after.",
  parameters: Schema.Struct({
    kind: Schema.optionalKey(DraftKind.annotate({ description: "Only drafts of this kind." })),
    status: Schema.optionalKey(
      DraftStatus.annotate({ description: "Only drafts in this status; draft is one that waits." })
    ),
    after: Schema.optionalKey(
      DraftId.annotate({
        description: "Only drafts older than this one: the last of the page before."
      })
    ),
    limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))
      .annotate({ description: "At most so many, 1 to 100; 20 if left out." })
      .pipe(Schema.withDecodingDefaultKey(Effect.succeed(20)))
  }),
  success: Schema.Struct({
    drafts: Schema.Array(
      Schema.Struct({
        ...Written.fields,
        kind: DraftKind,
        title: Schema.String,
        created_at: Moment
      })
    ),
    /** True = more records match than `limit`. */
    more: Schema.Boolean
  }),
  failure: ToolError
})

const GetDraft = Tool.make("get_draft", {
  description: "One draft with all that it says, who wrote it, and what became of it.",
  parameters: Schema.Struct({ draft_id: DraftId }),
  success: Draft,
  failure: ToolError
})

const WithdrawDraft = Tool.make("withdraw_draft", {
  description:
    "Withdraws a draft that waits: it can be published no more. Needs a person's approval.",
  parameters: Schema.Struct({ draft_id: DraftId, reason: DraftReason }),
  success: Schema.Struct({
    draft_id: DraftId,
    status: Schema.Literal("withdrawn"),
    withdrawn_by: Schema.String
  }),
  failure: ToolError
})

const PublishDraft = Tool.make("publish_draft", {
  description:
    "Publishes a draft: its rubric or card takes the place of the one that it is based on. Needs a person's approval. Look at get_draft first, and give its target_id and based_on, which are shown to whoever approves. Refused where the framework or card has changed since: write a new draft then.",
  parameters: Schema.Struct({
    draft_id: DraftId,
    target_id: RecordId.annotate({
      description: "What is published: the rubric_id or system_id of the draft."
    }),
    based_on: Version.annotate({ description: "The draft's own." }),
    reason: DraftReason.annotate({
      description: "Why it is published, in a sentence. It is kept and shown to whoever approves."
    })
  }),
  success: Schema.Struct({
    draft_id: DraftId,
    status: Schema.Literal("published"),
    /** The revision that the publication created. */
    revision: Version,
    published_by: Schema.String
  }),
  failure: ToolError
})

export const DraftTools = Toolkit.make(
  DraftRubric,
  DraftSystemCard,
  ListDrafts,
  GetDraft,
  WithdrawDraft,
  PublishDraft
)

const namespace = "operations"
const read = { namespace, side_effects: "read", timeout_ms: 10_000 } as const
// Each change is written in the transaction of the call's event, so it is made exactly once.
const write = { namespace, side_effects: "write", transactional: true, timeout_ms: 5_000 } as const
// A draft has no effect until it is published, and a person is asked only then.
const author = { ...write, approval: "at-publication-gate" } as const

export const draftGovernance = {
  draft_rubric: {
    ...author,
    effect_description: "Keeps a draft of a rubric. No framework changes until it is published."
  },
  draft_system_card: {
    ...author,
    effect_description: "Keeps a draft of a system's card. No card changes until it is published."
  },
  list_drafts: read,
  get_draft: read,
  withdraw_draft: {
    ...write,
    effect_description: "Withdraws a draft, which can be published no more. Nothing else changes."
  },
  publish_draft: {
    ...write,
    // No rule and no mode of a policy can allow a publication.
    permission: "ask",
    effect_description:
      "Publishes what the draft says: a new version of a framework, by which later scans are judged, or a new card of a system."
  }
} as const satisfies Record<string, Governance>
