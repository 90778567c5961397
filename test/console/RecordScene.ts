/** A service with the reference application, whose records are there, behind a console. */
import { Effect, Layer } from "effect"
import type { Options } from "troupe/embed"
import { start } from "troupe/embed"
import { feature } from "troupe/feature"
import { scripted } from "troupe/testing"
import * as Spectral from "troupe/spectral"
import { Tenant } from "troupe"
import { credit, privacy } from "../worlds/Worlds.ts"
import { sample } from "../platform/Records.ts"
import { http, tenant } from "./ConsoleScene.ts"

const filled = Effect.gen(function* () {
  const of = Tenant.make(tenant)
  const importer = yield* Spectral.RecordImporter
  yield* importer.record(of, sample)
  const drafts = yield* Spectral.DraftStore
  yield* drafts.write(
    of,
    {
      kind: "rubric",
      framework_id: "support" as never,
      rubric_id: "tone",
      title: "Ask for more of the tone <b>",
      threshold: 0.7
    },
    { run: "r", call: "c", principal: "anna" }
  )
  const publisher = yield* Spectral.WorldPublisher
  for (const version of [credit, privacy]) yield* publisher.publish(of, version)
})

/** The same records each time, in the tenant of the console's people. */
export const recorded = (more: Partial<Options> = {}) =>
  start({
    agents: [],
    model: scripted([]),
    features: [
      Spectral.feature(),
      // Those of the feature before are beneath it.
      feature({ name: "filling", layer: Layer.effectDiscard(Effect.orDie(filled)) as never })
    ],
    http,
    ...more
  })
