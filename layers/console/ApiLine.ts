/** What a page shows, from the API: as a line for a shell, and as a file. */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Operation } from "../../src/operation/Operation.ts"
import type { Html } from "./Html.ts"
import { element } from "./Html.ts"
import { originOf } from "./Sessions.ts"
import type { Asked } from "./SignedPages.ts"

type Query = Readonly<Record<string, string | number | undefined>>

/**
 * The line that asks the API for what a page shows. The token is the shell's `$TOKEN`: no page has one. Nothing of the address ends
 * the quotes that it stands in.
 */
export const apiLine = (
  { base, request }: Pick<Asked, "base" | "request">,
  { path }: Pick<Operation, "path">,
  query: Query
): string => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || path.includes(`:${name}`)
      ? []
      : [[name, String(value)] as [string, string]]
  )
  const filled = path.replace(/:([a-z_]+)/g, (_, name: string) =>
    encodeURIComponent(String(query[name]))
  )
  const more = given.length === 0 ? "" : `?${new URLSearchParams(given)}`
  const address = `${originOf(request)}${base}${filled}${more}`
  return `curl -H "Authorization: Bearer $TOKEN" '${address.replaceAll("'", "%27")}'`
}

/** The line, behind a word that opens it. */
export const apiPart = (line: string): Html =>
  element(
    "details",
    { class: "more" },
    element("summary", {}, "The same from the API"),
    element("pre", { tabindex: 0 }, line)
  )

/** What an operation gave, as a file of JSON, as the API has it. */
export const jsonFile = <A, I>(success: Schema.Codec<A, I>, value: A, name: string) => {
  const encode = Schema.encodeEffect(Schema.toCodecJson(success))
  return Effect.map(Effect.orDie(encode(value)), (json) =>
    HttpServerResponse.text(JSON.stringify(json, undefined, 2), {
      contentType: "application/json",
      headers: { "content-disposition": `attachment; filename="${name}.json"` }
    })
  )
}
