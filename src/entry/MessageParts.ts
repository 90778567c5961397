/**
 * Decodes the parts of a message. Bytes are accepted as they are or as base64, and copied, so that the caller cannot change them
 * afterwards.
 */
import { Effect, Result, Schema } from "effect"
import type { PartInput } from "../conversation/Part.ts"
import { FileDigest, FileName, fileTypeOf, MediaType, parts_max } from "../conversation/Part.ts"
import { InvalidInput, inputReader } from "../schema/InvalidInput.ts"

/** A decoded part: with its bytes, or with the digest of a file that was uploaded before. */
export type ReadPart =
  | Exclude<PartInput, { readonly data: unknown }>
  | (Omit<Extract<PartInput, { readonly data: unknown }>, "data"> & { readonly data: Uint8Array })

const FileType = Schema.Literals(["image", "audio", "file"])

const readText = inputReader(
  Schema.Struct({
    type: Schema.Literal("text"),
    text: Schema.String.check(Schema.isMinLength(1))
  })
)
const described = {
  type: FileType,
  media_type: MediaType,
  name: Schema.optionalKey(FileName)
}
const readDescribed = inputReader(Schema.Struct(described))
const readReference = inputReader(
  Schema.Struct({
    ...described,
    digest: FileDigest,
    size: Schema.optionalKey(Schema.Int)
  })
)

const decodeBase64 = Schema.decodeUnknownResult(Schema.Uint8ArrayFromBase64)

const part_expected =
  'Expected { type: "text", text }, or { type: "image" | "audio" | "file", media_type, data | digest, name? }'

const data_expected = "Expected the bytes (Uint8Array), or base64 of them without a `data:` prefix"

const refuse = (field: string, message: string) => Effect.fail(new InvalidInput({ field, message }))

const readBytes = (data: unknown, field: string): Effect.Effect<Uint8Array, InvalidInput> => {
  const bytes = Result.try(() =>
    data instanceof Uint8Array
      ? Result.succeed(new Uint8Array(data))
      : typeof data === "string"
        ? decodeBase64(data)
        : Result.fail(undefined)
  )
  if (Result.isFailure(bytes) || Result.isFailure(bytes.success))
    return refuse(field, data_expected)
  return bytes.success.success.length === 0
    ? refuse(field, "a file has at least one byte")
    : Effect.succeed(bytes.success.success)
}

interface Described {
  readonly type: string
  readonly media_type: string
}

/** Fails if the media type does not fit the part's type, such as audio for an image. A `file` may have any media type. */
const failUnlessFits = ({ media_type, type }: Described, field: string) =>
  type === "file" || fileTypeOf(media_type) === type
    ? Effect.void
    : refuse(`${field}.media_type`, `Expected a media type that begins with ${type}/`)

const readPart = Effect.fnUntraced(function* (
  value: unknown,
  field: string
): Effect.fn.Return<ReadPart, InvalidInput> {
  const copied = Result.try(() =>
    typeof value === "object" && value !== null ? { ...value } : undefined
  )
  const plain: { readonly [name: string]: unknown } | undefined = Result.getOrUndefined(copied)
  if (plain === undefined) return yield* refuse(field, part_expected)
  if (plain["type"] === "text") return yield* readText(plain, field)
  if ("data" in plain) {
    const { data, ...rest } = plain
    const read = yield* readDescribed(rest, field)
    yield* failUnlessFits(read, field)
    return { ...read, data: yield* readBytes(data, `${field}.data`) }
  }
  if (!("digest" in plain)) return yield* refuse(field, part_expected)
  const read = yield* readReference(plain, field)
  yield* failUnlessFits(read, field)
  return read
})

/** Decodes 1 to 32 parts. */
export const readParts = (
  value: unknown,
  field: string
): Effect.Effect<ReadonlyArray<ReadPart>, InvalidInput> => {
  const items = Result.try(() =>
    Array.isArray(value) && value.length > 0 && value.length <= parts_max
      ? Array.from<unknown>(value)
      : undefined
  )
  return Result.isSuccess(items) && items.success !== undefined
    ? Effect.forEach(items.success, (part, index) => readPart(part, `${field}.${index}`))
    : refuse(field, `Expected a list of 1 to ${parts_max} parts`)
}

/** Separates a message's parts from its other members; undefined if the value has no parts. */
export const splitParts = (
  value: unknown
): { readonly rest: object; readonly parts: unknown } | undefined => {
  const read = Result.try(() => {
    if (typeof value !== "object" || value === null || !("parts" in value)) return undefined
    const { parts, ...rest } = value
    return parts === undefined ? undefined : { rest, parts }
  })
  return Result.getOrUndefined(read)
}
