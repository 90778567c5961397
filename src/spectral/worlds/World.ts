/**
 * A world model: the rules by which one domain is judged. It is published in versions that share its id.
 */
import { Schema } from "effect"
import type { Problem } from "../../operation/Problem.ts"
import { makeProblem } from "../../operation/Problem.ts"
import { spelled } from "../../value/Bounds.ts"
import { WorldId } from "./contracts/WorldId.ts"

const Text = (most: number) => Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(most))

/** A word that rules and evaluation cases share, by which coverage is counted. */
export const Topic = Schema.String.check(
  spelled(
    /^[a-z][a-z0-9-]{0,63}$/,
    "a letter, then at most 63 lower-case letters, digits and hyphens"
  )
)

/** Names a rule, an EvalSet or a candidate within its world. */
export const ItemId = Schema.String.check(
  spelled(/^[a-z0-9][a-z0-9-]{0,63}$/, "1 to 64 lower-case letters, digits and hyphens")
)

/** 1 for the first published version. */
const VersionNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))

export const World = Schema.Struct({
  world_id: WorldId,
  name: Text(200),
  /** The domain that the world judges, in a sentence. */
  domain: Text(1_000),
  version: VersionNumber,
  /** When the version was published; ms since 1970. */
  published_at: Schema.Int
})
export interface World extends Schema.Schema.Type<typeof World> {}

/** Where a rule comes from, and how reliable that is. */
export const Provenance = Schema.Struct({
  kind: Schema.Literals(["regulation", "document", "expert", "incident", "generated"]),
  /** Where to look the source up: a paragraph, a page, a person's name, an incident's number. */
  reference: Text(500),
  strength: Schema.Literals(["strong", "moderate", "weak"])
})
export interface Provenance extends Schema.Schema.Type<typeof Provenance> {}

const provenance_max = 20

export const Rule = Schema.Struct({
  rule_id: ItemId,
  topic: Topic,
  title: Text(200),
  body: Text(8_000),
  /** The version that introduced the rule. */
  since_version: VersionNumber,
  provenance: Schema.Array(Provenance).check(Schema.isMaxLength(provenance_max))
})
export interface Rule extends Schema.Schema.Type<typeof Rule> {}

const eval_topics_max = 200

/** A set of cases with known verdicts, by which a version is evaluated. */
export const EvalSet = Schema.Struct({
  eval_set_id: ItemId,
  name: Text(200),
  /** How many cases each topic has. */
  cases: Schema.Record(
    Topic,
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
  ),
  /** The pass rate of the set's last evaluation, 0 to 1. Absent = the set was never run. */
  pass_rate: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 })))
}).check(
  Schema.makeFilter(({ cases }) =>
    Object.keys(cases).length <= eval_topics_max ? undefined : `at most ${eval_topics_max} topics`
  )
)
export interface EvalSet extends Schema.Schema.Type<typeof EvalSet> {}

/** The greatest number of rules of one world. */
export const rules_max = 5_000

/** The greatest number of EvalSets of one world. */
export const eval_sets_max = 200

/** There is no such rule in this world. */
export class RuleNotFound extends Schema.TaggedError<RuleNotFound>()("RuleNotFound", {
  world_id: WorldId,
  rule_id: Schema.String
}) {
  get problem(): Problem<404> {
    const detail = `The world ${this.world_id} has no rule ${JSON.stringify(this.rule_id.slice(0, 200))}.`
    return makeProblem(404, "rule-not-found", "Rule not found", detail)
  }
}
