/** Tools without a gate: decode, body, encode, and the error that a body failed with. */
import { assert } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { ToolError } from "../../src/error/ToolError.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { contextOf } from "../tool/CallContexts.ts"

type Tools<E> = Effect.Effect<ReadonlyArray<GovernedTool>, E>

const isToolError = Schema.is(ToolError)

export type Value = Readonly<Record<string, unknown>>

/** The value of one call, as the model would get it. */
export const use = Effect.fnUntraced(function* <E>(tools: Tools<E>, name: string, args: unknown) {
  const tool = (yield* tools).find(({ spec }) => spec.name === name)
  assert.isDefined(tool)
  const decoded = tool.decode(args)
  if (Exit.isFailure(decoded)) return assert.fail(`the arguments were refused: ${String(decoded)}`)
  const result = yield* handlerEffect(tool.handler, decoded.value, contextOf({}))
  const encoded = tool.encode(result)
  if (Exit.isFailure(encoded)) return assert.fail("the result was refused by its schema")
  return encoded.value as Value
})

/** The error that a call fails with. */
export const failure = <E>(tools: Tools<E>, name: string, args: unknown) =>
  Effect.map(Effect.flip(use(tools, name, args)), (error): ToolError => {
    if (!isToolError(error)) return assert.fail(`no tool error: ${String(error)}`)
    return error
  })
