/**
 * Makes a text from outside, such as a name that a model or a server chose, safe to write into one line of a log.
 */

// oxlint-disable-next-line no-control-regex -- control characters are what is replaced
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Escapes control characters. A terminal would interpret them, and a line end would forge a line of the log. */
export const logText = (text: string): string => text.replace(controls, escaped)
