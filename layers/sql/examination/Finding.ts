/**
 * What an examination of a store found.
 */

/** `unknown`: it could not be looked at. */
export type Level = "ok" | "warning" | "fault" | "unknown"

export interface Finding {
  /** What was looked at, such as `durability`. */
  readonly check: string
  readonly level: Level
  /** A sentence for a person. */
  readonly message: string
  /** Ids, at most 20, of what the sentence is about. */
  readonly ids?: ReadonlyArray<string>
}

export const ok = (check: string, message: string): Finding => ({ check, level: "ok", message })
export const warning = (check: string, message: string): Finding => ({
  check,
  level: "warning",
  message
})
export const fault = (check: string, message: string): Finding => ({
  check,
  level: "fault",
  message
})
export const unknown = (check: string, message: string): Finding => ({
  check,
  level: "unknown",
  message
})

const worst_first: ReadonlyArray<Level> = ["fault", "warning", "unknown"]

/** The worst of them: a fault, else a warning, else what could not be looked at. */
export const worstOf = (findings: ReadonlyArray<Finding>): Level =>
  worst_first.find((level) => findings.some((each) => each.level === level)) ?? "ok"
