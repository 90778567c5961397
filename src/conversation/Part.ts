/**
 * The parts of a message, a result or an answer besides its text: images, audio and other files, and texts between them. The
 * bytes of a file are stored apart from the journal, which refers to them by their digest.
 */
import { Schema } from "effect"

/** The media type of a file. */
export const MediaType = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/, {
    description: "a media type in lower case and without parameters, such as image/png"
  })
)

/** The SHA-256 of a file's bytes. */
export const FileDigest = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{64}$/, {
    description: "a SHA-256 digest: 64 hex digits in lower case"
  })
)

/** A file's name for people: 1 to 200 characters, without slashes, backslashes and control characters. */
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

/** A file whose bytes are in the file store, under the tenant and this digest. */
export class FilePart extends Schema.Opaque<FilePart>()(
  Schema.Struct({
    /** Whether a model is shown it as an image, as audio or as a file. */
    type: FileType,
    /** SHA-256 of the bytes, hex: names the file in `file`. */
    digest: FileDigest,
    /** Such as `image/png`. */
    media_type: MediaType,
    /** In bytes. */
    size: Schema.Int,
    /** A plain file name. Absent = it has none. */
    name: Schema.optionalKey(FileName)
  })
) {}

/** A file with its bytes. */
export class StoredFile extends Schema.Opaque<StoredFile>()(
  Schema.Struct({
    ...FilePart.fields,
    /** The bytes. */
    data: Schema.Uint8Array
  })
) {}

/** A file of a call's result. Only one `for_customer` is a file of the answer too; customers see nothing of others. */
export class ResultFile extends Schema.Opaque<ResultFile>()(
  Schema.Struct({
    ...FilePart.fields,
    for_customer: Schema.optionalKey(Schema.Literal(true))
  })
) {}

/** A text between files. */
export class TextPart extends Schema.Opaque<TextPart>()(
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
) {}

export const Part = Schema.Union([TextPart, FilePart])
export type Part = typeof Part.Type

/** The greatest number of parts of one message, one result or one turn. */
export const parts_max = 32

/**
 * A part as the sender of a message, a tool or a model gives it. A file comes with its bytes, plain or in base64, or with the
 * digest of an uploaded file.
 */
export type PartInput =
  | { readonly type: "text"; readonly text: string }
  | FileInput
  | {
      readonly type: FileType
      readonly media_type: string
      readonly digest: string
      readonly size?: number
      readonly name?: string
    }

/** A file with its bytes. */
export interface FileInput {
  readonly type: FileType
  /** In lower case and without parameters, such as `image/png`. */
  readonly media_type: string
  /** The bytes, or base64 of them. */
  readonly data: Uint8Array | string
  readonly name?: string
}

/** A file that a tool attaches to its result. */
export interface AttachedFile extends FileInput {
  /**
   * `customer`: the file is one of the answer too, and a customer that may read the conversation can fetch it. Absent = it is for the
   * model and for staff; customers see neither the file nor its name and size.
   */
  readonly for?: "customer"
}

/** The part type for a file of this media type. */
export const fileTypeOf = (media_type: string): FileType =>
  media_type.startsWith("image/") ? "image" : media_type.startsWith("audio/") ? "audio" : "file"

/** The same bytes under the same name. */
export const isSameFile = (a: FilePart, b: FilePart): boolean =>
  a.digest === b.digest && a.name === b.name

export const isFile = (part: Part): part is FilePart => part.type !== "text"

/** The text that stands for a file where only text can stand. */
export const fileText = ({ media_type, name, size, type }: FilePart): string =>
  `[${type}${name === undefined ? "" : ` ${JSON.stringify(name)}`}, ${media_type}, ${size} bytes]`

/**
 * An estimate for one image. Providers count an image by its pixels and mostly scale it down first; this is about the most that
 * they count.
 */
const image_tokens = 1_600
const bytes_per_token = { audio: 500, file: 40 }
const file_tokens_max = 100_000

/** An estimate of the tokens that a file takes in a prompt. */
export const fileTokens = ({ size, type }: FilePart): number =>
  type === "image"
    ? image_tokens
    : Math.min(Math.ceil(size / bytes_per_token[type]), file_tokens_max)

/** The file has more than `bytes_max` bytes. */
export class FileTooLarge extends Schema.TaggedError<FileTooLarge>()("FileTooLarge", {
  /** The most bytes of one file. */
  bytes_max: Schema.Int
}) {
  override get message(): string {
    return `a file has at most ${this.bytes_max} bytes`
  }
}

/** With this file, the tenant's files, or those that its customers brought, would have more than `bytes_max` bytes together. */
export class FilesFull extends Schema.TaggedError<FilesFull>()("FilesFull", {
  /** The most bytes of all of them. */
  bytes_max: Schema.Int,
  /** Whose files the bound is for. Absent = all of the tenant's. */
  share: Schema.optionalKey(Schema.Literals(["customer", "customers"]))
}) {
  override get message(): string {
    const whose =
      this.share === undefined
        ? "the files of this tenant"
        : this.share === "customer"
          ? "the files of one customer"
          : "the files of all customers of this tenant"
    return `${whose} may have ${this.bytes_max} bytes together, which they would exceed`
  }
}

/** The bytes are not those of the digest that came with them: they were changed on the way, or it is another file's. */
export class DigestMismatch extends Schema.TaggedError<DigestMismatch>()("DigestMismatch", {
  /** That of the bytes. */
  digest: Schema.String
}) {
  override get message(): string {
    return `the bytes have another digest, ${this.digest}`
  }
}

/** The tenant has no file with this digest, or the caller may not read it. */
export class FileNotFound extends Schema.TaggedError<FileNotFound>()("FileNotFound", {
  /** The digest that was asked for. */
  digest: Schema.String
}) {
  override get message(): string {
    return `there is no file ${this.digest}`
  }
}
