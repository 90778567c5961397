import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Classify from "../../src/error/Classify.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { tool, wrap } from "../../src/tool/DeclaredTool.ts"
import * as Registry from "../../src/tool/Registry.ts"
import type { ResultMessage } from "../../src/queue/CallMessage.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import * as Component from "./Component.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>
type Family = Effect.Effect<ReadonlyArray<GovernedTool>, unknown>

/** Which tools ran, by namespace and name. */
type Ran = Array<string>

interface Plan {
  readonly namespace: string
  readonly name: string
  readonly version?: string
  readonly deprecated?: boolean
  readonly says?: string
}

const one = ({ says = "ok", ...plan }: Plan, ran: Ran = []): Family =>
  tool({ ...plan, side_effects: "read", output: Schema.String }, () => {
    ran.push(`${plan.namespace}.${plan.name}`)
    const [, kind] = /^returns (\w+) kind$/.exec(says) ?? []
    return kind === undefined
      ? Effect.succeed(says)
      : Effect.fail(Classify.toolErrorFrom(kind, "it was not found"))
  })

const all = (families: ReadonlyArray<Family>) =>
  Effect.map(Effect.all(families), (tools) => tools.flat())

/** Tools from a list of names, or from a record of what each returns. */
const planned = (namespace: string, given: unknown): ReadonlyArray<Plan> =>
  Array.isArray(given)
    ? given.map((name) => ({ namespace, name: String(name) }))
    : isRecord(given)
      ? Object.entries(given).map(([name, says]) => ({ namespace, name, says: String(says) }))
      : []

const registry = (plans: ReadonlyArray<Plan>, ran?: Ran) =>
  Effect.flatMap(all(plans.map((plan) => one(plan, ran))), Registry.make)

const split = (key: unknown): Plan => {
  const [, namespace = "", name = "", version = ""] = /^(.+?)\.([^@]+)@(.+)$/.exec(`${key}`) ?? []
  return { namespace, name, version }
}

const registered = (given: unknown): ReadonlyArray<Plan> =>
  (given as ReadonlyArray<unknown>).map((each) =>
    isRecord(each) ? { ...split(each.key), deprecated: each.deprecated === true } : split(each)
  )

/** Calls a tool through a component over this registry. */
const execute = (found: Registry.Registry<never>, name: string, id = "call-1") =>
  Component.over(found, {}, Component.execute({ id, name }))

const contentOf = (result: ResultMessage): unknown => JSON.parse(result.content ?? "null")

const failing = (making: Effect.Effect<unknown, unknown>, expect: unknown) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(making)
    const text = (error as Error).message
    assert.isAbove(text.length, 0)
    if (isRecord(expect) && typeof expect.error === "string") assert.include(text, expect.error)
    return error
  })

const isError = (expect: unknown): boolean => isRecord(expect) && "error" in expect

/** Calls a tool of local tools over shared ones. */
const layered = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-05 SM-06 SM-07",
  run: Effect.gen(function* () {
    const ran: Ran = []
    const shared = yield* registry(planned("shared", input.shared), ran)
    const local = yield* registry(planned("local", input.local), ran)
    const both = Registry.shadow(shared, local)
    const name = String(input.execute)
    const { missing, result } = yield* execute(both, name, input.callId as string | undefined)
    for (const [key, value] of Object.entries(expect)) {
      if (key === "content") assert.strictEqual(contentOf(result), value)
      else if (key === "errorKind") assert.strictEqual(result.error_kind, value)
      else if (key === "sentinel") assert.strictEqual(missing?._tag, value)
      else if (key === "call_id") assert.strictEqual(result.call_id, value)
      else if (key === "hasResult") assert.strictEqual(result.error !== undefined, value)
      else if (key === "sharedCalled") assert.strictEqual(ran.includes(`shared.${name}`), value)
      else if (key === "sharedStill") {
        assert.strictEqual(contentOf((yield* execute(shared, name)).result), value)
      } else assert.fail(`the driver does not know ${key}`)
    }
  })
})

const components = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-07",
  run: Effect.gen(function* () {
    const shared = yield* registry(planned("shared", input.shared))
    const asked = input.execute as { readonly component: string; readonly tool: string }
    const seen = new Map<string, Registry.Registry<never>>()
    for (const [component, own] of Object.entries(input.localOf as Fields)) {
      seen.set(component, Registry.shadow(shared, yield* registry(planned("local", own))))
    }
    const { result } = yield* execute(seen.get(asked.component)!, asked.tool)
    assert.strictEqual(contentOf(result), expect.content)
  })
})

const wrappers = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-08",
  run: Effect.gen(function* () {
    const inner = planned("shared", input.inner)
    const shared = yield* registry(inner)
    const local = yield* Effect.flatMap(
      wrap(all(inner.map((plan) => one(plan))), ({ args }, next) =>
        Effect.map(next(args), (said) => `${String(input.wrapTag)}:${String(said)}`)
      ),
      Registry.make
    )
    const name = String(input.execute)
    const { result } = yield* execute(Registry.shadow(shared, local), name)
    assert.strictEqual(contentOf(result), expect.content)
    assert.notStrictEqual(contentOf((yield* execute(shared, name)).result), expect.content)
  })
})

const discovered = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-10",
  run: Effect.gen(function* () {
    const shared = yield* registry(planned("shared", input.shared))
    const local = yield* registry(planned("local", input.local))
    const both = Registry.shadow(shared, local)
    const lines = both.discover()
    for (const line of lines) {
      assert.hasAllKeys(line, ["name", "description", "provider", "available"])
      if ("provider" in expect) assert.strictEqual(line.provider, expect.provider)
      if ("available" in expect) assert.strictEqual(line.available, expect.available)
    }
    for (const [key, value] of Object.entries(expect)) {
      const [, name] = /^(\w+)From$/.exec(key) ?? []
      if (name !== undefined) assert.strictEqual(both.get(name)?.spec.namespace, value)
    }
    assert.deepStrictEqual(
      lines.map(({ name }) => name),
      expect.names
    )
  })
})

/** Registers several tools at once: all of them or none. */
const executor = (input: Fields, expect: Fields): Driven => ({
  rows: "SM-09",
  run: Effect.gen(function* () {
    const before = yield* registry(planned("tools", input.shared ?? []))
    const family = yield* all(planned("tools", input.executorTools).map((plan) => one(plan)))
    const registering = Registry.register(before, "executor", family)
    if ("error" in expect) {
      yield* failing(registering, expect)
      if ("registeredAfter" in expect) {
        assert.deepStrictEqual(
          before.all.map(({ spec }) => spec.name),
          expect.registeredAfter
        )
      }
      return
    }
    const after = yield* registering
    for (const { spec } of family) {
      assert.strictEqual(contentOf((yield* execute(after, spec.name)).result), "ok")
    }
    assert.lengthOf(after.discover(), Number(expect.listCount))
  })
})

const keyed = (input: Fields, expect: unknown): Driven => ({
  rows: "SG-05 SG-06 SG-07 SG-58",
  run: Effect.gen(function* () {
    const making = registry(registered(input.register))
    const hasQuestion = "resolve" in input || "namespace" in input || "list" in input
    if (isError(expect) && !hasQuestion) {
      yield* failing(making, expect)
      return
    }
    const found = yield* making
    const keys = (tools: ReadonlyArray<GovernedTool>) => tools.map(({ key }) => key)
    if ("resolve" in input) {
      const resolved = Effect.fromResult(found.resolve(String(input.resolve)))
      if (isError(expect)) yield* failing(resolved, expect)
      else assert.strictEqual((yield* resolved).key, expect)
    } else if ("namespace" in input) {
      assert.deepStrictEqual(keys(found.list(String(input.namespace))), expect)
    } else if (input.list === "selectors") {
      assert.deepStrictEqual(keys(found.list()), expect)
    } else if (isRecord(expect)) {
      assert.deepStrictEqual(keys(found.list()), expect.list)
    } else assert.fail("the driver does not know this expectation")
  })
})

conformance("registry", ({ expect, input }): Driven => {
  if (hasShape(input, ["namespace", "name", "version"])) {
    return {
      rows: "SG-04",
      run: Effect.sync(() => assert.deepStrictEqual({ key: toolKeyOf(input as never) }, expect))
    }
  }
  if (hasShape(input, ["register"], ["namespace", "resolve", "list"])) return keyed(input, expect)
  if (hasShape(input, ["get"], ["shared"])) {
    return {
      rows: "SM-03 SG-55",
      run: Effect.gen(function* () {
        const found = yield* registry(planned("shared", input.shared))
        const name = String(input.get)
        if (isError(expect)) yield* failing(Effect.fromResult(found.resolve(name)), expect)
        else assert.strictEqual(found.get(name) !== undefined, expect === "found")
      })
    }
  }
  if (!isRecord(expect)) return undefined
  if (hasShape(input, ["executorTools"], ["shared"])) return executor(input, expect)
  if (hasShape(input, ["inner", "wrapTag", "execute"])) return wrappers(input, expect)
  if (hasShape(input, ["shared", "localOf", "execute"])) return components(input, expect)
  if (hasShape(input, ["shared", "local", "execute"], ["callId"])) return layered(input, expect)
  if (hasShape(input, ["shared", "local"])) return discovered(input, expect)
  const own = hasShape(input, ["shared"])
    ? input.shared
    : hasShape(input, ["local"])
      ? input.local
      : undefined
  if (own !== undefined) {
    const plans = planned("own", own)
    return {
      rows: "SM-02 SM-04",
      run: Effect.gen(function* () {
        if (isError(expect)) {
          const unnamed = plans.some(({ name }) => name === "")
          const error = yield* failing(registry(plans), unnamed ? { error: true } : expect)
          assert.propertyVal(error, "_tag", unnamed ? "MisdeclaredTool" : "DuplicateTool")
          return
        }
        const lines = (yield* registry(plans)).discover()
        assert.deepStrictEqual(
          lines.map(({ name }) => name),
          expect.list
        )
      })
    }
  }
  return undefined
})
