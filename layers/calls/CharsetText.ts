/**
 * The text of an answer's body, in the character set that its `content-type` names.
 */

const charset = /charset=["']?([\w-]{1,40})/i
const known = new Set(["utf-8", "utf8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16le"])

/** Decodes a body; UTF-8 where no character set is named, or one that is not known here. A character that was cut in two is left out. */
export const answerText = (body: Uint8Array, content_type: string): string => {
  const named = charset.exec(content_type)?.[1]?.toLowerCase() ?? "utf-8"
  const decoder = new TextDecoder(known.has(named) ? named : "utf-8")
  return decoder.decode(body, { stream: true })
}
