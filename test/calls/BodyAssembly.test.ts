/** What no argument of a model can do to the body of a direct call, for generated calls and arguments. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { bodyAssembler, partsConflict } from "../../src/call/BodyAssembly.ts"
import type { BodyPath, JsonObject } from "../../src/call/BodyPath.ts"
import { isJsonObject, leafPaths, valueAt, withValueAt } from "../../src/call/BodyPath.ts"
import type { BodyParts } from "../../src/call/CallDescriptor.ts"
import { CallDescriptor } from "../../src/call/CallDescriptor.ts"
import { strippedSchema } from "../../src/call/SchemaStrip.ts"

/** Few names, so that generated paths meet. */
const Name = Schema.Literals(["a", "b", "c"])
const unsafe_names = ["__proto__", "constructor", "prototype"] as const
const isUnsafeName = (name: string): boolean => unsafe_names.some((each) => each === name)
const HostileName = Schema.Literals(["a", "b", "c", ...unsafe_names])
const pathOf = <S extends Schema.Constraint>(name: S) =>
  Schema.Array(name).check(Schema.isMinLength(1), Schema.isMaxLength(3))
const Path = pathOf(Name)
const Leaf = Schema.Union([Schema.String, Schema.Int, Schema.Null])
const Members = Schema.Array(Schema.Tuple([pathOf(HostileName), Leaf])).check(Schema.isMaxLength(6))

/** An object with own members of any name, as JSON.parse makes one. */
const objectOf = (members: typeof Members.Type): JsonObject => {
  const set = (under: Json | undefined, [name, ...rest]: BodyPath, value: Json): JsonObject => {
    const base = isJsonObject(under) ? Object.entries(under) : []
    const key = name ?? "a"
    const inner = base.find(([each]) => each === key)?.[1]
    const member = rest.length === 0 ? value : set(inner, rest, value)
    return Object.fromEntries([...base.filter(([each]) => each !== key), [key, member]])
  }
  return members.reduce<JsonObject>((whole, [path, leaf]) => set(whole, path, leaf), {})
}

const names = (value: Json): ReadonlyArray<string> =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, member]) => [name, ...names(member)])

const context: JsonObject = { trace: { trace_id: "own-trace", span_id: "own-span" } }

const Call = {
  args: Members,
  body: Members,
  bound: Schema.Array(Path).check(Schema.isMaxLength(2)),
  into: Schema.Union([Path, Schema.Null])
}

const partsOf = ({
  body,
  bound,
  into
}: {
  readonly body: typeof Members.Type
  readonly bound: ReadonlyArray<BodyPath>
  readonly into: BodyPath | null
}): BodyParts => ({
  body: objectOf(body),
  context: Object.fromEntries(bound.map((path) => [path.join("."), "$ctx.trace.trace_id"])),
  ...(into === null ? undefined : { args_into: into.join(".") })
})

const bodyOf = (parts: BodyParts, args: Json): JsonObject =>
  Result.getOrThrow(Result.getOrThrow(bodyAssembler(parts))(args, context))

describe("the body of a direct call", () => {
  it.effect.prop(
    "AG-16 AG-34 has its fixed and bound fields, whatever the model gives",
    Call,
    (call) =>
      Effect.sync(() => {
        const parts = partsOf(call)
        if (partsConflict(parts, { allowNestedBind: true }) !== undefined) return
        const made = bodyOf(parts, objectOf(call.args))
        for (const path of leafPaths(parts.body ?? {})) {
          const fixed = valueAt(parts.body, path)
          // An empty object is a place for what others give; every other fixed value stands as it is.
          if (!isJsonObject(fixed)) assert.deepStrictEqual(valueAt(made, path), fixed)
        }
        for (const path of call.bound) assert.strictEqual(valueAt(made, path), "own-trace")
      })
  )

  it.effect.prop(
    "AG-20 forwards no name that reaches a prototype, and changes none",
    Call,
    (call) =>
      Effect.sync(() => {
        const parts = partsOf(call)
        const before = Object.getOwnPropertyNames(Object.prototype).join()
        const made = bodyOf(parts, objectOf(call.args))
        assert.deepStrictEqual(names(made).filter(isUnsafeName), [])
        assert.strictEqual(Object.getPrototypeOf(made), Object.prototype)
        assert.strictEqual(Object.getOwnPropertyNames(Object.prototype).join(), before)
      })
  )

  it.effect.prop(
    "AG-17 is the same whether or not the model fills in a bound field",
    { ...Call, guess: Leaf },
    ({ guess, ...call }) =>
      Effect.sync(() => {
        const parts = partsOf({ ...call, into: null })
        const args = objectOf(call.args.filter(([path]) => !path.some(isUnsafeName)))
        for (const path of call.bound) {
          // The guess must not replace anything else of the arguments.
          const parent = path.slice(0, -1)
          if (parent.some((_, i) => !isJsonObject(valueAt(args, parent.slice(0, i + 1))))) continue
          assert.deepStrictEqual(bodyOf(parts, withValueAt(args, path, guess)), bodyOf(parts, args))
        }
      })
  )

  it("AG-20 forwards no name that reaches a prototype out of a fixed list", () => {
    const body = JSON.parse('{"list":[{"__proto__":{"polluted":1},"kept":[{"constructor":1}]}]}')
    assert.deepStrictEqual(bodyOf({ body }, {}), { list: [{ kept: [{}] }] })
    assert.notProperty({}, "polluted")
  })

  it("AG-14 has an empty object where the model gave no arguments for their place", () => {
    const parts = { args_into: "data.inputs", context: { "data.trace": "$ctx.trace.trace_id" } }
    const made = { data: { inputs: {}, trace: "own-trace" } }
    for (const args of [null, undefined]) {
      assert.deepStrictEqual(bodyOf(parts, args as unknown as Json), made)
    }
    assert.deepStrictEqual(bodyOf({}, null), {})
  })

  it("AG-02 AG-03 has a descriptor that knows no host and no other member", () => {
    const decode = Schema.decodeUnknownResult(CallDescriptor, { onExcessProperty: "error" })
    const call = { method: "POST", path: "/api/x" }
    assert.isTrue(Result.isSuccess(decode(call)))
    for (const wrong of [
      { ...call, host: "evil.example" },
      { ...call, method: "TRACE" },
      { ...call, query: { dry_run: "dry_run" } },
      { ...call, path: "//evil.example/api/x" },
      { ...call, path: "https://evil.example/api/x" },
      { ...call, path: "/api/../x" },
      { ...call, path: "/api/%2e%2e/x" },
      { ...call, path: "/api/x y" },
      { ...call, path: "/api/x#y" },
      { ...call, context: { id: "trace.trace_id" } },
      { ...call, context: { id: "$ctx.__proto__.x" } },
      { ...call, context: { "": "$ctx.trace.trace_id" } },
      { ...call, args_into: "" },
      { ...call, body: { text: "x".repeat(70_000) } }
    ]) {
      assert.isTrue(Result.isFailure(decode(wrong)), JSON.stringify(wrong).slice(0, 100))
    }
  })
})

/** A closed schema of objects with a text at each path. */
const schemaOf = (paths: ReadonlyArray<BodyPath>): JsonObject => {
  const heads = [...new Set(paths.flatMap(([head]) => (head === undefined ? [] : [head])))]
  return {
    type: "object",
    properties: Object.fromEntries(
      heads.map((head) => {
        const rests = paths.filter(([name]) => name === head).map(([, ...rest]) => rest)
        const leaf = rests.some((rest) => rest.length === 0)
        return [head, leaf ? { type: "string" } : schemaOf(rests)]
      })
    ),
    ...(heads.length === 0 ? undefined : { required: heads }),
    additionalProperties: false
  }
}

/** Are two schemas the same, whatever the order in which their members stand? */
const same = (a: JsonObject, b: JsonObject) => assert.deepStrictEqual(a, b)

describe("the schema that a model is shown", () => {
  const Paths = Schema.Array(Path).check(Schema.isMaxLength(6))

  it.effect.prop(
    "AG-26 AG-27 is the same in whatever order bound fields are taken out",
    { shown: Paths, bound: Paths },
    ({ bound, shown }) =>
      Effect.sync(() => {
        const schema = schemaOf(shown)
        const before = JSON.stringify(schema)
        const stripped = strippedSchema(schema, bound)
        same(strippedSchema(schema, [...bound].reverse()), stripped)
        same(strippedSchema(stripped, bound), stripped)
        assert.strictEqual(JSON.stringify(schema), before)
      })
  )

  it.effect.prop(
    "AG-26 shows no bound field, and what it shows is what the endpoint takes beside them",
    { shown: Paths, bound: Paths },
    ({ bound, shown }) =>
      Effect.sync(() => {
        const isBound = (path: BodyPath) =>
          bound.some((each) => each.every((name, i) => path[i] === name))
        const schema = schemaOf(shown)
        const left = leafTexts(schema).filter((path) => !isBound(path))
        const found = leafTexts(strippedSchema(schema, bound))
        assert.deepStrictEqual(found.map(String).sort(), left.map(String).sort())
      })
  )
})

/** The paths of all texts that a schema describes. */
const leafTexts = (schema: JsonObject): ReadonlyArray<BodyPath> =>
  Object.entries(isJsonObject(schema["properties"]) ? schema["properties"] : {}).flatMap(
    ([name, member]): ReadonlyArray<BodyPath> => {
      if (!isJsonObject(member)) return []
      return member["type"] === "string"
        ? [[name]]
        : leafTexts(member).map((path) => [name, ...path])
    }
  )
