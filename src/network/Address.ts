/**
 * Decides which internet addresses a tool may dial: only global unicast, not loopback, private, documentation, multicast or other
 * special-purpose ranges, unless an operator allows them; never a cloud's metadata service. The ranges come from IANA's
 * special-purpose registries for IPv4 (RFC 6890) and IPv6.
 */
import { Result } from "effect"
import { truncateUnits } from "../value/CutText.ts"

/** The 16 bytes of an address; an IPv4 one is mapped (`::ffff:a.b.c.d`). */
type Bytes = ReadonlyArray<number>

const mapped: Bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

const parse4 = (text: string): ReadonlyArray<number> | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4) return undefined
  const bytes = parts.map((part) => (/^(?:0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256))
  return bytes.every((byte) => byte < 256) ? bytes : undefined
}

/** The bytes of colon-separated groups; the last may be an IPv4 address. */
const groups = (text: string): ReadonlyArray<number> | undefined => {
  if (text === "") return []
  const bytes: Array<number> = []
  const parts = text.split(":")
  for (const [i, part] of parts.entries()) {
    if (part.includes(".")) {
      const tail = i === parts.length - 1 ? parse4(part) : undefined
      if (tail === undefined) return undefined
      bytes.push(...tail)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined
      const group = Number.parseInt(part, 16)
      bytes.push(group >> 8, group & 255)
    }
  }
  return bytes
}

const parse6 = (text: string): Bytes | undefined => {
  const halves = text.split("::")
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map(groups)
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 16 ? head : undefined
  if (tail === undefined) return undefined
  const missing = 16 - head.length - tail.length
  return missing < 2 ? undefined : [...head, ...Array<number>(missing).fill(0), ...tail]
}

/** Parses IPv4 in four decimal parts, or IPv6. An address with a zone (`%eth0`) is refused: it names a link of this machine. */
const parse = (text: string): Bytes | undefined => {
  if (text.length > 64) return undefined
  if (text.includes(":")) return parse6(text)
  const four = parse4(text)
  return four === undefined ? undefined : [...mapped, ...four]
}

/** Whether the text is an IPv4 or IPv6 address. */
export const isAddress = (text: string): boolean => parse(text) !== undefined

/** The addresses that share the first `bits` bits of `bytes`. */
export interface AddressRange {
  readonly bytes: Bytes
  readonly bits: number
}

/** Parses `10.0.0.0/8` or `fd00::/8`; a bare address is a range of one. Fails with a sentence. */
export const parseAddressRange = (text: string): Result.Result<AddressRange, string> => {
  const [, address = "", length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const bytes = parse(address)
  if (bytes === undefined) return Result.fail(`not an address range: ${truncateUnits(text, 64)}`)
  const [most, before] = address.includes(":") ? [128, 0] : [32, 96]
  const bits = length === undefined ? most : Number(length)
  if (bits > most) return Result.fail(`more than ${most} bits: ${truncateUnits(text, 64)}`)
  return Result.succeed({ bytes, bits: bits + before })
}

/** Parses several ranges. Fails with the sentence about the first that is none. */
export const parseAddressRanges = (
  texts: ReadonlyArray<string>
): Result.Result<ReadonlyArray<AddressRange>, string> => Result.all(texts.map(parseAddressRange))

const isIn = (bytes: Bytes, range: AddressRange): boolean =>
  range.bytes.every((byte, index) => {
    const bits = Math.min(Math.max(range.bits - 8 * index, 0), 8)
    return bytes[index] !== undefined && (bytes[index] ^ byte) >> (8 - bits) === 0
  })

const rangeOf = (text: string): AddressRange => Result.getOrThrow(parseAddressRange(text))
const ranges = (texts: string): ReadonlyArray<AddressRange> => texts.split(" ").map(rangeOf)

/**
 * The special IPv4 ranges: this network, private, shared (carriers; Alibaba's metadata), loopback, link-local, protocols
 * (Oracle's metadata), documentation, 6to4 relays, benchmarks, multicast, reserved; and Azure's wire server, a public address
 * that every virtual machine of Azure can reach (Microsoft Learn, "What is IP address 168.63.129.16?").
 */
const special4 = ranges(
  "168.63.129.16/32 0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
    "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
)
/** IPv6 ranges with an IPv4 address in the last four bytes: mapped addresses, and those that NAT64 translates. */
const mapped_four = rangeOf("::ffff:0:0/96")
const four_in_six = [mapped_four, rangeOf("64:ff9b::/96")]
const global6 = rangeOf("2000::/3")
/** Special ranges within `global6`: protocols (Teredo among them), documentation, 6to4 (which embeds any IPv4 address). */
const special6 = ranges("2001::/23 2001:db8::/32 2002::/16 3fff::/20")

/**
 * Metadata services of clouds, which hand out a machine's credentials: link-local (AWS, Azure, Google and others), Azure's
 * wire server, Alibaba, Oracle, and over IPv6 AWS, Google, Oracle and Scaleway.
 */
const metadata = ranges(
  "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32 fe80::/10 fd00:ec2::/32 fd20:ce::/32 fd00:c1::/32 fd00:42::/32"
)

/** The IPv4 address in an ISATAP address (RFC 5214), whose interface id is `0000:5efe` or `0200:5efe` and the IPv4 address. */
const tunnelled = (bytes: Bytes): Bytes | undefined =>
  (bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
    ? [...mapped, ...bytes.slice(12)]
    : undefined

const last_four = [12, 13, 14, 15]
/**
 * IPv6 ranges that embed an IPv4 address, with the places of its bytes: mapped and NAT64, NAT64 of a network's own (whose prefix
 * may have 48, 56, 64 or 96 bits: RFC 6052), IPv4-compatible, IPv4-translated (RFC 2765), 6to4.
 */
const embedding: ReadonlyArray<readonly [range: AddressRange, at: ReadonlyArray<number>]> = [
  ...four_in_six.map((range) => [range, last_four] as const),
  ...[[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], last_four].map(
    (at) => [rangeOf("64:ff9b:1::/48"), at] as const
  ),
  [rangeOf("::/96"), last_four],
  [rangeOf("::ffff:0:0:0/96"), last_four],
  [rangeOf("2002::/16"), [2, 3, 4, 5]]
]
/** A Teredo address has its client's IPv4 address in the last four bytes, with all bits inverted (RFC 4380). */
const teredo = rangeOf("2001::/32")

/** Whether the address, or an IPv4 address embedded in it, is a metadata service of a cloud. */
export const isMetadataAddress = (address: string): boolean => {
  const bytes = parse(address)
  if (bytes === undefined) return false
  const embedded = embedding.flatMap(([range, at]) =>
    isIn(bytes, range) ? [[...mapped, ...at.map((place) => bytes[place] ?? 0)]] : []
  )
  if (isIn(bytes, teredo)) embedded.push([...mapped, ...bytes.slice(12).map((byte) => byte ^ 255)])
  return [tunnelled(bytes) ?? bytes, ...embedded].some((held) =>
    metadata.some((range) => isIn(held, range))
  )
}

/**
 * Whether a tool may dial the address: true only for global unicast and for the operator's ranges in `allow`. A mapped or NAT64
 * address is judged by the IPv4 address in it, an ISATAP address by both. False for a text that is not an address.
 */
export const isGlobalAddress = (
  address: string,
  allow: ReadonlyArray<AddressRange> = []
): boolean => {
  const bytes = parse(address)
  if (bytes === undefined) return false
  if (allow.some((range) => isIn(bytes, range))) return true
  if (four_in_six.some((range) => isIn(bytes, range))) {
    const four = [...mapped, ...bytes.slice(12)]
    if (!isIn(bytes, mapped_four) && allow.some((range) => isIn(four, range))) return true
    return !special4.some((range) => isIn(four, range))
  }
  const four = tunnelled(bytes)
  if (four !== undefined && special4.some((range) => isIn(four, range))) return false
  return isIn(bytes, global6) && !special6.some((range) => isIn(bytes, range))
}

/** The IPv4 address, in dotted form, that a mapped or NAT64 IPv6 address embeds; undefined = none. */
export const embeddedIpv4 = (address: string): string | undefined => {
  const bytes = parse(address)
  return bytes !== undefined && four_in_six.some((range) => isIn(bytes, range))
    ? bytes.slice(12).join(".")
    : undefined
}

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
