/**
 * Patterns of secrets with a recognisable form, one row each, with the issuer's documentation. Written by hand because no
 * library scans for secrets synchronously and without reading files. Each pattern runs in linear time: its repetitions are
 * bounded, or begin only at the beginning of a word.
 */

export const secret_shapes: ReadonlyArray<RegExp> = [
  // a private key: RFC 7468
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,40}-----)?/g,
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
