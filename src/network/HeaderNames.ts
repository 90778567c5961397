/**
 * The headers of requests: which names and values they may have, and which of them a model or a configuration may not give.
 */

/** The names that a header may have. */
export const header_name = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
/** Visible ASCII, spaces and tabs: the characters that a header's value may contain without being able to end it. */
export const header_value = /^[\t\x20-\x7e]{0,4000}$/

const connection =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|proxy-.*|sec-.*)$/
const withheld = new RegExp(
  [
    "^(?:cookie2?|forwarded|via|origin|from|max-forwards|alt-used|client-ip|true-client-ip|metadata|metadata-flavor)$",
    "auth|token|secret|password|passwd|credential|session|cookie|csrf|xsrf|signature|jwt|dpop",
    "(?:^|[-_])(?:api[-_]?key|access[-_]?key|key|user(?!-agent$)|username|tenant|role|roles|identity|account)(?:$|[-_])",
    "^x[-_](?:http[-_])?method|method[-_]override|^x[-_](?:original|rewrite|forwarded|real|host|remote|proxy)",
    "^x[-_](?:client|cluster|envoy|amz|aws|goog|google|ms|azure|middleware|sendfile|accel)",
    "(?:client|connecting|remote|real|source|original)[-_](?:ip|addr|host|port)"
  ].join("|")
)
const own = new Set([
  "authorization",
  "baggage",
  "content-type",
  "cookie",
  "idempotency-key",
  "traceparent",
  "tracestate"
])

/** Whether a header belongs to the connection, so that no request may set it. */
export const isConnectionHeader = (name: string): boolean => connection.test(name.toLowerCase())

/**
 * Whether a model may not give a header: credentials and sessions; those that name the user on whose behalf a request comes;
 * those that replace its method or path behind the first server (`X-HTTP-Method-Override`); those that proxies add; and those
 * that a cloud's metadata service demands.
 */
export const isWithheldHeader = (name: string): boolean => withheld.test(name.toLowerCase())

/** Whether a direct call sets a header itself, or never sends it, so that no catalogue entry may name it. */
export const isOwnHeader = (name: string): boolean =>
  own.has(name.toLowerCase()) || isConnectionHeader(name)
