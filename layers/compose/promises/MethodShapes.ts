/**
 * Arguments and results of the methods of a service that `start` starts, except messages and answers.
 */
import type * as FileOperations from "../../../src/operation/FileOperations.ts"
import type * as MemoryOperations from "../../../src/operation/MemoryOperations.ts"
import type * as NoticeOperations from "../../../src/operation/NoticeOperations.ts"
import type { ArgumentsOf, ResultOf } from "../../../src/operation/Operation.ts"

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

export type NoticesQuery = NonNullable<ArgumentsOf<typeof NoticeOperations.list>[0]>

/** A file of a conversation, from a message, a result or an answer. */
export type StoredFile = ResultOf<typeof FileOperations.download>

/** Selects a memory: that of a conversation with an agent, together with the place that it shares with other conversations. */
export type MemoryOf = ArgumentsOf<typeof MemoryOperations.undo>[0]
export type MemoriesQuery = ArgumentsOf<typeof MemoryOperations.list>[0]
export type TextOfRecord = ArgumentsOf<typeof MemoryOperations.register>[0]
