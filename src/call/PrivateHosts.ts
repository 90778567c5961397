/**
 * Takes hosts that an operator has not published out of a platform's text, before a model reads it.
 */
import { isAddress, isGlobalAddress } from "./Address.ts"
import { literalAddress } from "./Dialling.ts"

/** Names that lead nowhere outside of a private network. */
const private_name =
  /(?<![\w.-])(?:[a-z0-9_-]+\.)+(?:internal|local|localdomain|localhost|lan|svc|home\.arpa)\.?(?::\d{1,5})?(?![\w-]|\.\w)/gi
const url_authority = /(?<=\b[a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/?#"'`<>\\]+/gi
const four = /(?<![\w.])((?:\d{1,3}\.){3}\d{1,3})(?::\d{1,5})?(?!\w|\.\w)/g
const six =
  /(?<![\w:.])((?:[\da-f]{0,4}:){2,8}(?:(?:\d{1,3}\.){3}\d{1,3}|[\da-f]{0,4}))(?![\w:]|\.\w)/gi

const withoutPrivateAddress = (found: string, address: string): string =>
  isAddress(address) && !isGlobalAddress(address) ? "[host]" : found

/** Without the user too. */
const withoutPrivateAuthority = (authority: string): string => {
  const host = authority.slice(authority.lastIndexOf("@") + 1)
  const url = URL.parse(`http://${host}`)
  const address = url === null ? undefined : literalAddress(url)
  const isPrivate =
    address === undefined
      ? url === null || !url.hostname.replace(/\.$/, "").includes(".")
      : !isGlobalAddress(address)
  return isPrivate ? "[host]" : host
}

/**
 * The text without hosts of a private network: addresses that are not public, names under `internal`, `local` and the like, and
 * in a URL names without a dot. A public name stays, for its page may be what helps; the user in its URL does not.
 */
const withoutPrivateHosts = (text: string): string =>
  text
    .replaceAll(url_authority, withoutPrivateAuthority)
    .replaceAll(private_name, "[host]")
    .replaceAll(four, withoutPrivateAddress)
    .replaceAll(six, withoutPrivateAddress)

/**
 * A failure's text without the host that an operator's endpoint names, in any case of its letters, and without hosts of a
 * private network. A name without a dot and a port may be a word of the text, and stays outside of a URL.
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
