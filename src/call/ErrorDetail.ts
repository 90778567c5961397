/**
 * Extracts the part of a platform's error answer that a model may read: the `detail` of its envelope. The rest of a body
 * may contain hosts, addresses and stacks.
 */
import { Option, Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { bounds_carried, readJson } from "../value/BoundedJson.ts"
import { withoutSecrets } from "../error/KnownSecrets.ts"
import { withoutHosts } from "../network/PrivateHosts.ts"

const detail_max = 2_000
const cut_mark = " (truncated)"
/** A longer body is not parsed. An envelope may quote the refused request, and so be as long as that. */
const body_max = 1_000_000

const decode = Schema.decodeUnknownOption(
  Schema.Struct({ detail: Schema.optionalKey(Schema.Json) })
)

/** Without secrets and private hosts; null if there is none. Beyond 2,000 UTF-16 units it is cut off with a mark. */
export const detailOf = (
  body: string,
  secrets: ReadonlyArray<string> = [],
  endpoint?: string
): string | null => {
  if (body.length > body_max) return null
  const read = readJson(body, bounds_carried)
  const envelope = Result.isSuccess(read) ? Option.getOrUndefined(decode(read.success)) : undefined
  const detail = envelope?.detail
  if (detail === null || detail === undefined || detail === "") return null
  const clean = withoutSecrets(detail, secrets)
  const whole = typeof clean === "string" ? clean : JSON.stringify(clean)
  const text = withoutHosts(whole, endpoint)
  return text.length <= detail_max ? text : truncateUnits(text, detail_max) + cut_mark
}
