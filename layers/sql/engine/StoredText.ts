/**
 * Texts from outside, stored as JSON text: PostgreSQL's text refuses a NUL, and UTF-8 has no lone surrogates, so that a
 * raw text could poison the append that carries it. Private to this room.
 */
import { Schema } from "effect"
import { ConversationMessage } from "../../../src/conversation/Conversation.ts"
import type { AnswerMessage } from "../../../src/run/Projection.ts"

/** A column that holds such a text. */
export const StoredText = Schema.fromJsonString(Schema.String)

/** An answer as JSON text: its text alone, or an object where it did not end well, has sources or files, or is another agent's. */
export const storedAnswer = (answer: AnswerMessage): string => {
  const { content, ...more } = answer
  return JSON.stringify(Object.keys(more).length === 0 ? content : answer)
}

/** The object that `storedAnswer` may store. */
export const StoredAnswer = ConversationMessage.mapFields(
  ({ agent, content, files, finish, reason, sources }) => ({
    agent,
    content,
    files,
    finish,
    reason,
    sources
  })
)

/** A text of JSON, as a regular expression of PostgreSQL. */
const json_text = String.raw`"(?:[^"\\]|\\.)*"`

/**
 * A member of the object that a column holds as JSON text, as the JSON text that it is; NULL where it is none. The column is not
 * cast: one row that cannot be read would fail the statement. `before`: what stands before the member, as a regular expression; the
 * first place that fits is taken.
 */
export const textMember = (column: string, name: string, before = ""): string =>
  `substring(${column} FROM '${before}"${name}":(${json_text})')`

/** The id of a trace, which begins the object that a task says. */
export const traceMember = (column: string): string => textMember(column, "trace_id", "^\\{")

/** The agent behind it, as JSON text. */
export const agentMember = (column: string): string =>
  textMember(column, "agent", `^\\{"trace_id":${json_text},`)
