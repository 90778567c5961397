/** The routes of how the service stands. */
import { Effect } from "effect"
import * as StandingOperations from "../../src/operation/StandingOperations.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import type { Page } from "./SignedPages.ts"
import { perform, signedPage } from "./SignedPages.ts"
import { checksPage, processesPage } from "./StandingPages.ts"

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

/** Who works on runs, what waits, and what an examination finds. */
export const standing: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/processes", answer: processes },
  { method: "GET", path: "/console/checks", answer: checks }
]
