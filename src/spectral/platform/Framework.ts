/**
 * The frameworks by which a workspace's systems are evaluated, with their rubrics and the origin of each version.
 */
import { Result, Schema } from "effect"
import { WorldId } from "../worlds/contracts/WorldId.ts"
import { By, Moment, Share, Text, Version, FrameworkId, RecordId } from "./contracts/Fact.ts"
import { rubrics_max } from "./contracts/PlatformEvent.ts"
import { ChangeRefused } from "./contracts/RecordErrors.ts"
import { Rubric, RubricSources } from "./contracts/Rubric.ts"

/** Why a version of a framework was made. */
export const FrameworkRevision = Schema.Struct({
  version: Version,
  at: Moment,
  by: By,
  reason: Text(1_000),
  sources: RubricSources
})
export interface FrameworkRevision extends Schema.Schema.Type<typeof FrameworkRevision> {}

/** The greatest number of versions of one framework. A framework with this many cannot be changed any more. */
export const revisions_max = 200

export const Framework = Schema.Struct({
  framework_id: FrameworkId,
  name: Text(200),
  version: Version,
  /** The world whose rules the framework evaluates. Absent = it is not based on a world. */
  world_id: Schema.optionalKey(WorldId),
  rubrics: Schema.Array(Rubric).check(Schema.isMinLength(1), Schema.isMaxLength(rubrics_max)),
  revisions: Schema.Array(FrameworkRevision).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(revisions_max)
  )
}).check(
  Schema.makeFilter(({ revisions, rubrics, version }) => {
    if (new Set(rubrics.map(({ rubric_id }) => rubric_id)).size !== rubrics.length) {
      return { path: ["rubrics"], issue: "Expected rubrics with distinct ids" }
    }
    return revisions.at(-1)?.version === version
      ? undefined
      : { path: ["version"], issue: "Expected the version of the last revision" }
  })
)
export interface Framework extends Schema.Schema.Type<typeof Framework> {}

/** The change of one rubric. Absent members stay unchanged. */
export const RubricChange = Schema.Struct({
  rubric_id: RecordId,
  threshold: Schema.optionalKey(Share),
  enabled: Schema.optionalKey(Schema.Boolean)
}).check(
  Schema.makeFilter(({ enabled, threshold }) =>
    enabled === undefined && threshold === undefined ? "a threshold or enabled" : undefined
  )
)

/** A change of a framework, based on the version that its author saw. */
export const FrameworkChange = Schema.Struct({
  framework_id: FrameworkId,
  version: Version,
  rubrics: Schema.Array(RubricChange).check(Schema.isMinLength(1), Schema.isMaxLength(rubrics_max)),
  reason: Text(1_000)
})
export interface FrameworkChange extends Schema.Schema.Type<typeof FrameworkChange> {}

/** The framework after the change, or the reason why it cannot be changed so. */
export const changedFramework = (
  framework: Framework,
  { reason, rubrics: changes, version }: FrameworkChange,
  by: string,
  at: number
): Result.Result<Framework, ChangeRefused> => {
  const wrong = wrongOf(framework, changes, version)
  if (wrong !== undefined) return Result.fail(new ChangeRefused({ message: wrong }))
  const byId = new Map(changes.map((change) => [change.rubric_id, change]))
  const revision = { version: version + 1, at, by, reason, sources: [] }
  return Result.succeed({
    ...framework,
    version: revision.version,
    rubrics: framework.rubrics.map((rubric) => ({ ...rubric, ...byId.get(rubric.rubric_id) })),
    revisions: [...framework.revisions, revision]
  })
}

const wrongOf = (
  { framework_id, revisions, rubrics, version: known }: Framework,
  changes: FrameworkChange["rubrics"],
  version: number
): string | undefined => {
  if (version !== known)
    return `the framework ${framework_id} is at version ${known}, not ${version}`
  if (revisions.length >= revisions_max) {
    return `the framework ${framework_id} has ${revisions_max} versions, which is the most`
  }
  const named = new Set(changes.map(({ rubric_id }) => rubric_id))
  if (named.size !== changes.length) return "a rubric is named twice"
  const own = new Set(rubrics.map(({ rubric_id }) => rubric_id))
  const unknown = changes.find(({ rubric_id }) => !own.has(rubric_id))
  return unknown === undefined
    ? undefined
    : `the framework ${framework_id} has no rubric ${unknown.rubric_id}`
}
