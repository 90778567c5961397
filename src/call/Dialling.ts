/**
 * The addresses at which a host named by an operator may be dialled. A host that a model chose is judged by
 * `isGlobalAddress` alone.
 */
import type { AddressRange } from "./Address.ts"
import { isGlobalAddress, isMetadataAddress } from "./Address.ts"

/** What an operator allows beyond the public internet. */
export interface Reach {
  /** Ranges that may be dialled although they are not public. */
  readonly allow: ReadonlyArray<AddressRange>
  /** The host is allowed by name: any address but a metadata service may be dialled. Absent = false. */
  readonly named?: boolean
}

export const mayDial = (address: string, { allow, named = false }: Reach): boolean =>
  isGlobalAddress(address, allow) || (named && !isMetadataAddress(address))

/** The address in a URL whose host is an address; undefined = the host is a name, which has to be resolved. */
export const literalAddress = ({ hostname }: URL): string | undefined => {
  const host = hostname.replace(/\.$/, "")
  if (host.startsWith("[")) return host.slice(1, -1)
  return /^\d+(?:\.\d+){3}$/.test(host) ? host : undefined
}
