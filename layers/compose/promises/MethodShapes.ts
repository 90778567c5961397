/**
 * Arguments and results of the methods of a service that `start` starts, except messages and answers.
 */
import type { FilePart } from "../../../src/conversation/Part.ts"
import type { MemoryTier } from "../../../src/memory/MemoryRow.ts"

/** A CloudEvent 1.0 in structured form. Extension attributes are ignored. */
export interface PublishedEvent {
  readonly specversion: "1.0"
  readonly id: string
  readonly source: string
  readonly type: string
  /** RFC 3339, with a zone. */
  readonly time: string
  readonly subject?: string
  readonly data: unknown
}

export interface NoticesQuery {
  readonly unread?: boolean
  readonly limit?: number
  /** The id of the last notice of the page before. */
  readonly after?: string
}

/** A file of a conversation, from a message, a result or an answer. */
export interface StoredFile extends FilePart {
  readonly data: Uint8Array
}

/** Selects a memory: that of a conversation with an agent, together with the place that it shares with other conversations. */
export interface MemoryOf {
  readonly agent: string
  readonly conversation: string
}

export interface MemoriesQuery extends MemoryOf {
  /** Absent = `persistent`, which lasts beyond conversations. */
  readonly tier?: MemoryTier
  /** The run whose `interaction` rows are selected. */
  readonly run?: string
  readonly limit?: number
  /** The id of the last row of the page before. */
  readonly after?: string
  /** Includes rows that are superseded or undone. */
  readonly all?: boolean
}

export interface TextOfRecord {
  /** Unique within its place; 1 to 200 characters. */
  readonly name: string
  /** 1 to 20,000 characters. */
  readonly text: string
  /** How similar a text has to be to count as a copy: 0.3 to 1. Absent = 0.6. */
  readonly threshold?: number
  /** The anchor of the persistent tier that the text applies to. Absent = `workspace/<tenant>`. */
  readonly place?: string
}
