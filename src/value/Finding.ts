/**
 * What an examination of a store, or of the work in it, has found.
 */
import { Schema } from "effect"

/** The severity of a finding. `unknown`: it could not be checked. */
export const Level = Schema.Literals(["ok", "warning", "fault", "unknown"])
export type Level = typeof Level.Type

export const Finding = Schema.Struct({
  /** What was checked, such as `durability`. */
  check: Schema.String,
  level: Level,
  /** A sentence for a person. */
  message: Schema.String,
  /** At most 20 ids of the objects that the message is about. */
  ids: Schema.optionalKey(Schema.Array(Schema.String))
}).annotate({ identifier: "Finding" })
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

const finding =
  (level: Level) =>
  (check: string, message: string): Finding => ({ check, level, message })
export const ok = finding("ok")
export const warning = finding("warning")
export const fault = finding("fault")
export const unknown = finding("unknown")

const worst_first: ReadonlyArray<Level> = ["fault", "warning", "unknown"]

/** The worst level of these findings: a fault, otherwise a warning, otherwise `unknown`, otherwise `ok`. */
export const worstOf = (findings: ReadonlyArray<Finding>): Level =>
  worst_first.find((level) => findings.some((each) => each.level === level)) ?? "ok"

/** How many ids a finding names. */
export const ids_max = 20

/** What there should be none of, by what is checked: what is said where there are some, and where there are none. */
const none_expected = {
  quarantine: {
    level: fault,
    some: "runs are in quarantine: their journals do not fold, and nothing of them goes on",
    none: "no run is in quarantine"
  },
  unknown: {
    level: warning,
    some: "calls have an unknown outcome: an operator has to settle them",
    none: "no call's outcome is unknown"
  },
  dead_letters: {
    level: warning,
    some: "messages could not be delivered: replay or discard them",
    none: "there is no dead letter"
  },
  dead_calls: {
    level: warning,
    some: "queued calls could not be run: replay or discard them",
    none: "there is no dead call"
  }
} as const

/** The finding on these ids, of which there should be none; `count` says how many there are. */
export const noneExpected = (
  check: keyof typeof none_expected,
  ids: ReadonlyArray<string>,
  count: number | string = ids.length
): Finding => {
  const { level, none, some } = none_expected[check]
  return ids.length === 0
    ? ok(check, none)
    : { ...level(check, `${count} ${some}`), ids: ids.slice(0, ids_max) }
}
