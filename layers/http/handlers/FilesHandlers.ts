/**
 * Handlers that accept files for messages, and serve the files that a conversation's runs refer to. Files are sent as attachments
 * that nothing may interpret, because they come from customers, tools and models.
 */
import { ByteSize, Effect, Result, Schema, Stream } from "effect"
import type { Layer } from "effect"
import { Base64, Hex } from "effect/encoding"
import { HttpIncomingMessage, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import type { Authentication, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { FileName, FileTooLarge, MediaType } from "../../../src/conversation/Part.ts"
import { withoutInvisible } from "../../../src/value/InvisibleText.ts"
import * as Files from "../../service/FileEffects.ts"
import { readFileForm } from "../stream/FileForm.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { Limits } from "../boundary/Limits.ts"
import { problemOf, respond } from "../boundary/Problems.ts"

/** The bytes of a form besides its file: boundaries, headers and the other field. */
const form_overhead = 10_000
/** The size of one piece of a download, in bytes. */
const piece_bytes = 262_144

const isMediaType = Schema.is(MediaType)
const isFileName = Schema.is(FileName)

interface Uploaded {
  readonly media_type: string
  readonly data: Uint8Array
  readonly name: string | undefined
  /** The digest that the bytes have to have, in hex. */
  readonly digest: string | undefined
}

const badType = makeProblem(
  415,
  "unsupported-media-type",
  "The media type is not one",
  "Send the media type of the file, or multipart/form-data with one field named file."
)

const badForm = makeProblem(
  400,
  "malformed-form",
  "The form cannot be read",
  "It has one file, in the field named file, and may have its SHA-256 in hex, in the field named digest."
)

const beyond = makeProblem(
  416,
  "range-not-satisfiable",
  "The file has no byte of this range",
  "Its size is in Content-Range."
)

const nothing = makeProblem(400, "empty-file", "The file is empty", "Send at least one byte.")

const badName = makeProblem(
  400,
  "bad-file-name",
  "The name is not one of a file",
  "It has 1 to 200 printable characters and no slash."
)

/** The media type without its parameters, such as `charset`. */
const plainType = (type: string): string => type.replace(/;.*$/s, "").trim().toLowerCase()

/** The SHA-256 of the header `Content-Digest` (RFC 9530), in hex; empty if its SHA-256 cannot be read. */
const contentDigest = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  const [, text = ""] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]{44}):/.exec(header) ?? []
  return Result.match(Base64.decode(text), { onSuccess: Hex.encode, onFailure: () => "" })
}

const readForm = (bytes: Uint8Array, type: string) =>
  Effect.map(readFileForm(bytes, type), (form): Uploaded | undefined =>
    form === undefined
      ? undefined
      : {
          ...form,
          media_type: plainType(form.media_type),
          digest: form.digest?.toLowerCase()
        }
  )

/** The file of a request, in memory; at most as large as the bound of a file. */
const readUpload = Effect.fnUntraced(function* (name: string | undefined, bytes_max: number) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const type = request.headers["content-type"] ?? ""
  const tooLarge = problemOf(new FileTooLarge({ bytes_max }))
  const body_max = bytes_max + form_overhead
  if (Number(request.headers["content-length"] ?? 0) > body_max) return yield* Effect.fail(tooLarge)
  const bytes = new Uint8Array(
    yield* request.arrayBuffer.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body_max)),
      Effect.mapError(() => tooLarge)
    )
  )
  const uploaded = /^\s*multipart\/form-data\s*;/i.test(type)
    ? yield* readForm(bytes, type)
    : { media_type: plainType(type), data: bytes, name, digest: undefined }
  if (uploaded === undefined) return yield* Effect.fail(badForm)
  if (!isMediaType(uploaded.media_type)) return yield* Effect.fail(badType)
  if (uploaded.name !== undefined && !isFileName(uploaded.name)) return yield* Effect.fail(badName)
  if (uploaded.data.length === 0) return yield* Effect.fail(nothing)
  if (uploaded.data.length > bytes_max) return yield* Effect.fail(tooLarge)
  const { name: named, ...file } = uploaded
  return {
    ...file,
    ...(named === undefined ? undefined : { name: named }),
    digest: uploaded.digest ?? contentDigest(request.headers["content-digest"])
  }
})

type OpenFile = Effect.Success<ReturnType<typeof Files.open>>

/**
 * The `Content-Disposition` with both forms of the name (RFC 6266): one for old clients, without characters that could end it,
 * and the complete one.
 */
const disposition = ({ media_type, name }: OpenFile): string => {
  const [, end = "bin"] = /\/([a-z0-9]+)$/.exec(media_type) ?? []
  // A direction mark would show the file name `gnp.exe` as `exe.png`.
  const whole = withoutInvisible(name ?? "") || `file.${end}`
  const plain = whole.replace(/[^A-Za-z0-9._ -]/g, "_")
  const encoded = encodeURIComponent(whole).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

const headersOf = (file: OpenFile) => ({
  "accept-ranges": "bytes",
  "content-disposition": disposition(file),
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff"
})

/** The bytes from `from` up to but not including `to`. */
interface ByteRange {
  readonly from: number
  readonly to: number
}

/**
 * The range of a `Range` header (RFC 9110, section 14). Undefined = the whole file: the header is absent, malformed, in another unit, or asks for
 * several ranges, all of which a server may ignore. `beyond`: no byte of the range is in the file.
 */
export const rangeOf = (
  header: string | undefined,
  size: number
): ByteRange | "beyond" | undefined => {
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(" ", "") ?? "")
  if (found === null) return undefined
  const [, first = "", last = ""] = found
  if (first === "") {
    if (last === "") return undefined
    const length = Math.min(Number(last), size)
    return length === 0 ? "beyond" : { from: size - length, to: size }
  }
  const from = Number(first)
  if (last !== "" && Number(last) < from) return undefined
  if (from >= size) return "beyond"
  return { from, to: last === "" ? size : Math.min(Number(last) + 1, size) }
}

/** Serves the file, or the part of it that was asked for, reading it from the store as the client takes it. */
const serve = (file: OpenFile, range: string | undefined) => {
  const headers = headersOf(file)
  const { media_type, read, size } = file
  const piece = rangeOf(range, size)
  if (piece === "beyond") {
    return HttpServerResponse.setHeaders(respond(beyond), {
      "accept-ranges": "bytes",
      "content-range": `bytes */${size}`
    })
  }
  const { from, to } = piece ?? { from: 0, to: size }
  const bytes = Stream.unfold(from, (at) =>
    at >= to
      ? Effect.succeed(undefined)
      : Effect.map(
          read(at, Math.min(piece_bytes, to - at)),
          // If the file was removed meanwhile, the body ends early, which its length reveals.
          (piece) =>
            piece === undefined || piece.length === 0
              ? undefined
              : ([piece, at + piece.length] as const)
        )
  )
  return HttpServerResponse.stream(bytes, {
    status: piece === undefined ? 200 : 206,
    contentType: media_type,
    contentLength: to - from,
    headers:
      piece === undefined
        ? headers
        : { ...headers, "content-range": `bytes ${from}-${to - 1}/${size}` }
  })
}

type Services = Effect.Services<ReturnType<typeof Files.keep> | ReturnType<typeof Files.open>>

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "files">,
  never,
  Services | Limits | Authentication | Validation
> = HttpApiBuilder.group(
  TroupeApi,
  "files",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* Effect.context<Services>()
    const limits = yield* Limits
    const bytes_max = yield* Files.bytesMax
    const { customer_agents } = yield* HttpSettings

    return handlers.handleAll({
      upload: Effect.fnUntraced(function* ({ query }) {
        const by = yield* CurrentPrincipal
        yield* limits.message(by)
        const kept = Effect.flatMap(readUpload(query.name, bytes_max), (uploaded) =>
          Effect.mapError(Files.keep(uploaded, by), (error) => problemOf(error))
        )
        return yield* limits.upload(by, Effect.provideContext(kept, services))
      }),
      download: Effect.fnUntraced(function* ({ headers, params }) {
        const by = yield* CurrentPrincipal
        const file = yield* Files.open(params, by).pipe(
          Effect.mapError((error) => problemOf(error)),
          Effect.provideService(CustomerAgents, customer_agents),
          Effect.provideContext(services)
        )
        // Files have no validators, so no `If-Range` can match (RFC 9110, section 13.1.5).
        return serve(file, headers["if-range"] === undefined ? headers.range : undefined)
      })
    })
  })
)
