/**
 * The agents that this process can run. Every tool and every specialist is resolved here, at the start, so that a name that
 * resolves to nothing ends the start and not a run.
 */
import { Effect, Layer, Result, Schema } from "effect"
import { Digest } from "effect/crypto"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { Guard } from "../../../src/agent/Guard.ts"
import { declarationOf } from "../../../src/agent/DeclaredAgent.ts"
import type { Declared } from "../../../src/agent/DeclaredAgent.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { AgentDirectory, DeclaredGuards } from "../../../services/AgentDirectory.ts"
import { withoutUndefined } from "../../../src/schema/InvalidInput.ts"
import { DeclaredRoles, idleApprover, unknownRole } from "../../../src/principal/Rights.ts"
import type { MisdeclaredTool } from "../../../src/tool/MisdeclaredTool.ts"
import { misdeclared } from "../../../src/tool/MisdeclaredTool.ts"
import type { Budget } from "../../../src/cost/Budget.ts"
import { graph_model } from "../../../src/graph/ToolGraph.ts"
import { BudgetBook } from "../../../services/BudgetBook.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { misdeclaredPart } from "./DeclaredTurns.ts"
import type { MisdeclaredAgent } from "./ResolvedAgent.ts"
import { idleSpecialists, misdeclaredAgent, resolveAgent } from "./ResolvedAgent.ts"

const decode = Schema.decodeUnknownResult(AgentSpec, { onExcessProperty: "error" })

/** A definition, and its functions where it has some. */
interface Definition {
  readonly spec: AgentSpec
  readonly declared: Declared | undefined
}

/** Decodes a definition, because from JavaScript it may be anything: a limit that is a string would limit nothing. */
export const decodeAgent = (
  given: unknown,
  index: number
): Effect.Effect<Definition, MisdeclaredAgent> => {
  const { declared, spec } = declarationOf(given)
  const read = decode(withoutUndefined(spec))
  const part = declared === undefined ? undefined : misdeclaredPart(declared)
  if (Result.isSuccess(read) && part !== undefined) {
    const { name } = read.success
    const message = part === "context" ? "it is no schema" : "it is neither data nor a function"
    return Effect.fail(misdeclaredAgent(name, part, name, message))
  }
  if (Result.isSuccess(read)) return Effect.succeed({ spec: read.success, declared })
  const named = typeof spec === "object" && spec !== null && "name" in spec ? spec.name : ""
  const agent = truncateUnits(String(named), 64)
  return Effect.fail(
    misdeclaredAgent(agent, `agents.${index}`, agent, truncateUnits(read.failure.message, 500))
  )
}

const uniquelyNamed = Effect.fnUntraced(function* (given: ReadonlyArray<AgentSpec>) {
  const specs = new Map<string, Definition>()
  for (const [index, each] of given.entries()) {
    const definition = yield* decodeAgent(each, index)
    const { name } = definition.spec
    if (specs.has(name)) {
      const message = "two agents have this name"
      return yield* misdeclaredAgent(name, "name", name, message)
    }
    const { kind, memory } = definition.spec
    const scope = kind?.scope
    if (memory !== undefined && scope !== undefined && memory.anchor !== scope) {
      const problem = `the memory of an agent of the kind "${kind?.name}" belongs to its ${scope}`
      return yield* misdeclaredAgent(name, "memory.anchor", memory.anchor, problem)
    }
    specs.set(name, definition)
  }
  return specs
})

/** Fails with the first tool that names an approver whose role there is not, or has no right to decide. */
const checkApprovers = Effect.fnUntraced(function* (
  { all }: ToolRegistry["Service"],
  declared: DeclaredRoles
) {
  for (const { spec } of all) {
    const unknown = unknownRole(spec.approvers, declared)
    const wrong = unknown ?? idleApprover(spec.approvers, declared)
    if (wrong === undefined) continue
    const rights = unknown === undefined ? 'with `decide: "named"`' : "with its rights"
    const fix = `Name one of these, or declare the role ${rights} (\`roles\` of a start)`
    return yield* misdeclared(spec.name, `approvers.${wrong[0]}`, wrong[1], fix)
  }
})

/**
 * Fails with the first guard that has another's name, or names an agent or an approver that there is not. What a guard has judged is
 * known by its name, also after a handoff, so that agents may share a guard, and no name.
 */
const checkGuards = Effect.fnUntraced(function* (
  guards: ReadonlyArray<Guard>,
  definitions: ReadonlyArray<Definition>,
  declared: DeclaredRoles
) {
  const names = definitions.map(({ spec }) => spec.name)
  const known = new Map<string, { readonly guard: Guard; readonly isOwn: boolean }>()
  const placed = (all: ReadonlyArray<Guard>, agent: string) =>
    all.map((guard, at) => ({ agent, guard, field: `guards.${at}` }))
  for (const { agent, field, guard } of [
    ...placed(guards, ""),
    ...definitions.flatMap(({ declared: own, spec }) => placed(own?.guards ?? [], spec.name))
  ]) {
    const { agents = [], approvers, name } = guard
    const isOwn = agent !== ""
    const wrong = unknownRole(approvers, declared) ?? idleApprover(approvers, declared)
    if (wrong !== undefined) {
      return yield* misdeclaredAgent(agent, `${field}.approvers.${wrong[0]}`, name, wrong[1])
    }
    const unknown = agents.find((each) => !names.includes(each))
    const other = known.get(name)
    const isTwice = other !== undefined && !(isOwn && other.isOwn && other.guard === guard)
    known.set(name, { guard, isOwn })
    if (unknown === undefined && !isTwice) continue
    const problem = isTwice
      ? `two guards have this name, "${name}"`
      : `the guard "${name}" is for no agent of this start`
    return yield* misdeclaredAgent(unknown ?? agent, field, unknown ?? name, problem)
  }
})

/** A graph asks no model, so it is under no budget. */
const withBudgets = (agent: ResolvedAgent, declared: ReadonlyArray<Budget>): ResolvedAgent => {
  const budgets = [...declared, ...(agent.spec.budgets ?? [])]
  return budgets.length === 0 || agent.spec.model === graph_model ? agent : { ...agent, budgets }
}

const make = Effect.fnUntraced(function* (given: ReadonlyArray<AgentSpec>) {
  const definitions = [...(yield* uniquelyNamed(given)).values()]
  const registry = yield* ToolRegistry
  const declared_roles = yield* DeclaredRoles
  yield* checkApprovers(registry, declared_roles)
  const guards = yield* DeclaredGuards
  yield* checkGuards(guards, definitions, declared_roles)
  const services = {
    declared_roles,
    guards,
    registry,
    digest: yield* Digest.Digest,
    isPriced: (yield* PriceBook) !== undefined,
    specs: new Map<string, AgentSpec>(definitions.map(({ spec }) => [spec.name, spec]))
  }
  const sorted = definitions.sort((a, b) => (a.spec.name < b.spec.name ? -1 : 1))
  const budgets = yield* BudgetBook
  const all = yield* Effect.forEach(sorted, ({ declared, spec }) =>
    Effect.map(resolveAgent(services, spec, declared), (agent) => withBudgets(agent, budgets))
  )
  for (const warning of idleSpecialists(all)) yield* Effect.logWarning(warning)
  const agents = new Map<string, ResolvedAgent>(all.map((agent) => [agent.spec.name, agent]))
  return AgentDirectory.of({ all, get: (name) => agents.get(name) })
})

export const layer = (
  specs: ReadonlyArray<AgentSpec>
): Layer.Layer<AgentDirectory, MisdeclaredAgent | MisdeclaredTool, ToolRegistry | Digest.Digest> =>
  Layer.effect(AgentDirectory, make(specs))
