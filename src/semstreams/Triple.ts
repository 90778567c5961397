/**
 * Facts of the knowledge graph: subject, predicate, object, source and confidence. A graph is a set: a fact that is
 * published twice is stored once.
 */
import { Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"

const named = (most: number) => Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(most))

/** The longest object of a triple, in UTF-16 units. */
const triple_object_max = 65_536
/** The most triples of one publication. */
export const triples_max = 1_000

export const Triple = Schema.Struct({
  subject: named(500),
  predicate: named(200),
  object: Schema.String.check(Schema.isMaxLength(triple_object_max)),
  /** The tool or rule that published it. */
  source: named(200),
  /** ISO 8601, UTC. */
  timestamp: named(40),
  /** 0 is speculation, 1 is certainty. */
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
})
export interface Triple extends Schema.Schema.Type<typeof Triple> {}

/** An invalid triple: `index` is its position, `message` what is wrong with it. Nothing was published. */
export class TripleRefused extends Schema.TaggedError<TripleRefused>()("TripleRefused", {
  index: Schema.Int,
  message: Schema.String
}) {}

const decode = Schema.decodeUnknownResult(Triple)

/** Why these triples cannot be published together; undefined if they can. */
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
      return new TripleRefused({ index, message: truncateUnits(checked.failure.message, 500) })
    }
  }
  return undefined
}

/** The owner of a graph: the first two parts of every entity's id. */
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

/** The last part of an entity's id; a bare id is returned as it is. */
export const entityInstance = (entity: string): string => entity.slice(entity.lastIndexOf(".") + 1)
