/**
 * Decides to which address a URL leads and whether a connection to it may be opened: to a public address, to one that an
 * operator allows, or to any except a cloud's metadata service if the operator named the host.
 */
import type { AddressRange } from "./Address.ts"
import { isAddress, isGlobalAddress, isMetadataAddress } from "./Address.ts"

/** What an operator allows beyond the public internet. */
export interface DialAllowance {
  /** Ranges that may be dialled although they are not public. */
  readonly allow: ReadonlyArray<AddressRange>
  /** True = the host is allowed by name, and any address but a metadata service may be dialled. Absent = false. */
  readonly named?: boolean
}

/**
 * Whether a connection to the address may be opened. False for a text that is not an address, even for a host that is allowed by
 * name, because the real address is unknown; and for a metadata service, whatever range is allowed: it hands out the machine's
 * credentials, and a wide range would open it unseen.
 */
export const mayDial = (address: string, { allow, named = false }: DialAllowance): boolean =>
  !isMetadataAddress(address) && (isGlobalAddress(address, allow) || (named && isAddress(address)))

/** Names of Google's metadata service, which stand for nothing else. */
const metadata_names: ReadonlySet<string> = new Set(["metadata.google.internal", "metadata.goog"])

/** Whether a URL names a cloud's metadata service, by any form of its address or by its name. */
export const isMetadataHost = (url: URL): boolean => {
  const address = literalAddress(url)
  return address === undefined
    ? metadata_names.has(url.hostname.replace(/\.$/, ""))
    : isMetadataAddress(address)
}

/** The port that is dialled for an http or https URL. */
export const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "http:" ? 80 : 443) : Number(port)

/**
 * The address in a URL whose host is an address; undefined = the host is a name, which has to be resolved. The WHATWG parser has
 * already rewritten IPv4 addresses in octal, hexadecimal or short form as four decimal parts.
 */
export const literalAddress = ({ hostname }: URL): string | undefined => {
  const host = hostname.replace(/\.$/, "")
  if (host.startsWith("[")) return host.slice(1, -1)
  return /^\d+(?:\.\d+){3}$/.test(host) ? host : undefined
}
