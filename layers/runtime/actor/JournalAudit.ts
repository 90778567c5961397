/**
 * Audits the runs that are not over, `audit_first_ms` after the start and then every `audit_ms`: a journal with a gap is put
 * in quarantine before anybody waits for it, and a lost record of a question is written again. In small pages, and not while
 * a start recovers its runs, so that no run waits for the audit.
 */
import { Effect, Layer } from "effect"
import type { RunId } from "../../../src/value/Ids.ts"
import { beginQuarantineCounter, RunQuarantine } from "../../../services/RunQuarantine.ts"
import { startPeriodic } from "../fiber/Periodic.ts"
import { RuntimeConfig } from "./RuntimeConfig.ts"

/** Runs of one page, and the time between two of them. */
const page_max = 200
const pause_ms = 20

const make = Effect.gen(function* () {
  yield* beginQuarantineCounter
  const quarantine = yield* RunQuarantine
  const { audit_first_ms, audit_ms } = yield* RuntimeConfig
  const audit = Effect.gen(function* () {
    let after: RunId | undefined
    do {
      if (after !== undefined) yield* Effect.sleep(pause_ms)
      after = yield* quarantine.audit(page_max, after)
    } while (after !== undefined)
  })
  yield* startPeriodic(audit_ms, audit, audit_first_ms)
})

export const layer: Layer.Layer<never, never, RunQuarantine> = Layer.effectDiscard(make)
