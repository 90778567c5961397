/**
 * Texts from outside, stored as JSON text: PostgreSQL's text refuses a NUL, and UTF-8 has no lone surrogates, so that a
 * raw text could poison the append that carries it. Private to this room.
 */

import { ConversationMessage } from "../../../src/conversation/Conversation.ts"
import type { Answer } from "../../../src/run/Projection.ts"

/** What `JSON.stringify` stored. */
export const textOf = (stored: string): string => {
  const value: unknown = JSON.parse(stored)
  return typeof value === "string" ? value : stored
}

/** An answer: its text alone as JSON text, or with what is to be said of it. */
export const storedAnswer = (answer: Answer): string => {
  const { content, ...more } = answer
  return JSON.stringify(Object.keys(more).length === 0 ? content : answer)
}

/** What `storedAnswer` stores where there is more to say than the text. */
export const StoredAnswer = ConversationMessage.mapFields(
  ({ content, finish, reason, sources }) => ({ content, finish, reason, sources })
)
