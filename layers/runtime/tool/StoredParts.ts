/**
 * Puts the bytes of parts into the store, where they are named by the run that is to have them: durable before the journal names
 * them. What is stored for a run that is never accepted is collected later. Files that a tool's body attaches are stored when it
 * attaches them, and journaled with its result.
 */
import { Clock, Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import type {
  AttachedFile,
  FileInput,
  FilePart,
  Part,
  ResultFile
} from "../../../src/conversation/Part.ts"
import { FileTooLarge, isSameFile, parts_max } from "../../../src/conversation/Part.ts"
import type { ReadPart } from "../../../src/entry/ArgumentReaders.ts"
import { readParts } from "../../../src/entry/ArgumentReaders.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { Principal } from "../../../src/principal/Principal.ts"
import { DeclaredRoles, principalIn } from "../../../src/principal/Rights.ts"
import { redacted } from "../../../src/error/KnownSecrets.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolTerminalError, ToolTransientError } from "../../../src/error/ToolError.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import type { BlobHolder } from "../../../services/BlobStore.ts"
import { BlobBounds, BlobStore, shareOf } from "../../../services/BlobStore.ts"
import { startPeriodic } from "../fiber/Periodic.ts"
import type { CallHost } from "./CallHost.ts"

export interface PartStore {
  readonly blobs: BlobStore["Service"]
  readonly bounds: BlobBounds
  readonly digest: Digest.Digest["Service"]
}

/** In whose name parts are stored. */
export interface PartOwner {
  readonly tenant: Tenant
  readonly holder: BlobHolder
  /** Who has to have uploaded a file that is named by its digest. Absent = anybody of the tenant. */
  readonly uploaded_by?: string | undefined
  /** Whose message or run it is: a customer's files count for its share. */
  readonly by: Pick<Principal, "id" | "roles">
}

type File = Exclude<ReadPart, { readonly type: "text" }>

const storeFile = Effect.fnUntraced(function* (
  { blobs, bounds, digest }: PartStore,
  { by, holder, tenant, uploaded_by }: PartOwner,
  file: File
) {
  const { media_type, name, type } = file
  const label = { media_type, ...(name === undefined ? undefined : { name }) }
  if ("data" in file) {
    const { data } = file
    if (data.length > bounds.file_bytes_max) {
      return yield* new FileTooLarge({ bytes_max: bounds.file_bytes_max })
    }
    const hex = yield* digest.digestHex(Digest.sha256, data)
    const named = { digest: hex, ...label }
    const owner =
      by instanceof Principal ? by : principalIn(yield* DeclaredRoles, { ...by, tenant })
    yield* blobs.put(tenant, named, data, holder, bounds.tenant_bytes_max, shareOf(bounds, owner))
    return { type, ...named, size: data.length } satisfies FilePart
  }
  const named = { digest: file.digest, ...label }
  const size = yield* blobs.hold(tenant, named, holder, uploaded_by)
  return { type, ...named, size } satisfies FilePart
})

/** A file of a tool or of a model, read and stored, as the journal has it. */
export const storeFileInput = Effect.fnUntraced(function* (
  store: PartStore,
  owner: PartOwner,
  given: FileInput,
  field: string
) {
  for (const part of yield* readParts([given], field)) {
    if (part.type !== "text") return yield* storeFile(store, owner, part)
  }
  return yield* new InvalidInput({ field, reason: "Expected a file with its bytes" })
})

/** The parts as the journal has them. */
export const storeParts = (store: PartStore, owner: PartOwner, parts: ReadonlyArray<ReadPart>) =>
  Effect.forEach(parts, (part) =>
    part.type === "text" ? Effect.succeed<Part>(part) : storeFile(store, owner, part)
  )

const fileRefused = (message: string): ToolError =>
  new ToolTerminalError({ kind: "internal", reason: "FILE_REFUSED", message })

/** Why the call can be given no further file, or none for its customer; undefined = it can. */
const attachmentRefusal = (host: CallHost, isShared: boolean): ToolError | undefined => {
  // A body may go on after its time was over, and what it leaves behind after its end.
  if (host.call().phase._tag === "Settled" || host.state.ended !== undefined) {
    return fileRefused("the call is over: its result has the files that were attached before")
  }
  const { files = [], state } = host
  if (files.length >= parts_max) return fileRefused(`a result has at most ${parts_max} files`)
  if (!isShared) return undefined
  const { shared = [] } = state
  const more = files.filter(
    (file) => file.for_customer && !shared.some((each) => isSameFile(each, file))
  )
  return shared.length + more.length >= parts_max
    ? fileRefused(`an answer has at most ${parts_max} files of tools for its customer`)
    : undefined
}

/** What was attached in an earlier attempt is not attached twice. Bodies may attach many at once, so the bound is asked again. */
const add = (
  host: CallHost,
  file: FilePart,
  isShared: boolean
): Effect.Effect<FilePart, ToolError> => {
  const files = (host.files ??= [])
  const at = files.findIndex((each) => isSameFile(each, file))
  if (at >= 0 && (!isShared || files[at]?.for_customer)) return Effect.succeed(file)
  const refusal = attachmentRefusal(host, isShared)
  if (refusal !== undefined) return Effect.fail(refusal)
  const attached = isShared ? { ...file, for_customer: true as const } : file
  if (at < 0) files.push(attached)
  else files[at] = attached
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
  given: AttachedFile
): Effect.Effect<FilePart, ToolError> =>
  Effect.suspend(() => {
    const { accepted, run } = host
    const { for: whose, ...plain } = Object(given) as AttachedFile
    if (whose !== undefined && whose !== "customer") {
      return Effect.fail(fileRefused('file.for: Expected "customer", or no such member'))
    }
    const isShared = whose === "customer"
    const refusal = attachmentRefusal(host, isShared)
    if (refusal !== undefined) return Effect.fail(refusal)
    const { conversation, tenant } = accepted
    const holder = { run, conversation, as: isShared ? "answer" : "result" } as const
    return storeFileInput(
      store,
      { tenant, holder, by: { id: accepted.by, roles: accepted.roles ?? [] } },
      withoutHidden(plain, host),
      "file"
    ).pipe(
      Effect.mapError((error): ToolError =>
        error._tag === "StoreError"
          ? new ToolTransientError({ kind: "network", message: error.message })
          : fileRefused(error.message)
      ),
      Effect.flatMap((stored) => add(host, stored, isShared))
    )
  })

/** The files of a value; a failure has none. */
export const attachedTo = (
  { files }: CallHost,
  outcome: Outcome
): { readonly files?: ReadonlyArray<ResultFile> } =>
  files === undefined || outcome._tag !== "Value" ? {} : { files }

const sweep_max = 500

/** Sweeps again for as long as a sweep had its bound to do. */
const collectAll = Effect.fn("BlobStore.collectAll")(function* () {
  const blobs = yield* BlobStore
  const { unsent_ms } = yield* BlobBounds
  const before = (yield* Clock.currentTimeMillis) - unsent_ms
  while ((yield* blobs.collect(before, sweep_max)) >= sweep_max) continue
})

/**
 * Removes the files that nobody names any more: uploads that no message has named for a while, and what was stored for messages
 * that were never accepted. Sweeps a minute after the start and every ten minutes.
 */
export const garbageCollection: Layer.Layer<never, never, BlobStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const context = yield* Effect.context<BlobStore>()
    const collected = Effect.provide(collectAll(), context)
    yield* startPeriodic(600_000, collected, 60_000, (cause) =>
      Effect.logWarning("files were not collected", cause)
    )
  })
)
