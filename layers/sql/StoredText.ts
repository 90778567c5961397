/**
 * Texts from outside, stored as JSON text: PostgreSQL's text refuses a NUL, and UTF-8 has no lone surrogates, so that a
 * raw text could poison the append that carries it. Private to this room.
 */

/** What `JSON.stringify` stored. */
export const textOf = (stored: string): string => {
  const value: unknown = JSON.parse(stored)
  return typeof value === "string" ? value : stored
}
