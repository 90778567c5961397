/**
 * Operations of the reference platform that have no endpoint: its gateway answers them. They read the configuration of a variant,
 * and run it once with changes that are not committed.
 */
import { Schema } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import type { JsonObject } from "../../../src/call/BodyPath.ts"
import { isJsonObject, memberOf, merged, withoutValueAt } from "../../../src/call/BodyPath.ts"
import type { Asked } from "./Route.ts"
import { Id, Members } from "./Route.ts"
import type { Workflows } from "./Workflows.ts"

/** What a handler gives: a value, or why there is none. */
export type Handled =
  | { readonly _tag: "Value"; readonly value: Json }
  | { readonly _tag: "Refused"; readonly code: string; readonly message: string }

export type Handler = (args: unknown, asked: Asked) => Promise<Handled>

const refused = (code: string, message: string): Handled => ({ _tag: "Refused", code, message })

const Segment = Schema.Union([Id, Schema.Struct({ list: Id, key: Id })])
const ReadArguments = Schema.Struct({
  target: Schema.Struct({
    workflow_variant_id: Id,
    run_is_draft: Schema.optionalKey(Schema.Boolean),
    path: Schema.optionalKey(Schema.Array(Segment).check(Schema.isMaxLength(12)))
  }),
  max_bytes: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1_024, maximum: 262_144 }))
  )
})
const TestArguments = Schema.Struct({
  target: Schema.Struct({ workflow_variant_id: Id }),
  inputs: Schema.Struct({ messages: Schema.Array(Members).check(Schema.isMaxLength(100)) }),
  delta: Schema.optionalKey(
    Schema.Struct({
      set: Schema.optionalKey(Members),
      remove: Schema.optionalKey(Schema.Array(Id).check(Schema.isMaxLength(100)))
    })
  ),
  expectations: Schema.optionalKey(Schema.Struct({ terminal_tool: Schema.optionalKey(Id) }))
})

const bytes_default = 65_536

const stepped = (value: Json | undefined, segment: typeof Segment.Type): Json | undefined => {
  if (typeof segment === "string") return memberOf(value, segment)
  const list = memberOf(value, segment.list)
  const named = segment.list === "files" ? "path" : "name"
  return Array.isArray(list)
    ? (list as ReadonlyArray<Json>).find((each) => memberOf(each, named) === segment.key)
    : undefined
}

/** Decodes the arguments, and refuses what the schema does not know. */
const handler = <A>(
  schema: Schema.Codec<A, unknown>,
  answer: (args: A, asked: Asked) => Handled | Promise<Handled>
): Handler => {
  const decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
  return async (args, asked) => {
    const decoded = decode(args)
    return decoded._tag === "Failure"
      ? refused("invalid_arguments", decoded.failure.message.slice(0, 500))
      : await answer(decoded.success, asked)
  }
}

const noVariant = refused("not_found", "there is no such workflow variant")

const readConfig = ({ current }: Workflows) =>
  handler(ReadArguments, ({ max_bytes = bytes_default, target }) => {
    const found = current(target.workflow_variant_id)
    if (found === undefined) return noVariant
    const value = (target.path ?? []).reduce<Json | undefined>(stepped, found.data)
    if (value === undefined) return refused("not_found", "the configuration has no such place")
    const bytes = Buffer.byteLength(JSON.stringify(value))
    if (bytes <= max_bytes) {
      return { _tag: "Value", value: { base_revision_id: found.id, value } }
    }
    const children = isJsonObject(value) ? Object.keys(value).slice(0, 100).join(", ") : ""
    return refused("too_large", `it has ${bytes} bytes: read one of its parts: ${children}`)
  })

const textOf = (messages: ReadonlyArray<JsonObject>): string => {
  const content = messages.at(-1)?.["content"]
  return typeof content === "string" ? content : ""
}

const testRun = ({ current, run }: Workflows) =>
  handler(TestArguments, async ({ delta = {}, expectations = {}, inputs, target }, asked) => {
    const found = current(target.workflow_variant_id)
    if (found === undefined) return noVariant
    const changed = merged(found.data, delta.set ?? {})
    const data = (delta.remove ?? []).reduce(
      (rest, place) => withoutValueAt(rest, place.split(".")),
      changed
    )
    const ran = await run({ ...found, data }, { text: textOf(inputs.messages) }, asked)
    // Nothing here calls a tool, so that none that is expected has run.
    const verdict = expectations.terminal_tool === undefined ? "unconfirmed" : "incomplete"
    return {
      _tag: "Value",
      value: {
        ...ran,
        tools: [],
        trace_id: asked.trace_id,
        base_revision_id: found.id,
        is_changed: delta.set !== undefined || delta.remove !== undefined,
        verdict
      }
    }
  })

/** The handlers, by the names by which the gateway calls them. */
export const handlers = (workflows: Workflows): ReadonlyMap<string, Handler> =>
  new Map([
    ["tools.agenta.read_config", readConfig(workflows)],
    ["tools.agenta.test_run", testRun(workflows)]
  ])
