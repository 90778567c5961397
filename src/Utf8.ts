const encoder = new TextEncoder()

/**
 * Does the text have more bytes in UTF-8? A UTF-16 unit has one to three, so that a short text is not encoded to be measured, nor one
 * that is far too long.
 */
export const isBeyondBytes = (text: string, bytes_max: number): boolean =>
  text.length > bytes_max ||
  (text.length * 3 > bytes_max && encoder.encode(text).length > bytes_max)
