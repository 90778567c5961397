/** The routes of how the service stands. */
import { Effect } from "effect"
import * as StandingOperations from "../../src/operation/StandingOperations.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import type { Page } from "./SignedPages.ts"
import { perform, signedPage } from "./SignedPages.ts"
import { channelsPage, checksPage, processesPage, settingsPage } from "./StandingPages.ts"

const processes = signedPage((asked) =>
  Effect.map(perform(operations.processes, {}, asked), (found) =>
    processesPage(asked.view, found, apiLine(asked, StandingOperations.processes, {}))
  )
)

const checks = signedPage((asked) =>
  Effect.map(perform(operations.checks, {}, asked), (found) =>
    checksPage(asked.view, found, apiLine(asked, StandingOperations.checks, {}))
  )
)

const channels = signedPage((asked) =>
  Effect.map(perform(operations.deliveries, {}, asked), ({ items }) =>
    channelsPage(asked.view, items, apiLine(asked, StandingOperations.deliveries, {}))
  )
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
