/**
 * Makes the spec of a declared tool and the codecs of its arguments and its result. Both come from one declaration, so what a
 * model is shown is what is checked.
 */
import { Effect, Exit, Result, Schema } from "effect"
import * as Tool from "effect/ai/Tool"
import type { CallPermission } from "../permission/Policy.ts"
import type { CallGovernance } from "./Governance.ts"
import { descriptionOf, specOf } from "./Governance.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"
import type { AnySchema, InputCodec, OutputCodec } from "./ToolCodec.ts"
import { inputCodec, jsonSchemaInput, outputCodec } from "./ToolCodec.ts"
import { resultJson } from "./ResultJson.ts"
import type { ToolSpec } from "./ToolSpec.ts"

export interface Declaration {
  readonly name: string
  readonly description: string | null | undefined
  /** A text for people. Its first line becomes the description of a tool without one. */
  readonly documentation?: string | undefined
  /** Absent = no arguments, or those that the governance's `input_schema` describes. */
  readonly input: AnySchema | undefined
  /** Absent = any JSON, or nothing, which is null. */
  readonly output: AnySchema | undefined
  readonly reconcile: boolean
}

export interface DeclaredSpec {
  readonly input: InputCodec
  readonly output: OutputCodec
  readonly spec: ToolSpec
  /** The declared permission, if it is a function of each call. */
  readonly permission: CallPermission | undefined
}

/**
 * Makes an output codec tolerant of what bodies return, because its shape is no failure of what a body has done. A body without a
 * declared result may return nothing, as a write often does, which becomes null, and rows as drivers give them (`resultJson`).
 * If only a JSON Schema declares the result, `nothing` is undefined, and returning nothing fails.
 */
const withPlainValues = (output: OutputCodec, nothing: null | undefined): OutputCodec => ({
  ...output,
  encode: (result) => {
    const encoded = output.encode(result === undefined ? nothing : result)
    if (Exit.isSuccess(encoded) || result === undefined) return encoded
    const json = resultJson(result)
    if (Result.isFailure(json)) return Exit.fail(json.failure)
    return output.encode(json.success === undefined ? nothing : json.success)
  }
})

/** Makes the spec and the codecs. Fails if a schema has no JSON Schema, or if the spec is invalid or contradicts itself. */
export const declaredSpec = Effect.fnUntraced(function* (
  { description, documentation, input: takes, name, output: gives, reconcile }: Declaration,
  governance: CallGovernance
): Effect.fn.Return<DeclaredSpec, MisdeclaredTool> {
  const { input_schema, needs_approval, output_schema, permission, ...rules } = governance
  const by_call = typeof permission === "function" ? permission : undefined
  if (by_call !== undefined && needs_approval === true) {
    const problem = "the permission of each call says whether a person is asked"
    return yield* misdeclared(name, "needs_approval", problem, "Leave it out")
  }
  const input =
    takes === undefined && input_schema !== undefined
      ? yield* jsonSchemaInput(name, input_schema)
      : yield* inputCodec(name, takes ?? Tool.EmptyParams, input_schema)
  const declared = yield* outputCodec(name, gives ?? Schema.Json, output_schema)
  const output =
    gives === undefined
      ? withPlainValues(declared, output_schema === undefined ? null : undefined)
      : declared
  const spec = yield* specOf(
    {
      name,
      description: descriptionOf(description, documentation),
      input_schema: input.json_schema,
      output_schema: output.json_schema,
      reconcile
    },
    {
      ...rules,
      ...(needs_approval === undefined ? undefined : { needs_approval }),
      ...(typeof permission === "function" || permission === undefined ? undefined : { permission })
    }
  )
  return { input, output, spec, permission: by_call }
})
