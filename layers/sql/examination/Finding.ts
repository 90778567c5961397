/**
 * The findings of an examination of a store.
 */

/** The severity of a finding. `unknown`: it could not be checked. */
export type Level = "ok" | "warning" | "fault" | "unknown"

export interface Finding {
  /** What was checked, such as `durability`. */
  readonly check: string
  readonly level: Level
  /** A sentence for a person. */
  readonly message: string
  /** At most 20 ids of the objects that the message is about. */
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

/** The worst level of these findings: a fault, otherwise a warning, otherwise `unknown`, otherwise `ok`. */
export const worstOf = (findings: ReadonlyArray<Finding>): Level =>
  worst_first.find((level) => findings.some((each) => each.level === level)) ?? "ok"
