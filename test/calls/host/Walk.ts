/** What `npm start -- --platform` adds: the reference platform, an agent whose tools call it, and what a person does next. */
import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
import * as HostPlatform from "./HostPlatform.ts"
import type { ModelRequest } from "../../../services/ModelGateway.ts"
import { keeper, tools } from "./Keeper.ts"
import { keeperScript } from "./KeeperScript.ts"
import { keeper_variant, seeds } from "./Seeds.ts"

/** The port that the platform had when it was last started here; undefined = none that can be read. */
const lastPort = (file: string): number | undefined => {
  const port = Result.match(
    Result.try(() => Number(readFileSync(file, "utf8"))),
    { onSuccess: (read) => read, onFailure: () => 0 }
  )
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

/**
 * Starts the platform, at the address that it had before: an approval holds for that address. Its authorization is in a file that
 * only this user may read.
 */
export const start = Effect.fnUntraced(function* (data: string) {
  const authorization = `ApiKey ${randomBytes(24).toString("base64url")}`
  const directory = join(data, "platform")
  const file = join(directory, "authorization")
  yield* Effect.sync(() => {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    // For `curl -H @file`, so that it stands in no list of processes.
    writeFileSync(file, `Authorization: ${authorization}\n`, { mode: 0o600 })
  })
  const portFile = join(directory, "port")
  const port = lastPort(portFile)
  const platform = yield* HostPlatform.start({ authorization, workflows: seeds, port })
  yield* Effect.sync(() => writeFileSync(portFile, `${platform.port}\n`, { mode: 0o600 }))
  return {
    agents: [keeper],
    tools: [tools(platform, authorization)],
    script: (request: ModelRequest) =>
      request.agent === keeper.name ? keeperScript(request) : undefined,
    text: textOf(platform, file)
  }
})

/** Lines for a person. `chat` is the command that reaches this service. */
const textOf = ({ url }: HostPlatform.HostPlatform, file: string) => {
  const curl = `curl -s -H @${file}`
  const body = JSON.stringify({
    workflow_revision: {
      workflow_variant_id: keeper_variant,
      message: "By hand.",
      data: { temperature: 0.2 }
    }
  })
  return (chat: string): ReadonlyArray<string> => [
    `  A host platform  ${url}   (in memory: it begins anew with each start)`,
    "",
    `  Talk with the agent that keeps a workflow of it:   ${chat} --agent keeper --conversation platform`,
    '  1. Say "Make it colder". It reads its workflow and proposes a revision. Approve it: the revision is committed.',
    "  2. See the requests that the platform got, with what the runtime filled in:",
    `       ${curl} ${url}/api/requests`,
    '  3. Say "Make it colder" again, and before you approve commit another revision:',
    `       ${curl} -d '${body}' ${url}/api/workflows/revisions/commit`,
    "     Then approve: the platform refuses the stale revision (409), and nothing of yours is lost.",
    '  4. "Open an issue: too warm" calls its gateway; "Summarize: some text" runs a workflow that is stored on it.',
    ""
  ]
}
