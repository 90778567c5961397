/**
 * Facts of the knowledge graph: a subject, a predicate, an object, who said it and how sure. A graph is a set of them, so
 * that the same fact said twice is one.
 */
import { Result, Schema } from "effect"

const named = (most: number) => Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(most))

/** The greatest object of a triple, in UTF-16 units. */
export const triple_object_max = 65_536
/** Triples of one publication. */
export const triples_max = 1_000

export const Triple = Schema.Struct({
  subject: named(500),
  predicate: named(200),
  object: Schema.String.check(Schema.isMaxLength(triple_object_max)),
  /** The tool or rule that said it. */
  source: named(200),
  /** ISO 8601, UTC. */
  timestamp: named(40),
  /** 0 is speculation, 1 is certainty. */
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
})
export interface Triple extends Schema.Schema.Type<typeof Triple> {}

/** A triple that no graph takes: `index` says which, `message` what is wrong with it. Nothing was published. */
export class TripleRefused extends Schema.TaggedError<TripleRefused>()("TripleRefused", {
  index: Schema.Int,
  message: Schema.String
}) {}

const decode = Schema.decodeUnknownResult(Triple)

/** Why these cannot be published together, or nothing. */
export const triplesRefusal = (triples: ReadonlyArray<Triple>): TripleRefused | undefined => {
  if (triples.length > triples_max) {
    return new TripleRefused({
      index: triples_max,
      message: `at most ${triples_max} triples are published together`
    })
  }
  for (const [index, triple] of triples.entries()) {
    const checked = decode(triple)
    if (Result.isFailure(checked)) {
      return new TripleRefused({ index, message: checked.failure.message.slice(0, 500) })
    }
  }
  return undefined
}

/** Whose graph it is: the first two parts of every entity's id. */
export interface Platform {
  readonly org: string
  readonly platform: string
}

/** The entity of a loop: `{org}.{platform}.agent.agentic-loop.execution.{loop_id}`. */
export const loopEntity = ({ org, platform }: Platform, loop_id: string): string =>
  `${org}.${platform}.agent.agentic-loop.execution.${loop_id}`

/** The entity of a finding: `{org}.{platform}.ops.diagnosis.finding.{uuid}`. */
export const findingEntity = ({ org, platform }: Platform, uuid: string): string =>
  `${org}.${platform}.ops.diagnosis.finding.${uuid}`

/** The last part of an entity's id, or the bare id itself. */
export const entityInstance = (entity: string): string => entity.slice(entity.lastIndexOf(".") + 1)
