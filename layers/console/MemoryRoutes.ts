/** The routes of what agents remember. */
import { Effect, Schema } from "effect"
import * as ConversationOperations from "../../src/operation/ConversationOperations.ts"
import * as MemoryOperations from "../../src/operation/MemoryOperations.ts"
import { MemoryId } from "../../src/memory/MemoryRow.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import { memoryAddress, memoryOwnersPage, memoryPage } from "./MemoryPages.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  decoded,
  doneOr,
  html,
  nothingHere,
  page_max,
  pageQuery,
  perform,
  queryOf,
  signedPage,
  to
} from "./SignedPages.ts"

const { after, agent, conversation, run, tier } = MemoryOperations.list.query.fields

const MemoryQuery = Schema.Struct({
  agent,
  conversation,
  tier,
  run,
  after,
  all: Schema.optionalKey(Schema.Literals(["true"]))
})

const chosenBy = Effect.fnUntraced(function* (asked: Asked) {
  const given = queryOf(asked, Object.keys(MemoryQuery.fields))
  const { all, tier = "persistent", ...rest } = yield* decoded(MemoryQuery, given, nothingHere)
  return { ...rest, tier, all: all !== undefined }
})

const owners = Effect.fnUntraced(function* (asked: Asked) {
  const query = yield* pageQuery(asked, ConversationOperations.list.query)
  const found = yield* perform(operations.conversations, query, asked)
  return memoryOwnersPage(asked.view, found)
})

const memoryWith = Effect.fnUntraced(function* (asked: Asked, rejected?: Rejected) {
  const { after, ...chosen } = yield* chosenBy(asked)
  const query = { ...chosen, limit: page_max, ...defined({ after }) }
  const found = yield* perform(operations.memories, query, asked)
  const line = apiLine(asked, MemoryOperations.list, { ...query, all: String(chosen.all) })
  return memoryPage(asked.view, { ...found, chosen, line, ...defined({ rejected }) })
})

const memory = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const isChosen = Object.hasOwn(queryOf(asked, ["agent"]), "agent")
    return isChosen ? yield* memoryWith(asked) : yield* owners(asked)
  })
)

const Undone = Schema.Struct({ id: MemoryId })

const undo = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { after: _, ...chosen } = yield* chosenBy(asked)
      const { agent, conversation } = chosen
      const { id } = yield* decoded(Undone, { id: asked.fields["id"] }, nothingHere)
      return yield* doneOr(
        surface,
        Effect.as(
          perform(operations.undoMemory, { id, agent, conversation }, asked),
          to(memoryAddress(asked.view, chosen))
        ),
        (message, status) =>
          Effect.map(memoryWith(asked, { message, typed: {} }), (page) => html(page, status))
      )
    })
  )(surface)

/** What agents remember, and how it is taken back. */
export const memories: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/memory", answer: memory },
  { method: "POST", path: "/console/memory", answer: undo }
]
