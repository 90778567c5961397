/**
 * Files that a tool's body attaches to its result: stored when it attaches them, under the name of its run, and journaled with the
 * result.
 */
import { Effect } from "effect"
import type { FilePart, GivenFile } from "../../../src/conversation/Part.ts"
import { parts_max } from "../../../src/conversation/Part.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolTerminalError, ToolTransientError } from "../../../src/error/ToolError.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallHost } from "./CallHost.ts"
import type { PartStore } from "./StoredParts.ts"
import { storeGiven } from "./StoredParts.ts"

const refused = (message: string): ToolError =>
  new ToolTerminalError({ kind: "internal", reason: "FILE_REFUSED", message })

/** What was attached in an earlier attempt is not attached twice. */
const add = (host: CallHost, file: FilePart): FilePart => {
  const files = (host.files ??= [])
  const isKnown = files.some(({ digest, name }) => digest === file.digest && name === file.name)
  if (!isKnown) files.push(file)
  return file
}

/** Stores the file and attaches it. Fails as the tool does that cannot go on without it. */
export const attachFile = (
  store: PartStore,
  host: CallHost,
  file: GivenFile
): Effect.Effect<FilePart, ToolError> =>
  Effect.suspend(() => {
    const { accepted, run } = host
    if ((host.files?.length ?? 0) >= parts_max) {
      return Effect.fail(refused(`a result has at most ${parts_max} files`))
    }
    const { conversation, tenant } = accepted
    const holder = { run, conversation, as: "result" } as const
    return storeGiven(store, { tenant, holder }, file, "file").pipe(
      Effect.mapBoth({
        onSuccess: (stored) => add(host, stored),
        onFailure: (error): ToolError =>
          error._tag === "StoreError"
            ? new ToolTransientError({ kind: "network", message: error.message })
            : refused(error.message)
      })
    )
  })

/** The files of a value; a failure has none. */
export const attachedTo = (
  { files }: CallHost,
  outcome: Outcome
): { readonly files?: ReadonlyArray<FilePart> } =>
  files === undefined || outcome._tag !== "Value" ? {} : { files }
