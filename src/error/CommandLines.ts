/**
 * Finds secrets in command lines: the value of a flag whose name is that of a secret, and those of the short flags of programs that
 * many people run. The time is linear in the length of the text.
 */
import { isSecretName } from "./SecretNames.ts"
import type { TextPlace } from "./TextPlace.ts"

/** A flag, and what stands between it and its value: `=`, white space, or the end of a text in a list of texts. */
const flag =
  /(?<![\p{L}\p{N}_-])(--?[\p{L}][\p{L}\p{M}\p{N}_.-]{0,63})(=|\s{1,4}|\\{0,8}["']\s{0,4},\s{0,4}(?=\\{0,8}["']))/gu

/** What a flag of such a name has as its value is no secret, but where it is. */
const place = /(?:stdin|file|path|prompt|env|name|id|url|dir)$/i

/** Whether the value of a flag with this name, with its dashes, is a secret. */
export const isSecretFlag = (name: string): boolean =>
  /^--?\p{L}/u.test(name) && !place.test(name) && isSecretName(name.replace(/^-+/, ""))

/** The value in its quotes, or up to white space. A flag is no value of the flag before it. */
const value = /\\{0,8}"((?:\\.|[^"\\]){1,1000})|\\{0,8}'([^']{1,1000})|(?!-)([^\s"']{1,1000})/y

const valueAt = (text: string, at: number): TextPlace | undefined => {
  value.lastIndex = at
  const read = value.exec(text)
  const found = read?.[1] ?? read?.[2] ?? read?.[3]
  return read === null || found === undefined
    ? undefined
    : { from: value.lastIndex - found.length, to: value.lastIndex }
}

const valuesOfFlags = (text: string): ReadonlyArray<TextPlace> =>
  [...text.matchAll(flag)].flatMap(({ 0: read, 1: name = "", index }) =>
    isSecretFlag(name) ? (valueAt(text, index + read.length) ?? []) : []
  )

/** Programs, and a pattern of what stands before the secret in their arguments. */
const programs: ReadonlyArray<readonly [program: RegExp, before: RegExp]> = [
  [/\b(?:mysql\w*|mariadb[\w-]*|7z[ar]?)\b/, /(?<=[\s"'])-p(?=\S)/g],
  [/\bsshpass\b/, /(?<=[\s"'])-p\s{0,4}(?=\S)/g],
  [/\bmongo\w*/, /(?<=[\s"'])-p(?:\s{1,4}|=)(?=\S)/g],
  [
    /\b(?:docker|podman|nerdctl|helm|az|oc|cf)\b.{0,200}\blogin\b/,
    /(?<=[\s"'])-p(?:\s{1,4}|=)(?=\S)/g
  ],
  [/\bredis-cli\b/, /(?<=[\s"'])-a\s{0,4}(?=\S)/g],
  [/\b(?:zip|unzip|sqlcmd|bcp)\b/, /(?<=[\s"'])-P\s{0,4}(?=\S)/g],
  [/\b(?:ldap\w+)\b/, /(?<=[\s"'])-w\s{0,4}(?=\S)/g],
  [/\b(?:smbclient|rpcclient|winexe)\b/, /(?<=[\s"'])(?:-U|--user=?)\s{0,4}[^\s%"']{1,100}%/g],
  [
    /\b(?:curl|wget|http|https|xh)\b/,
    /(?<=[\s"'])(?:-u|-U|-a|--user|--proxy-user|--auth)(?:=|\s{0,4})["']?[^\s:"']{1,100}:/g
  ],
  [
    /\bopenssl\b/,
    /(?<=[\s"'])(?:-pass|-passin|-passout|-k)\s{1,4}(?:pass:)?(?!(?:file|env|fd|stdin):)/g
  ],
  [/\bhtpasswd\b/, /(?<=\s)-\w{0,8}b\w{0,8}\s{1,4}\S{1,200}\s{1,4}\S{1,100}\s{1,4}/g]
]

/** Each command of a line is read on its own. */
const command = /[^\n;|&]+/g

const valuesOfPrograms = (text: string): ReadonlyArray<TextPlace> =>
  [...text.matchAll(command)].flatMap(({ 0: line, index }) =>
    programs.flatMap(([program, before]) => {
      const at = line.search(program)
      return at < 0
        ? []
        : [...line.slice(at).matchAll(before)].flatMap(
            ({ 0: read, index: place }) => valueAt(text, index + at + place + read.length) ?? []
          )
    })
  )

export const commandSecrets = (text: string): ReadonlyArray<TextPlace> =>
  // Every flag has a hyphen before it.
  text.includes("-") ? [...valuesOfFlags(text), ...valuesOfPrograms(text)] : []
