/**
 * A tool as a policy judges it: the facts that it reads, and whether its calls may be authorised in advance.
 */
import type { GovernedTool } from "../tool/GovernedTool.ts"
import { readOnlyHintOf } from "../tool/SideEffects.ts"
import { isDispatched } from "../tool/ToolSpec.ts"
import type { Policy, Subject } from "./Policy.ts"
import { alwaysAsks, permissionByCall } from "./Policy.ts"

type Judged = Pick<GovernedTool, "client" | "decode" | "key" | "permission" | "provider" | "spec">

/** The facts of a tool that a policy judges. */
export const policySubjectOf = ({ decode, key, permission, provider, spec }: Judged): Subject => {
  const declared =
    permission === undefined ? spec.permission : permissionByCall(spec.name, permission, decode)
  const properties = spec.input_schema["properties"]
  return {
    name: spec.name,
    key,
    category: spec.category,
    read_only: readOnlyHintOf(spec.side_effects),
    arguments: typeof properties === "object" && properties !== null ? Object.keys(properties) : [],
    ...(spec.rule_arguments === undefined ? undefined : { rule_arguments: spec.rule_arguments }),
    ...(declared === undefined ? undefined : { permission: declared }),
    ...(spec.approval === undefined ? undefined : { approval: spec.approval }),
    ...(provider === undefined ? undefined : { server: provider })
  }
}

/** May calls be authorised in advance? Not where a person is always asked, nor without a dispatch that would say so. */
export const mayBeAuthorized = (policy: Policy, tool: Judged): boolean =>
  !alwaysAsks(policy, policySubjectOf(tool)) && isDispatched(tool.spec) && tool.client === undefined
