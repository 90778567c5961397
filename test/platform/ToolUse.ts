/** Uses one tool as the gate does it, decode, body, encode: no model, no loop. */
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { CallId, ConversationId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { contextOf, unobserved } from "../tool/CallContexts.ts"

export const tenant = Tenant.make("acme")

const call: CallContext = {
  ...unobserved,
  run: RunId.make("00000000-0000-4000-8000-00000000aaaa"),
  call: CallId.make("0/1.0"),
  conversation: ConversationId.make("c"),
  tenant,
  trace_id: "trace",
  principal: "cara",
  approved_by: undefined,
  roles: ["customer"],
  key: undefined
}

export type Family<R> = Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, R>

/** The value as the model would get it. Arguments that the tool refuses fail with `refused`. */
export const useOf = <R>(family: Family<R>) =>
  Effect.fnUntraced(function* (name: string, args: unknown, given: Partial<CallContext> = {}) {
    const tools = yield* family
    const tool = tools.find((each) => each.spec.name === name)
    if (tool === undefined) return yield* Effect.die(new Error(`no tool ${name}`))
    const decoded = tool.decode(args)
    if (Exit.isFailure(decoded)) return yield* Effect.fail({ refused: "arguments" } as const)
    const result = yield* handlerEffect(
      tool.handler,
      decoded.value,
      contextOf({ ...call, ...given })
    )
    const encoded = tool.encode(result)
    assert.isTrue(Exit.isSuccess(encoded), name)
    return Exit.isSuccess(encoded) ? (encoded.value as Readonly<Record<string, unknown>>) : {}
  })

/** The failure as a plain record. */
export const failureOf = <A, R>(effect: Effect.Effect<A, unknown, R>) =>
  Effect.map(Effect.flip(effect), (error) => ({
    ...(error as {
      readonly _tag?: string
      readonly kind?: string
      readonly reason?: string
      readonly refused?: string
    }),
    message: (error as { readonly message?: string }).message
  }))
