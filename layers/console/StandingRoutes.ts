/** The routes of how the service stands. */
import { Effect } from "effect"
import * as StandingOperations from "../../src/operation/StandingOperations.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import type { Page } from "./SignedPages.ts"
import { perform, signedPage } from "./SignedPages.ts"
import { processesPage } from "./StandingPages.ts"

const processes = signedPage((asked) =>
  Effect.map(perform(operations.processes, {}, asked), (found) =>
    processesPage(asked.view, found, apiLine(asked, StandingOperations.processes, {}))
  )
)

/** Who works on runs, and what waits. */
export const standing: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/processes", answer: processes }
]
