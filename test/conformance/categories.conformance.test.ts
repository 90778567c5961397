import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { ToolGroup } from "../../src/tool/ToolGroup.ts"
import { groupOf, known_groups, read_only_groups } from "../../src/tool/ToolGroup.ts"
import { decodeComponentConfig, exploringGroups } from "../../src/semstreams/ComponentConfig.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Case, Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

const declared = (name: string, group?: ToolGroup) =>
  tool(
    {
      namespace: "test",
      name,
      side_effects: "read",
      ...(group === undefined ? undefined : { group })
    },
    () => null
  ).spec

const isGroup = (value: unknown): value is ToolGroup =>
  typeof value === "string" && known_groups.includes(value)
const isReadOnly = (name: string): boolean => /^(is_?)?read_?-?only/i.test(name)
const namesIn = (value: unknown): ReadonlyArray<string> | undefined => {
  const list = Array.isArray(value) ? value : [value]
  return list.length > 0 && list.every((each) => typeof each === "string") ? list : undefined
}

/** What a case demands of the groups, or of what is shown to an agent that only explores. */
interface Demand {
  readonly how: "are" | "include" | "exclude"
  readonly names: ReadonlyArray<string>
}

const howOf = (word: string): Demand["how"] | undefined => {
  const plain = word.replaceAll(/[_-]/g, "").replace(/^(expect|must|should|does|do)+/i, "")
  if (/^(not|no|never|exclu|without|omit|lack|absent|hid|deni)/i.test(plain)) return "exclude"
  if (/^(inclu|contain|has|have|with|allow|show|see)/i.test(plain)) return "include"
  return /^(are|is|equals?|set|categories|groups)?$/i.test(plain) ? "are" : undefined
}

/** A list is the whole set; a record has a list for each word, such as `excludes`. Undefined = it says nothing of this kind. */
const demandsOf = (word: string, value: unknown): ReadonlyArray<Demand> | undefined => {
  if (isRecord(value)) {
    const all = Object.entries(value).map(([inner, list]) => demandsOf(inner, list))
    return all.length > 0 && !all.includes(undefined) ? all.flatMap((each) => each!) : undefined
  }
  const how = howOf(word)
  const names = namesIn(value)
  return how === undefined || names === undefined ? undefined : [{ how, names }]
}

/** A question whether the set has these names, answered with true, false or a word such as `excluded`. */
const answerTo = (
  names: ReadonlyArray<string>,
  expect: unknown
): ReadonlyArray<Demand> | undefined => {
  const how = typeof expect === "string" ? howOf(expect) : expect === true ? "include" : "exclude"
  const isAnswer = typeof expect === "boolean" || (typeof expect === "string" && how !== "are")
  return isAnswer && how !== undefined ? [{ how, names }] : undefined
}

/** What a case says of the read-only groups, in all of its members `expect...`; undefined = it is of another shape. */
const readOnlyDemands = (each: Case): ReadonlyArray<Demand> | undefined => {
  const { input } = each
  const name = typeof input === "string" ? input : isRecord(input) ? Object.keys(input)[0] : ""
  if (name === undefined || !isReadOnly(name)) return undefined
  const asked = isRecord(input) ? input[name] : undefined
  if (isRecord(input) && Object.keys(input).length > 1) return undefined
  const names = namesIn(asked)
  if (names !== undefined) return answerTo(names, each.expect)
  if (asked !== undefined && asked !== null && asked !== true) return undefined
  const said = Object.entries(each).filter(([member]) => member.startsWith("expect"))
  const all = said.map(([member, value]) => demandsOf(member, value))
  return all.length > 0 && !all.includes(undefined) ? all.flatMap((some) => some!) : undefined
}

/** The groups and the tools that a real run shows to an exploring agent, of one tool for each group and of these. */
const shownOf = Effect.fnUntraced(function* (names: ReadonlyArray<string>) {
  const shown = new Set<string>()
  const body = () => Effect.succeed(null)
  const governance = { side_effects: "read" } as const
  const ofGroups = known_groups.map(
    (group) => [`of_${group}`, { governance: { ...governance, group }, body }] as const
  )
  const named = names.filter((name) => !isGroup(name))
  yield* Stage.stage(
    {
      tools: Object.fromEntries([
        ...ofGroups,
        ...named.map((name) => [name, { governance, body }] as const)
      ]),
      ...exploringGroups(yield* decodeComponentConfig({ enable_categories: true })),
      script: ({ tools }) => {
        for (const { name } of tools) shown.add(name.replace(/^of_/, ""))
        return text("done")
      }
    },
    Stage.begin
  )
  return shown
})

const meetsAll = Effect.fnUntraced(function* (demands: ReadonlyArray<Demand>) {
  const shown = yield* shownOf(demands.flatMap(({ names }) => names))
  const groups: ReadonlySet<string> = new Set(read_only_groups)
  assert.sameMembers([...shown].filter(isGroup), [...groups])
  for (const { how, names } of demands) {
    if (how === "are") assert.sameMembers([...groups], [...names])
    else for (const name of names) assert.strictEqual(shown.has(name), how === "include", name)
  }
})

conformance(
  "categories",
  (each): Driven => {
    const { expect, input } = each
    const demands = readOnlyDemands(each)
    if (demands !== undefined) return { rows: "SM-82 SM-83", run: meetsAll(demands) }
    const named: readonly [string, ToolGroup?] | undefined =
      typeof input === "string" && !isReadOnly(input)
        ? [input]
        : hasShape(input, ["register"])
          ? (input.register as [string, ToolGroup])
          : undefined
    // A tool without a name cannot be declared, so that the rule is asked directly.
    if (input === "") {
      return {
        rows: "SM-81",
        run: Effect.sync(() => assert.strictEqual(groupOf({ name: input }), expect))
      }
    }
    return named === undefined
      ? undefined
      : {
          rows: "SM-81 SM-84",
          run: Effect.gen(function* () {
            assert.strictEqual(groupOf(yield* declared(...named)), expect)
          })
        }
  },
  /^expect/
)
