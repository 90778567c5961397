/**
 * A form with one file (RFC 7578), as browsers, `fetch` and curl send it. Its parts are counted as they are read: a parser for any
 * form builds each of them, and a form of 20 MB with 300,000 fields holds up the process for seconds.
 */
import { Buffer } from "node:buffer"

/** `file`, and perhaps `digest`. */
const parts_max = 2
/** Of the headers of a part, in bytes. */
const headers_max = 8_192

export interface FileForm {
  readonly data: Uint8Array
  /** As it was sent; undefined = it was not. */
  readonly media_type: string | undefined
  /** Undefined = the file has none. */
  readonly name: string | undefined
  readonly digest: string | undefined
}

interface Part {
  readonly field: string
  /** Undefined = a text. */
  readonly file_name: string | undefined
  readonly media_type: string | undefined
  readonly data: Buffer
}

const boundaryOf = (type: string): string | undefined => {
  const found = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(type)
  return found === null ? undefined : (found[1] ?? found[2])
}

/** Browsers encode what would end a quoted text, and older programs put a backslash before it. */
const unquoted = (text: string): string =>
  text
    .replace(/\\(["\\])/g, "$1")
    .replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const quotedIn = (disposition: string, name: string): string | undefined => {
  const found = new RegExp(`;[ \\t]*${name}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(disposition)?.[1]
  return found === undefined ? undefined : unquoted(found)
}

const fileNameIn = (disposition: string): string | undefined => {
  const encoded = /;[ \t]*filename\*=utf-8''([^;\s]*)/i.exec(disposition)?.[1]
  return encoded === undefined ? quotedIn(disposition, "filename") : decoded(encoded)
}

const headerIn = (lines: ReadonlyArray<string>, name: string): string | undefined => {
  const line = lines.find((each) => each.toLowerCase().startsWith(`${name}:`))
  return line?.slice(name.length + 1).trim()
}

const partOf = (head: Buffer, data: Buffer): Part | undefined => {
  const lines = head.toString("utf8").split("\r\n")
  const disposition = headerIn(lines, "content-disposition")
  if (disposition === undefined || !/^form-data[ \t]*;/i.test(disposition)) return undefined
  const field = quotedIn(disposition, "name")
  if (field === undefined) return undefined
  return {
    field,
    file_name: fileNameIn(disposition),
    media_type: headerIn(lines, "content-type"),
    data
  }
}

/** The parts; undefined where it is no form, or has too many of them. */
const partsOf = (form: Buffer, boundary: string): ReadonlyArray<Part> | undefined => {
  const delimiter = Buffer.from(`--${boundary}`)
  const next = Buffer.from(`\r\n--${boundary}`)
  if (form.indexOf(delimiter) !== 0) return undefined
  const parts: Array<Part> = []
  let at = delimiter.length
  for (;;) {
    const end = form.toString("latin1", at, at + 2)
    if (end === "--") return parts
    if (end !== "\r\n" || parts.length === parts_max) return undefined
    const head_at = at + 2
    const head_length = form.subarray(head_at, head_at + headers_max).indexOf("\r\n\r\n")
    if (head_length < 0) return undefined
    const data_at = head_at + head_length + 4
    // A part may be empty: then its delimiter begins with the end of its headers.
    const data_end = form.indexOf(next, data_at - 2)
    if (data_end < 0) return undefined
    const head = form.subarray(head_at, head_at + head_length)
    const part = partOf(head, form.subarray(data_at, Math.max(data_at, data_end)))
    if (part === undefined) return undefined
    parts.push(part)
    at = data_end + next.length
  }
}

/** Undefined = it is no such form. */
export const readFileForm = (bytes: Uint8Array, type: string): FileForm | undefined => {
  const boundary = boundaryOf(type)
  if (boundary === undefined) return undefined
  const form = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = partsOf(form, boundary)
  if (parts === undefined) return undefined
  const [file, ...more] = parts.filter(({ field }) => field === "file")
  const others = parts.filter(({ field }) => field !== "file")
  if (file?.file_name === undefined || more.length > 0) return undefined
  if (others.some(({ field, file_name }) => field !== "digest" || file_name !== undefined)) {
    return undefined
  }
  return {
    data: new Uint8Array(file.data),
    media_type: file.media_type,
    name: file.file_name === "" ? undefined : file.file_name,
    digest: others[0]?.data.toString("utf8")
  }
}
