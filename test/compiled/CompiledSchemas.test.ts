/**
 * Schemas of what a journal, a store and a caller give are decoded by one compiled function. A member that the compiler does not
 * know, such as `Schema.Json`, has the whole struct interpreted, which takes several times as long and which no other test sees.
 */
import { assert, describe, it } from "@effect/vitest"
import type * as SchemaModule from "effect/Schema"

/** The start of the code of a decoder that is one function. */
const whole = "return (function(C,R){"

/** The nodes of schemas for which such code was made. */
const compiled = new Set<unknown>()

// Before anything is compiled: the compiler makes functions with the global constructor.
const Original = globalThis.Function
globalThis.Function = new Proxy(Original, {
  apply: (target, self, args: ReadonlyArray<string>) => {
    const made = Reflect.apply(target, self, args) as (...of: ReadonlyArray<unknown>) => unknown
    return (ast: unknown, ...more: ReadonlyArray<unknown>) => {
      if (args.at(-1)?.startsWith(whole) === true) compiled.add(ast)
      return made(ast, ...more)
    }
  }
})
await import("effect/schema/SchemaJITCompiler/enable")
const { Schema } = await import("effect")
const { Approval, Decision } = await import("../../src/approval/Approval.ts")
const { DecisionPayload } = await import("../../src/approval/Approval.ts")
const { AgentTask } = await import("../../src/delivery/AgentTask.ts")
const { OutboxMessage } = await import("../../src/delivery/OutboxMessage.ts")
const { CheckedAnswerSchema } = await import("../../src/run/AnswerSchema.ts")
const { CheckedRunContext } = await import("../../src/run/RunContext.ts")
const { RunEvent } = await import("../../src/run/RunEvent.ts")

/** Whether a value of this type, which may be any, is decoded by one function. */
const isCompiled = (schema: unknown): boolean => {
  const type = Schema.toType(schema as SchemaModule.Codec<unknown>)
  Schema.decodeUnknownResult(type)({})
  return compiled.has(type.ast)
}

const schemas = {
  ...Object.fromEntries(RunEvent.members.map((member) => [member.fields._tag.ast.literal, member])),
  Approval,
  Decision,
  DecisionPayload,
  AgentTask,
  OutboxMessage,
  CheckedAnswerSchema,
  CheckedRunContext
}

describe("the schema", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(`${name} is decoded by one compiled function`, () => {
      assert.isTrue(isCompiled(schema))
    })
  }

  it("of a struct with Schema.Json is not, as long as the compiler does not know it", () => {
    assert.isFalse(isCompiled(Schema.Struct({ any: Schema.Json })))
  })
})
