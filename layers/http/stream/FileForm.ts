/**
 * A form with one file (RFC 7578), as browsers, `fetch` and curl send it. Its parts are counted while they are read, and the
 * third part ends the form: the platform's own `formData` builds all parts, which takes seconds for the 300,000 fields that 20 MB
 * can hold.
 */
import { Effect, Stream } from "effect"
import { Multipart } from "effect/http"

/** The parts `file` and, optionally, `digest`. */
const parts_max = 2
/** The maximum size of a field that is not a file, in bytes. */
const field_max = 200
/** The bytes that the parser gets at a time: it processes all of them, even if it refuses the form at its beginning. */
const piece_bytes = 65_536

export interface FileForm {
  readonly data: Uint8Array
  readonly media_type: string
  /** The name of the file; undefined = it has none. */
  readonly name: string | undefined
  readonly digest: string | undefined
}

const piecesOf = function* (bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += piece_bytes) {
    yield bytes.subarray(at, at + piece_bytes)
  }
}

type ReadPart =
  | Multipart.Field
  | { readonly _tag: "Whole"; readonly file: Multipart.File; readonly data: Uint8Array }

const whole = (part: Multipart.Part): Effect.Effect<ReadPart, Multipart.MultipartError> =>
  Multipart.isFile(part)
    ? Effect.map(part.contentEffect, (data) => ({ _tag: "Whole", file: part, data }))
    : Effect.succeed(part)

/**
 * Decodes a quoted text. Browsers percent-encode the characters that would end it; older programs put a backslash before them.
 */
const unquoted = (text: string): string =>
  text
    .replace(/\\(["\\])/g, "$1")
    .replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

const formOf = (parts: ReadonlyArray<ReadPart>): FileForm | undefined => {
  const file = parts.find((part) => part._tag === "Whole")
  const other = parts.find((part) => part !== file)
  if (file?.file.key !== "file") return undefined
  if (other !== undefined && (other._tag !== "Field" || other.key !== "digest")) return undefined
  const { contentType: media_type, name } = file.file
  return {
    data: file.data,
    media_type,
    name: name === "" ? undefined : unquoted(name),
    digest: other?.value
  }
}

/** Reads the form; undefined = the body is not such a form. */
export const readFileForm = (
  bytes: Uint8Array,
  type: string
): Effect.Effect<FileForm | undefined> =>
  Stream.fromIterable(piecesOf(bytes), { chunkSize: 1 }).pipe(
    Stream.pipeThroughChannel(Multipart.makeChannel({ "content-type": type })),
    Stream.mapEffect(whole),
    Stream.runCollect,
    Effect.map(formOf),
    Effect.catchTag("MultipartError", () => Effect.undefined),
    // The parser throws at a part whose headers do not end.
    Effect.catchDefect(() => Effect.undefined),
    Effect.provideContext(
      Multipart.limitsServices({
        maxParts: parts_max,
        maxFieldSize: field_max,
        maxFileSize: bytes.length,
        maxTotalSize: bytes.length
      })
    )
  )
