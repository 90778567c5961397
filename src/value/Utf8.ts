const encoder = new TextEncoder()

/**
 * Whether the text has more than `bytes_max` bytes in UTF-8. A UTF-16 unit takes one to three bytes, so texts that are clearly
 * short or clearly long are not encoded to be measured.
 */
export const isBeyondBytes = (text: string, bytes_max: number): boolean =>
  text.length > bytes_max ||
  (text.length * 3 > bytes_max && encoder.encode(text).length > bytes_max)
