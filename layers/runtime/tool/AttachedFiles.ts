/**
 * Files that a tool's body attaches to its result: stored when it attaches them, under the name of its run, and journaled with the
 * result.
 */
import { Effect } from "effect"
import type { FilePart, FileInput } from "../../../src/conversation/Part.ts"
import { parts_max } from "../../../src/conversation/Part.ts"
import { redacted } from "../../../src/error/KnownSecrets.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolTerminalError, ToolTransientError } from "../../../src/error/ToolError.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { CallHost } from "./CallHost.ts"
import type { PartStore } from "./StoredParts.ts"
import { storeFileInput } from "./StoredParts.ts"

const fileRefused = (message: string): ToolError =>
  new ToolTerminalError({ kind: "internal", reason: "FILE_REFUSED", message })

/** Why the call can be given no further file; undefined = it can. */
const attachmentRefusal = (host: CallHost): ToolError | undefined => {
  // A body may go on after its time was over, and what it leaves behind after its end.
  if (host.call().phase._tag === "Settled" || host.state.ended !== undefined) {
    return fileRefused("the call is over: its result has the files that were attached before")
  }
  return (host.files?.length ?? 0) >= parts_max
    ? fileRefused(`a result has at most ${parts_max} files`)
    : undefined
}

/** What was attached in an earlier attempt is not attached twice. Bodies may attach many at once, so the bound is asked again. */
const add = (host: CallHost, file: FilePart): Effect.Effect<FilePart, ToolError> => {
  const files = (host.files ??= [])
  const isKnown = files.some(({ digest, name }) => digest === file.digest && name === file.name)
  if (isKnown) return Effect.succeed(file)
  const refusal = attachmentRefusal(host)
  if (refusal !== undefined) return Effect.fail(refusal)
  files.push(file)
  return Effect.succeed(file)
}

/** The file, whose name has no secret of the run. Its bytes are the tool's to answer for. */
const withoutHidden = (file: FileInput, { hidden }: CallHost): FileInput =>
  hidden === undefined || typeof file.name !== "string"
    ? file
    : { ...file, name: redacted(file.name, hidden) }

/** Stores the file and attaches it. Fails as the tool does that cannot go on without it. */
export const attachFile = (
  store: PartStore,
  host: CallHost,
  file: FileInput
): Effect.Effect<FilePart, ToolError> =>
  Effect.suspend(() => {
    const { accepted, run } = host
    const refusal = attachmentRefusal(host)
    if (refusal !== undefined) return Effect.fail(refusal)
    const { conversation, tenant } = accepted
    const holder = { run, conversation, as: "result" } as const
    return storeFileInput(
      store,
      { tenant, holder, by: { id: accepted.by, roles: accepted.roles ?? [] } },
      withoutHidden(file, host),
      "file"
    ).pipe(
      Effect.mapError((error): ToolError =>
        error._tag === "StoreError"
          ? new ToolTransientError({ kind: "network", message: error.message })
          : fileRefused(error.message)
      ),
      Effect.flatMap((stored) => add(host, stored))
    )
  })

/** The files of a value; a failure has none. */
export const attachedTo = (
  { files }: CallHost,
  outcome: Outcome
): { readonly files?: ReadonlyArray<FilePart> } =>
  files === undefined || outcome._tag !== "Value" ? {} : { files }
