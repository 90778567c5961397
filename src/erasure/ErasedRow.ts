/**
 * What an erasure of a subject does to the rows of a table, and the rule for one row.
 */
import { Option, Schema } from "effect"
import type { RunEraser } from "./ErasedEvent.ts"
import { erasedMember } from "./ErasedEvent.ts"
import { namesIn, textWithoutNames } from "./ErasedValue.ts"

/**
 * What is overwritten in a column: `text`, the whole column, which is one text; `said`, what would be overwritten in an event of
 * a run; or a set, these members of the record that the column holds as JSON.
 */
export type ErasureMark = "text" | "said" | ReadonlySet<string>

export interface ErasureMarks {
  /**
   * Columns with texts from outside: a row that names the subject in one of them, or one of the subject's runs or conversations,
   * is removed.
   */
  readonly removed?: ReadonlyArray<string>
  /** A member of the record that a column holds as JSON: a row where it is the subject is removed. */
  readonly owner?: readonly [column: string, member: string]
  /** What is overwritten in each column of a row that stays. */
  readonly marked?: Readonly<Record<string, ErasureMark>>
}

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** No codes, because a reason is in a column of its own. */
const no_codes: ReadonlySet<string> = new Set()

/** The column's text after the erasure; the same text if nothing in it has to be overwritten. */
export const markedColumn = (
  name: string,
  as: ErasureMark,
  text: string,
  eraser: RunEraser
): string => {
  if (as === "text") return textWithoutNames(text, eraser)
  if (as !== "said") return textWithoutNames(text, eraser, as)
  const said = Option.getOrUndefined(decodeJson(text))
  if (said === undefined || !namesIn(said, eraser)) return textWithoutNames(text, eraser)
  return JSON.stringify(erasedMember(name, said, no_codes, { ...eraser, whole: false }))
}
