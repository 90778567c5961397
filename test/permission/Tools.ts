/** Tools as a policy sees them: a name, a key, who brings them, and what they declare of their arguments. */
import type { JudgedRun } from "../../src/permission/Policy.ts"
import type { Roles } from "../../src/principal/Principal.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"

type Seen = Pick<GovernedTool, "key" | "provider" | "spec">

/** A run whose sender has these roles. */
export const runOf = (roles: Roles): JudgedRun =>
  ({ run: "run-1", tenant: "acme", agent: "a", principal: "olga", roles }) as never as JudgedRun

/** `properties` may be what no schema allows: a server says what it likes. */
export interface Declared {
  readonly properties?: unknown
  readonly rule_arguments?: ReadonlyArray<string>
}

export const toolsNamed = (
  declared: Readonly<Record<string, Declared>>,
  namespace = "test",
  provider?: string
): ReadonlyArray<Seen> =>
  Object.entries(declared).map(([name, { rule_arguments, ...input_schema }]) => {
    const spec = {
      name,
      namespace,
      input_schema,
      ...(rule_arguments === undefined ? undefined : { rule_arguments })
    }
    const tool = { key: `${namespace}.${name}@1`, spec }
    return (provider === undefined ? tool : { ...tool, provider }) as never as Seen
  })
