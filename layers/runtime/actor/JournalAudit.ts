/**
 * Looks through the runs that are not over, some time after the start and now and then: a journal with a gap is in
 * quarantine before anybody waits for it, and a question whose record was lost is asked again. In small pages, and not
 * while a start recovers its runs, so that nobody waits for it.
 */
import { Effect, Layer } from "effect"
import type { RunId } from "../../../src/Ids.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import { every } from "./Periodic.ts"
import { RuntimeConfig } from "./RuntimeConfig.ts"

/** Runs of one page, and the time between two of them. */
const page_max = 200
const pause_ms = 20

const make = Effect.gen(function* () {
  const journal = yield* RunJournal
  const { audit_first_ms, audit_ms } = yield* RuntimeConfig
  const audit = Effect.gen(function* () {
    let after: RunId | undefined
    do {
      if (after !== undefined) yield* Effect.sleep(pause_ms)
      after = yield* journal.audit(page_max, after)
    } while (after !== undefined)
  })
  yield* every(audit_ms, audit, audit_first_ms)
})

export const layer: Layer.Layer<never, never, RunJournal> = Layer.effectDiscard(make)
