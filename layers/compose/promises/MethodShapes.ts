/**
 * Arguments and results of the methods of a service that `start` starts, except messages and answers.
 */
import type * as FileOperations from "../../../src/operation/FileOperations.ts"
import type * as MemoryOperations from "../../../src/operation/MemoryOperations.ts"
import type * as NoticeOperations from "../../../src/operation/NoticeOperations.ts"
import type { ArgumentsOf, ResultOf } from "../../../src/operation/Operation.ts"

/** A CloudEvent 1.0 in structured form. Extension attributes are ignored. */
export interface PublishedEvent {
  /** The version of CloudEvents. */
  readonly specversion: "1.0"
  /** The event's id, unique for its `source`: one that comes again is taken once. */
  readonly id: string
  /** Who publishes the event, as a URI reference. */
  readonly source: string
  /** What happened, such as `order.paid`: it selects the handler. */
  readonly type: string
  /** RFC 3339, with a zone. */
  readonly time: string
  /** What it happened to, such as an order's number. Absent = the type says enough. */
  readonly subject?: string
  /** The facts of the event, as JSON. */
  readonly data: unknown
}

/** Selects notices: unread ones only, a page's length, and the notice after which the page begins. */
export type NoticesQuery = NonNullable<ArgumentsOf<typeof NoticeOperations.list>[0]>

/** A file of a conversation, from a message, a result or an answer. */
export type StoredFile = ResultOf<typeof FileOperations.download>

/** Selects a memory: that of a conversation with an agent, together with the place that it shares with other conversations. */
export type MemoryOf = ArgumentsOf<typeof MemoryOperations.undo>[0]
/** Selects the rows of one memory: its tier, its run, and the page. */
export type MemoriesQuery = ArgumentsOf<typeof MemoryOperations.list>[0]
/** A text of record: its name, the text, how similar a copy is, and the place that it applies to. */
export type TextOfRecord = ArgumentsOf<typeof MemoryOperations.register>[0]
