/** Which texts of records an erasure writes over: all that may say anything, and none that says what a record is. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AccessToken, token_texts } from "../../src/permission/AccessToken.ts"
import { ChangesetState } from "../../src/spectral/platform/contracts/Changeset.ts"
import { ClusterTriage } from "../../src/spectral/platform/contracts/FailureCluster.ts"
import { personal_texts } from "../../src/spectral/platform/contracts/RecordTexts.ts"
import {
  CardContent,
  DraftState,
  DraftTitle,
  RubricContent
} from "../../src/spectral/platform/contracts/Draft.ts"
import { DraftAuthor } from "../../src/spectral/platform/contracts/Draft.ts"
import { candidate_texts } from "../../src/spectral/worlds/contracts/WorldTexts.ts"
import { CandidateDraft, RuleCandidate } from "../../src/spectral/worlds/RuleCandidate.ts"
import { SystemCard } from "../../src/spectral/platform/contracts/SystemCard.ts"
import { Framework } from "../../src/spectral/platform/Framework.ts"
import { Workspace } from "../../src/spectral/platform/Workspace.ts"
import { literalsOf, textMembersOf } from "./SchemaWords.ts"

const mark = JSON.stringify({ erased: "0".repeat(64) })

/** What the stores keep of a draft beside ids and numbers. */
const said = Schema.Struct({
  title: DraftTitle,
  principal: DraftAuthor.fields.principal,
  content: Schema.Union([RubricContent, CardContent])
})
const { proposed_by } = RuleCandidate.fields
const { created_by, name, revoked_by, roles } = AccessToken.fields

const kinds: ReadonlyArray<
  readonly [of: string, texts: ReadonlySet<string>, schemas: ReadonlyArray<Schema.Top>]
> = [
  ["a workspace", personal_texts.workspace, [Workspace]],
  ["a framework", personal_texts.framework, [Framework]],
  ["a system card", personal_texts.system_card, [SystemCard]],
  ["a change set", personal_texts.changeset_state, [ChangesetState]],
  ["a triage", personal_texts.cluster_triage, [ClusterTriage]],
  ["a draft", personal_texts.draft, [said, DraftState]],
  ["a rule candidate", candidate_texts, [CandidateDraft, Schema.Struct({ proposed_by })]],
  ["a token", token_texts, [Schema.Struct({ created_by, name, revoked_by, roles })]]
]

describe("personal texts", () => {
  it.each(kinds)("of %s are exactly those in which a mark may stand", (_, texts, schemas) => {
    assert.sameMembers([...texts], [...textMembersOf(mark, ...schemas)])
  })

  it("are no states, of which there are some", () => {
    assert.includeMembers(
      [...literalsOf(ChangesetState, ClusterTriage, DraftState)],
      ["approved", "in_progress", "withdrawn"]
    )
    assert.deepEqual(literalsOf(CandidateDraft, AccessToken), [])
  })
})
