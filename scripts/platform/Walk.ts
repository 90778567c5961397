/** What `npm start -- --platform` adds: the reference platform, an agent whose tools call it, and what a person does next. */
import { randomBytes } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import * as HostPlatform from "./HostPlatform.ts"
import { keeper, tools } from "./Keeper.ts"
import { keeper_variant, seeds } from "./Seeds.ts"

/** Starts the platform. Its authorization is in a file that only this user may read. */
export const start = Effect.fnUntraced(function* (data: string) {
  const authorization = `ApiKey ${randomBytes(24).toString("base64url")}`
  const directory = join(data, "platform")
  const file = join(directory, "authorization")
  yield* Effect.sync(() => {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    // For `curl -H @file`, so that it stands in no list of processes.
    writeFileSync(file, `Authorization: ${authorization}\n`, { mode: 0o600 })
  })
  const platform = yield* HostPlatform.start({ authorization, workflows: seeds })
  return {
    agents: [keeper],
    tools: [tools(platform, authorization)],
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
