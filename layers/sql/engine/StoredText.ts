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

/**
 * A column of JSON text as `json` whose members PostgreSQL can read. It refuses a text that has a NUL or a lone surrogate
 * anywhere, also in a member that nobody asks for; in their place the value has U+FFFD.
 */
export const readableJson = (column: string): string =>
  `regexp_replace(${column}, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'g')::json`
