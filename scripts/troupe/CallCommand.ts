/**
 * `troupe call`: every operation by the name of its method, as it is declared. An operation of a feature has the feature's name
 * before its own. `send`, `ask`, `stream`, `watch` and uploads are no declared operations.
 */
import { Effect, Layer, Option, Result, Schema, SchemaAST } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { checkFeatures } from "../../layers/compose/options/CheckedFeatures.ts"
import type { AnyFeature } from "../../layers/compose/options/Feature.ts"
import { operations } from "../../layers/service/ServiceOperations.ts"
import type { Members, Operation } from "../../src/operation/Operation.ts"
import { argumentsOf, partsOf } from "../../src/operation/Operation.ts"
import { declaredRoles } from "../../src/principal/Rights.ts"
import { InvalidInput, inputReader } from "../../src/schema/InvalidInput.ts"
import { bounds_result, readJson } from "../../src/value/BoundedJson.ts"
import { didYouMean } from "../../src/value/Nearest.ts"
import { loadApp } from "../command/AppModule.ts"
import { optionalText, unreadableCommand } from "../command/CommandLine.ts"
import type { Refused } from "../command/Refused.ts"
import type { More } from "./Operator.ts"
import { inStore, place } from "./Operator.ts"
import { endWith, say } from "./Stored.ts"
import { described } from "./WorkCommands.ts"

interface Callable {
  readonly operation: Operation
  /** Absent = an operation of every service. */
  readonly feature?: AnyFeature
}

/** What a module gives to the runtime. Of its features there are the operations and stores alone, which take no work. */
const moreOf = Effect.fnUntraced(function* (
  file: string | undefined
): Effect.fn.Return<More, InvalidInput | Refused> {
  if (file === undefined) return {}
  const { features = [], mcp, roles = {} } = (yield* loadApp(file)) as More
  if (!Array.isArray(features)) {
    return yield* new InvalidInput({ field: "features", reason: "a list of features" })
  }
  yield* checkFeatures(features, yield* declaredRoles(roles, "roles"))
  const events = { handlers: {}, topics: [] }
  const idle = { tools: [], deliveries: [], events, over: Layer.empty }
  return {
    roles,
    features: features.map((feature: AnyFeature) => ({ ...feature, ...idle })),
    ...(mcp && { mcp })
  }
})

/** Everything that can be called, by name. */
export const callables = (features: ReadonlyArray<AnyFeature> = []) => {
  const all = new Map<string, Callable>(Object.entries(operations))
  for (const feature of features) {
    for (const { effects } of feature.groups) {
      for (const [name, { operation }] of Object.entries(effects)) {
        all.set(`${feature.name}.${name}`, { feature, operation })
      }
    }
  }
  return all
}

/** The members of an object, or of several of which one is given, as a list shows them. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isObjects(ast)) {
    return ast.propertySignatures.map(
      ({ name, type }) => `${String(name)}${SchemaAST.isOptional(type) ? "?" : ""}`
    )
  }
  if (!SchemaAST.isUnion(ast)) return []
  const each = ast.types.map(membersOf)
  const names = new Set(each.flat().map((name) => name.replace("?", "")))
  return [...names].map((name) => (each.every((all) => all.includes(name)) ? name : `${name}?`))
}

export const lineOf = ([name, { operation }]: readonly [string, Callable]): string => {
  const members = partsOf(operation).flatMap(({ schema }) =>
    membersOf(SchemaAST.toEncoded(schema.ast))
  )
  return `${name} {${members.join(", ")}}  ${operation.summary}`
}

const standardInput = Effect.tryPromise({
  try: async () => {
    const decoder = new TextDecoder("utf-8", { fatal: true })
    let text = ""
    for await (const part of process.stdin) {
      text += decoder.decode(part as Buffer, { stream: true })
      if (text.length > bounds_result.units_max) return text
    }
    return text + decoder.decode()
  },
  catch: () => new InvalidInput({ field: "input", reason: "it cannot be read as UTF-8" })
})

const readMembers = inputReader(Schema.Record(Schema.String, Schema.Json), {
  expected: "an object with members",
  bounds: bounds_result
})

/** The members of an input, as a text of JSON or `-` for standard input. */
export const inputOf = Effect.fnUntraced(function* (given: string) {
  const text = given === "-" ? yield* standardInput : given
  const read = Effect.mapError(
    Effect.fromResult(readJson(text, bounds_result)),
    ({ message, path = [] }) =>
      new InvalidInput({ field: ["input", ...path].join("."), reason: message })
  )
  return yield* readMembers(yield* read, "input")
})

/** A result as HTTP writes it. */
const encoded = ({ gives, success }: Operation, result: unknown): string => {
  const schema = gives === undefined ? success : (success as Members).fields[gives]
  if (schema === undefined) return "{}"
  const codec = Schema.toCodecJson(schema as Schema.Codec<unknown, unknown>)
  return JSON.stringify(Schema.encodeUnknownSync(codec)(result))
}

type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>

const { data, tenant } = place

export const callCommand = Command.make(
  "call",
  {
    data,
    tenant,
    operation: Argument.String("operation").pipe(
      Argument.withMetavar("OPERATION"),
      Argument.withDescription(
        "the name of its method, or FEATURE.METHOD; absent = lists them all"
      ),
      Argument.optional,
      Argument.map(Option.getOrUndefined)
    ),
    input: Flag.String("input").pipe(
      Flag.withMetavar("JSON"),
      Flag.withDescription("an object with all members of its input ({}); - = standard input"),
      Flag.withDefault("{}")
    ),
    app: optionalText(
      "app",
      "FILE",
      "a module that exports features, mcp or roles, options of start of troupe/embed"
    )
  },
  Effect.fnUntraced(function* ({ app, input: text, operation: name, ...where }) {
    const read = yield* Effect.result(Effect.all([moreOf(app), inputOf(text)]))
    if (Result.isFailure(read)) return yield* endWith(Effect.fail(read.failure), "not done")
    const [more, input] = read.success
    const all = callables(more.features)
    if (name === undefined) return yield* say([...all].map(lineOf).join("\n"))
    const found = all.get(name)
    if (found === undefined) {
      const near = didYouMean(name, all.keys()) || " Without a name the command lists them."
      return yield* unreadableCommand(["troupe", "call"], `there is no operation "${name}".${near}`)
    }
    const { feature, operation } = found
    return yield* inStore(
      { ...where, json: false },
      (troupe, by) => {
        const methods: object = feature === undefined ? troupe : troupe.of(feature)
        const method = Reflect.get(methods, operation.name) as Method
        return Effect.flatMap(Effect.fromResult(argumentsOf(operation, input, by)), (args) =>
          method(...args)
        )
      },
      (result) => encoded(operation, result),
      Effect.succeed(more)
    )
  })
).pipe(
  described(
    "Calls an operation of a service by the name of its method, and prints its result as JSON. It knows no agents, tools and event handlers."
  )
)
