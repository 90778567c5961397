/**
 * What a message, a result or an answer is made of beside its text: images, audio and other files, and texts between them.
 * The bytes of a file are kept apart from the journal, which names them by their digest.
 */
import { Schema } from "effect"

/** Of a file: its first half is checked against the part's type. */
export const MediaType = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/, {
    description: "a media type in lower case and without parameters, such as image/png"
  })
)

/** SHA-256 of the bytes. */
export const FileDigest = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{64}$/, {
    description: "a SHA-256 digest: 64 hex digits in lower case"
  })
)

/** What a person calls it: no path, and nothing that is not printed. */
export const FileName = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(200),
  Schema.makeFilter(
    // oxlint-disable-next-line no-control-regex -- it is what is refused
    (name) => (name.isWellFormed() && !/[\u0000-\u001f\u007f/\\]/.test(name)) || "a plain file name"
  )
)

const FileType = Schema.Literals(["image", "audio", "file"])
type FileType = typeof FileType.Type

/** A file whose bytes the store has, under its tenant and this digest. */
export const FilePart = Schema.Struct({
  type: FileType,
  digest: FileDigest,
  media_type: MediaType,
  /** In bytes. */
  size: Schema.Int,
  name: Schema.optionalKey(FileName)
})
export interface FilePart extends Schema.Schema.Type<typeof FilePart> {}

/** A text between files. */
const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

export const Part = Schema.Union([TextPart, FilePart])
export type Part = typeof Part.Type

/** Parts of one message, one result or one turn. */
export const parts_max = 32

/** What the sender of a message, a tool or a model gives: the bytes, as they are or in base64, or what an upload gave. */
export type GivenPart =
  | { readonly type: "text"; readonly text: string }
  | GivenFile
  | {
      readonly type: FileType
      readonly media_type: string
      readonly digest: string
      readonly size?: number
      readonly name?: string
    }

/** A file with its bytes. */
export interface GivenFile {
  readonly type: FileType
  /** In lower case and without parameters, such as `image/png`. */
  readonly media_type: string
  /** The bytes, or base64 of them. */
  readonly data: Uint8Array | string
  readonly name?: string
}

/** The type of a part with a file of this media type. */
export const fileTypeOf = (media_type: string): FileType =>
  media_type.startsWith("image/") ? "image" : media_type.startsWith("audio/") ? "audio" : "file"

export const isFile = (part: Part): part is FilePart => part.type !== "text"

/** A file in a text, where it is only spoken of. */
export const fileText = ({ media_type, name, size, type }: FilePart): string =>
  `[${type}${name === undefined ? "" : ` ${JSON.stringify(name)}`}, ${media_type}, ${size} bytes]`

/** Providers bill an image by its pixels and mostly scale it down first; this is about the most for one. */
const image_tokens = 1_600
const bytes_per_token = { audio: 500, file: 40 }
const file_tokens_max = 100_000

/** About how many tokens a file takes in a prompt. */
export const fileTokens = ({ size, type }: FilePart): number =>
  type === "image"
    ? image_tokens
    : Math.min(Math.ceil(size / bytes_per_token[type]), file_tokens_max)

/** The file is larger than a file may be. */
export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  bytes_max: Schema.Int
}) {
  override get message(): string {
    return `a file has at most ${this.bytes_max} bytes`
  }
}

/** The tenant's files are as many bytes as they may be. */
export class FilesFull extends Schema.TaggedError<FilesFull>()("FilesFull", {
  bytes_max: Schema.Int
}) {
  override get message(): string {
    return `the files of this tenant may have ${this.bytes_max} bytes together, which they would exceed`
  }
}

/** The tenant has no file of this digest, or it is not open to the caller. */
export class FileNotFound extends Schema.TaggedError<FileNotFound>()("FileNotFound", {
  digest: Schema.String
}) {
  override get message(): string {
    return `there is no file ${this.digest}`
  }
}
