/**
 * Removes hosts that an operator has not published from a platform's text, before a model reads it.
 */
import { isAddress, isGlobalAddress, literalAddress } from "./Address.ts"

/** Names that lead to nothing outside a private network, each with its port. */
const private_name =
  /(?<![\w.-])(?:[a-z0-9_-]+\.)+(?:internal|intranet|local|localdomain|localhost|lan|corp|svc|consul|home\.arpa)\.?(?::\d{1,5})?(?![\w-]|\.\w)/gi
/** A name without a dot, if the words of a failed lookup or connection around it show that it is a host. */
const dialled_name =
  /(?:(?<=\b(?:ENOTFOUND |EAI_AGAIN |(?:host|hostname|host name|server at)[ =:]{0,2}\\?["']))[a-z\d_-]+(?::\d{1,5})?|(?<=\b(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ETIMEDOUT|connect to|connecting to|host|dial tcp) )[a-z\d_-]+:\d{1,5})(?![\w-]|\.\w)|(?<=\blookup )[a-z\d_-]+(?= on \S{1,99}: |: no such host)/gi
const url_authority = /(?<=\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#"'`<>\\]+/gi
// The letter before an address may be part of an escaped line end, such as `\n`.
const four =
  /(?:(?<![a-z\d.])|(?<=\\[nrt]))((?:\d{1,3}\.){3}\d{1,3})(?::\d{1,5})?(?![a-z\d]|\.\w)/gi
const six =
  /(?:(?<![\w:.])|(?<=\\[nrt]))((?:[\da-f]{0,4}:){2,8}(?:(?:\d{1,3}\.){3}\d{1,3}|[\da-f]{0,4}))(?![\w:]|\.\w)/gi

const withoutPrivateAddress = (found: string, address: string): string =>
  isAddress(address) && !isGlobalAddress(address) ? "[host]" : found

/** Words with colons between them, such as `Face::Bad`, may look like an address. */
const withoutPrivateSix = (found: string, address: string): string =>
  /\d|^f[cd]/i.test(address) ? withoutPrivateAddress(found, address) : found

/** The authority of a URL without its user; `[host]` if the host is private. */
const withoutPrivateAuthority = (authority: string): string => {
  const host = authority.slice(authority.lastIndexOf("@") + 1)
  const url = URL.parse(`http://${host}`)
  const address = url === null ? undefined : literalAddress(url)
  const name = url?.hostname.replace(/\.$/, "") ?? ""
  const isPrivate =
    address === undefined
      ? !name.includes(".") || name.replace(private_name, "") === ""
      : !isGlobalAddress(address)
  return isPrivate ? "[host]" : host
}

/**
 * Replaces hosts of a private network with `[host]`: addresses that are not public, names under `internal`, `local` and the like,
 * and names without a dot in a URL or in the words of a failed connection. A public name stays, because its page may help; the
 * user in its URL is removed.
 */
const withoutPrivateHosts = (text: string): string =>
  text
    .replaceAll(url_authority, withoutPrivateAuthority)
    .replaceAll(private_name, "[host]")
    .replaceAll(dialled_name, "[host]")
    .replaceAll(six, withoutPrivateSix)
    .replaceAll(four, withoutPrivateAddress)

/**
 * Replaces the host of an operator's endpoint, in upper or lower case, and hosts of a private network with `[host]`. If the
 * endpoint's name has no dot, it is replaced only with its scheme or its port, because alone it may be an ordinary word.
 */
export const withoutHosts = (text: string, endpoint?: string): string => {
  if (endpoint === undefined) return withoutPrivateHosts(text)
  const { host, hostname, origin } = new URL(endpoint)
  const others = [origin, host, hostname]
    .filter((name) => /[.:]/.test(name))
    .reduce(
      (clean, name) =>
        clean.replaceAll(new RegExp(name.replaceAll(/[.[\]]/g, "\\$&"), "gi"), "[host]"),
      text
    )
  return withoutPrivateHosts(others)
}
