/**
 * Which addresses a host that an operator named may be dialled at. A host of tools that a model chooses is judged by
 * `isGlobalAddress` alone.
 */
import type { AddressRange } from "./Address.ts"
import { isGlobalAddress, isMetadataAddress } from "./Address.ts"

/** What an operator opened beyond the public internet. */
export interface Reach {
  /** Address ranges to be reached although they are not public. */
  readonly allow: ReadonlyArray<AddressRange>
  /** The host was allowed by its name: it may be anywhere but where a cloud tells its secrets. Absent = it was not. */
  readonly named?: boolean
}

export const mayDial = (address: string, { allow, named = false }: Reach): boolean =>
  isGlobalAddress(address, allow) || (named && !isMetadataAddress(address))

/** The address that a URL's host is; undefined = it is a name, which has to be resolved. */
export const literalAddress = ({ hostname }: URL): string | undefined => {
  const host = hostname.replace(/\.$/, "")
  if (host.startsWith("[")) return host.slice(1, -1)
  return /^\d+(?:\.\d+){3}$/.test(host) ? host : undefined
}
