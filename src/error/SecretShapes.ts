/**
 * Patterns of secrets with a recognisable form, one row each, with the issuer's documentation. Written by hand because no
 * library scans for secrets synchronously and without reading files. Each pattern runs in linear time: its repetitions are
 * bounded, or begin only at the beginning of a word.
 */

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
