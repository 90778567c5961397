/**
 * Patterns of secrets with a recognisable form, one row each, with the issuer's documentation. Written by hand because no
 * library scans for secrets synchronously and without reading files. Each pattern runs in linear time: its repetitions are
 * bounded, or begin only at the beginning of a word.
 */
import { isSecretName } from "./SecretNames.ts"
import type { TextPlace } from "./PersonalNumbers.ts"

export const secret_shapes: ReadonlyArray<RegExp> = [
  // a block of PEM or PGP, but the text that is signed: RFC 7468, RFC 9580; and keys of SSH2 and PuTTY: RFC 4716
  /-----BEGIN (?!PGP SIGNED)[^\r\n-]{1,60}-----[^]{0,16000}?(?:-----END [^\r\n-]{1,60}-----|$)/g,
  /---- BEGIN [^\r\n-]{1,60} ----[^]{0,16000}?(?:---- END [^\r\n-]{1,60} ----|$)/g,
  /(?<=\bPrivate-Lines: {0,4}\d{1,3})\s[^]{0,16000}?(?=Private-MAC|$)/g,
  // AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
  /(?<![A-Za-z0-9])(?:ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  // GitHub: https://github.blog/engineering/behind-githubs-new-authentication-token-formats/
  /\b(?:gh[opusr]_|github_pat_)\w{16,255}/g,
  // GitLab: https://docs.gitlab.com/security/tokens/#token-prefixes
  /\bgl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat)-[\w-]{16,128}/g,
  // Slack: https://docs.slack.dev/authentication/tokens
  /\bx(?:ox[abeoprs]|app)-[\w-]{8,255}/g,
  // OpenAI, Anthropic, Stripe and others with the same form: https://docs.stripe.com/keys, https://platform.openai.com/docs/api-reference/authentication
  /\b(?:sk|pk|rk)[-_][\w-]{8,255}/g,
  // Google: https://cloud.google.com/docs/authentication/api-keys, https://developers.google.com/identity/protocols/oauth2
  /\bAIza[\w-]{30,64}|\bya29\.[\w-]{16,512}|\bGOCSPX-[\w-]{16,64}/g,
  // npm, PyPI, Hugging Face, DigitalOcean, SendGrid: https://docs.npmjs.com/about-access-tokens, https://huggingface.co/docs/hub/security-tokens
  /\bnpm_\w{30,64}|\bpypi-[\w-]{16,255}|\bhf_\w{16,128}|\bdo[opr]_v1_[0-9a-f]{32,128}|\bSG\.[\w-]{16,64}\.[\w-]{16,128}/g,
  // our own tokens: src/permission/AccessToken.ts
  /\btroupe_[0-9a-f]{16,128}/g,
  // a JWT: RFC 7519
  /\beyJ[\w-]{4,4000}\.[\w-]{1,4000}(?:\.[\w-]{0,4000})?/g,
  // a header: RFC 6750, RFC 7617
  /(?<=\b(?:bearer|basic)\s{1,4})(?=[\w-]{0,4000}[\d.~+/=])[\w.~+/=-]{6,4000}/gi
]

/** A slash, also in JSON in JSON and in the value of a URL. */
const slash = "(?:\\\\{0,8}/|%2F)"

/**
 * Where an address says who may post or act there: Slack, Discord, Teams and Power Automate, Google Chat, Telegram, Zapier, Make,
 * IFTTT, Mattermost and others with a path of `hooks`.
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, https://docs.discord.com/developers/resources/webhook,
 * https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors
 */
const places: ReadonlyArray<string> = [
  `hooks\\.slack(?:-gov)?\\.com${slash}`,
  `(?:\\w{1,20}\\.)?discord(?:app)?\\.com${slash}api${slash}(?:v\\d{1,2}${slash})?webhooks${slash}`,
  `(?:[\\w-]{1,63}\\.){1,5}(?:webhook\\.office\\.com|logic\\.azure\\.com|powerplatform\\.com)(?::443)?${slash}`,
  `outlook\\.office(?:365)?\\.com${slash}webhook${slash}`,
  `chat\\.googleapis\\.com${slash}v1${slash}spaces${slash}`,
  `api\\.telegram\\.org${slash}(?:file${slash})?bot`,
  `(?:hooks\\.zapier\\.com|hook\\.[\\w.]{1,20}\\.make\\.com|maker\\.ifttt\\.com|webhook\\.site)${slash}`,
  `[\\w.:-]{1,253}${slash}hooks${slash}`
]

/** The address of a webhook, of which the rest behind its place is the secret; in group 1. */
export const webhook = new RegExp(
  `${slash}${slash}(?:${places.join("|")})([^\\s"'<>\`]{1,2000})`,
  "gi"
)

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
