/**
 * Removes or shows characters that cannot be seen: controls, direction marks, zero-width characters and tags. They can make one
 * text look like another, or hide words that only a model reads (Unicode TR 36 and TR 39; CVE-2021-42574). A joiner is kept
 * between characters that it joins (emoji, Arabic and Indic scripts), and so is a variation selector that follows a character
 * with variants.
 */

/** All control characters except tab, line feed and carriage return. */
const controls = "\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f"
/** Soft hyphen, grapheme joiner, direction marks and overrides, fillers, selectors, no-break and zero-width characters. */
const unseen =
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff9-\\ufffb"
/**
 * Tags (U+E0000 to U+E007F), variation selectors (up to U+E01EF), the unassigned code points around them, and musical controls.
 */
const planes = "\\u{e0000}-\\u{e0fff}\\u{1d173}-\\u{1d17a}"
const joining =
  "\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}\\p{Script=Sinhala}\\p{Script=Mongolian}"

const source = `[${controls}${unseen}${planes}]|[\\u200c\\u200d](?![${joining}])|(?<![${joining}])[\\u200c\\u200d]|(?<![\\p{Emoji}\\p{Extended_Pictographic}])[\\ufe0e\\ufe0f]`
const invisible = new RegExp(source, "gu")
/**
 * Matches a text that may contain such a character. It also matches surrogates of these planes, which keeps the check of every
 * result cheap.
 */
export const may_be_invisible = new RegExp(
  `[${controls}${unseen}\\u200c\\u200d\\ufe0e\\ufe0f\\udb40-\\udb43\\ud834]`
)

/** The text without invisible characters, for a model. */
export const withoutInvisible = (text: string): string =>
  may_be_invisible.test(text) ? text.replace(invisible, "") : text

const shown = (character: string): string =>
  `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`

/** The text with each invisible character written out as `‹U+202E›`, for people. */
export const withVisible = (text: string): string =>
  may_be_invisible.test(text) ? text.replace(invisible, shown) : text

/** The JSON with each invisible character as an escape, which means the same. Its line ends stay. */
export const escapeInvisible = (json: string): string =>
  may_be_invisible.test(json)
    ? json.replace(invisible, (character) =>
        Array.from({ length: character.length }, (_, at) => escaped(character.charAt(at))).join("")
      )
    : json

// oxlint-disable-next-line no-control-regex -- control characters are what is replaced
const line_controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Escapes control characters. A terminal would interpret them, and a line end would forge a line of the log. */
export const logText = (text: string): string => text.replace(line_controls, escaped)
