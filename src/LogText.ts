/**
 * Text from outside, such as a name that a model or a server gave, as a line of a log may hold it.
 */

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Without control characters: a terminal that shows the log would obey them, and a line end would begin a line. */
export const logText = (text: string): string => text.replace(controls, escaped)
