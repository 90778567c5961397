/**
 * Where a URL leads, and whether the address there may be dialled: a public one, one that an operator allows, or any but
 * a metadata service where the operator named the host.
 */
import type { AddressRange } from "./Address.ts"
import { isAddress, isGlobalAddress, isMetadataAddress } from "./Address.ts"

/** What an operator allows beyond the public internet. */
export interface DialAllowance {
  /** Ranges that may be dialled although they are not public. */
  readonly allow: ReadonlyArray<AddressRange>
  /** The host is allowed by name: any address but a metadata service may be dialled. Absent = false. */
  readonly named?: boolean
}

/** False for a text that is no address, also of a host allowed by name: nobody knows what would be dialled. */
export const mayDial = (address: string, { allow, named = false }: DialAllowance): boolean =>
  isGlobalAddress(address, allow) || (named && isAddress(address) && !isMetadataAddress(address))

/** Names of Google's metadata service, which stand for nothing else. */
const metadata_names: ReadonlySet<string> = new Set(["metadata.google.internal", "metadata.goog"])

/** Does a URL name a cloud's metadata service, by its address in any form or by its name? */
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
 * The address in a URL whose host is an address; undefined = the host is a name, which has to be resolved.
 * WHATWG's parser has made one form of decimal, octal and hexadecimal addresses.
 */
export const literalAddress = ({ hostname }: URL): string | undefined => {
  const host = hostname.replace(/\.$/, "")
  if (host.startsWith("[")) return host.slice(1, -1)
  return /^\d+(?:\.\d+){3}$/.test(host) ? host : undefined
}
