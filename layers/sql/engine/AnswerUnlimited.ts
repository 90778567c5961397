/**
 * True where statements may take as long as they need, such as a migration of a large table.
 */
import { Context } from "effect"

export const AnswerUnlimited = Context.Reference<boolean>("troupe/sql/AnswerUnlimited", {
  defaultValue: () => false
})
