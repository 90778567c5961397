/**
 * Publishes facts to the knowledge graph. A graph is a set: a fact that exists stays as it is, so a publication may be repeated.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Triple, TripleRefused } from "../../src/semstreams/Triple.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import type { StoreError } from "../StoreError.ts"

export class TriplePublisher extends Context.Service<
  TriplePublisher,
  {
    /** Publishes all triples or none, at most 1,000; durable when it returns. */
    addAll(
      tenant: Tenant,
      triples: ReadonlyArray<Triple>
    ): Effect.Effect<void, TripleRefused | StoreError>
    /** The facts about a subject, oldest first; at most `limit` (up to 1,000). */
    about(
      tenant: Tenant,
      subject: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<Triple>, StoreError>
  }
>()("troupe/services/semstreams/TriplePublisher") {}
