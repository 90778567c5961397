/**
 * Texts from outside, stored as JSON text: PostgreSQL's text refuses a NUL, and UTF-8 has no lone surrogates, so a raw text could
 * make the append fail that contains it. Private to this room.
 */
import { Result, Schema } from "effect"
import { ConversationMessage } from "../../../src/conversation/Conversation.ts"
import type { AnswerMessage } from "../../../src/run/Projection.ts"

/** The codec of a column with such a text. */
export const StoredText = Schema.fromJsonString(Schema.String)

/**
 * Encodes an answer as JSON text: only its content, or an object if it did not end well, has sources or files, or is another
 * agent's.
 */
export const storedAnswer = (answer: AnswerMessage): string => {
  const { content, ...more } = answer
  return JSON.stringify(Object.keys(more).length === 0 ? content : answer)
}

/** The schema of the object that `storedAnswer` may store. */
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

/** A PostgreSQL regular expression for a JSON string. */
const json_text = String.raw`"(?:[^"\\]|\\.)*"`

/**
 * SQL expression for a string member of the object that a column stores as JSON text. It gives the member's JSON text, or NULL if
 * there is none. The column is not cast, because one unreadable row would fail the statement. `before` is a regular expression
 * for what precedes the member; the first match is taken.
 */
export const textMember = (column: string, name: string, before = ""): string =>
  `substring(${column} FROM '${before}"${name}":(${json_text})')`

/** The id of the trace, the first member of the object in a task's column `trace_id`, as JSON text. */
export const traceMember = (column: string): string => textMember(column, "trace_id", "^\\{")

/** The agent, the member after the trace's id in the same object, as JSON text. */
export const agentMember = (column: string): string =>
  textMember(column, "agent", `^\\{"trace_id":${json_text},`)

/** SQL condition for a task that stands in place of another. An index has it. */
export const is_branch = `trace_id LIKE '{%"branch":{"replaces":%'`

/** SQL condition for a task that is found by what was posted. An index has it, and the expression for the digest of that. */
export const is_posted = `trace_id LIKE '{%"posted":"%'`
export const posted_digest = String.raw`substring(trace_id FROM '^\{"trace_id":"[^"]*",(?:"agent":"[^"]*",)?"posted":"([0-9a-f]{64})"')`

/** SQL condition for a task whose run is a fork. An index has it. */
export const is_fork = `trace_id LIKE '{"trace_id":"%","forked":{"sender":"%'`

const before_fork = `^\\{"trace_id":${json_text},"forked":\\{`

/** Who sent the message of the run that the fork of a task `t` was forked from, as JSON text. */
export const forked_sender = textMember("t.trace_id", "sender", before_fork)

/** The conversation of that run, as JSON text. */
export const forked_conversation = textMember(
  "t.trace_id",
  "conversation",
  `${before_fork}"sender":${json_text},`
)

/**
 * SQL expression for the agent that the message of a task `t` went to; NULL = that of its address. A text that is not an object is
 * only the id of a trace.
 */
export const agent_said = `CASE WHEN t.trace_id LIKE '{%' THEN trim('"' FROM ${agentMember("t.trace_id")}) END`

/** SQL expression for the text of a message, as JSON text, without what else an answer says. */
export const saidMember = (column: string): string =>
  `CASE WHEN ${column} LIKE '{%' THEN ${textMember(column, "content")} ELSE ${column} END`

/** The text whose JSON begins so. An escape that was cut is left out; what is no JSON string gives an empty text. */
export const beginningIn = (json: string): string => {
  const whole = json.replace(/^"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*)[^]*$/, '"$1"')
  return Result.getOrElse(
    Result.try(() => String(JSON.parse(whole))),
    () => ""
  )
}
