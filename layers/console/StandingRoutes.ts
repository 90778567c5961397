/** The routes of how the service stands. */
import { Effect } from "effect"
import * as StandingOperations from "../../src/operation/StandingOperations.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import { followingList, lists } from "./FollowedLists.ts"
import type { Asked, Page } from "./SignedPages.ts"
import { followedPage, perform, signedPage } from "./SignedPages.ts"
import { channelsPage, checksPage, processesPage, settingsPage } from "./StandingPages.ts"

const processes = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const found = yield* perform(operations.processes, {}, asked)
    const follows = yield* followingList(asked, lists.processes, found, { page: "/processes" })
    const line = apiLine(asked, StandingOperations.processes, {})
    return processesPage(asked.view, found, { follows, line })
  })
)

const checks = signedPage((asked) =>
  Effect.map(perform(operations.checks, {}, asked), (found) =>
    checksPage(asked.view, found, apiLine(asked, StandingOperations.checks, {}))
  )
)

const channels = followedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const found = yield* perform(operations.deliveries, {}, asked)
    const follows = yield* followingList(asked, lists.channels, found, { page: "/channels" })
    const line = apiLine(asked, StandingOperations.deliveries, {})
    return channelsPage(asked.view, found.items, { follows, line })
  })
)

const settings = signedPage((asked) =>
  Effect.map(perform(operations.settings, {}, asked), ({ items }) =>
    settingsPage(asked.view, items, apiLine(asked, StandingOperations.settings, {}))
  )
)

/** Who works on runs, what waits, what an examination finds, and how the process was started. */
export const standing: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/processes", answer: processes },
  { method: "GET", path: "/console/checks", answer: checks },
  { method: "GET", path: "/console/channels", answer: channels },
  { method: "GET", path: "/console/settings", answer: settings }
]
