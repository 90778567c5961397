/** The operations on what agents remember, and on the texts of record that none may remember. */
import { Schema } from "effect"
import { ErasedMemories } from "../erasure/Erasure.ts"
import { CanonicalText } from "../memory/CanonicalText.ts"
import { MemoryId, MemoryName, MemoryRow, MemoryTier } from "../memory/MemoryRow.ts"
import { AgentName, ConversationId, RunId } from "../value/Ids.ts"
import { operation } from "./Operation.ts"
import { Limit } from "./Page.ts"

/** A memory: that of a conversation with an agent, together with the place that it shares with other conversations. */
const Owner = {
  /** The agent whose memory it is. */
  agent: AgentName,
  /** A conversation with that agent. */
  conversation: ConversationId
} as const
const Memory = MemoryRow.annotate({ identifier: "Memory" })
const { name, place, text, threshold } = CanonicalText.fields

export const list = operation({
  id: "list",
  name: "memories",
  method: "GET",
  path: "/v1/memories",
  query: Schema.Struct({
    ...Owner,
    /** Absent = `persistent`, which lasts beyond conversations. */
    tier: Schema.optionalKey(MemoryTier),
    /** The run whose `interaction` rows are selected. */
    run: Schema.optionalKey(RunId),
    /** `true` = the list also contains rows that are superseded or undone. */
    all: Schema.optionalKey(Schema.Boolean),
    /** How many rows a page has at most, 1 to 500. Absent = 50. */
    limit: Schema.optionalKey(Limit),
    /** The page begins after this row, with older ones. */
    after: Schema.optionalKey(MemoryId)
  }),
  success: Schema.Struct({
    items: Schema.Array(Memory),
    next_after: Schema.optionalKey(MemoryId)
  }),
  problems: [404],
  right: "inspect",
  gives: "items",
  summary: "What an agent remembers for a conversation, newest first"
})

export const undo = operation({
  id: "undo",
  name: "undoMemory",
  method: "POST",
  path: "/v1/memories/:id/undo",
  params: Schema.Struct({ id: MemoryId }),
  payload: Schema.Struct(Owner),
  success: Memory,
  problems: [404, 409],
  right: "curate",
  args: ["input", "id"],
  summary: "Remove a memory",
  description: "The one that it superseded, if any, is valid again."
})

export const erase = operation({
  id: "erase",
  name: "eraseMemories",
  method: "POST",
  path: "/v1/memories/erase",
  payload: Schema.Struct({ subject: MemoryName }),
  success: ErasedMemories,
  right: "curate",
  args: ["subject"],
  summary: "Remove every memory that names a subject",
  description:
    "As its subject, in its text or in an anchor. Journals are not changed: `/v1/erasures` changes them."
})

export const register = operation({
  id: "register",
  name: "registerText",
  method: "PUT",
  path: "/v1/memories/texts",
  payload: Schema.Struct({
    /** The text's name, unique within its place. */
    name,
    /** The text, 1 to 20,000 UTF-16 units, with a letter or digit. */
    text,
    /** From which similarity on a memory is a copy, 0.3 to 1. Absent = 0.6. */
    threshold,
    /** The anchor of the persistent tier that the text applies to. Absent = `workspace/<tenant>`. */
    place: Schema.optionalKey(place)
  }),
  problems: [409],
  right: "curate",
  summary: "Register a text of record, or replace that of its name",
  description: "No copy of it can become a memory. At most 1,000 a place."
})
