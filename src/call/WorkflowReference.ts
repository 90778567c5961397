/**
 * A workflow that is stored on the platform, as a tool: chosen by variant or by environment, and resolved to one revision,
 * which the fixed body of its calls names.
 */
import type { JsonObject } from "./BodyPath.ts"
import type { CallDescriptor } from "./CallDescriptor.ts"
import type { ReferenceTool } from "./ToolConfig.ts"

/** `workflow.variant.{slug}[.{version}]` or `workflow.environment.{environment}.{slug}`. */
export const referenceIdentity = ({
  environment,
  ref_by = "variant",
  slug,
  version
}: ReferenceTool): string =>
  ref_by === "environment"
    ? `workflow.environment.${environment ?? ""}.${slug}`
    : `workflow.variant.${slug}${version === undefined ? "" : `.${version}`}`

export const referenceName = ({ name, slug }: ReferenceTool): string => name ?? slug

/** What the platform says of a reference. */
export interface WorkflowRevision {
  /** The id of the one revision that is run. */
  readonly revision: string
  /** JSON Schema of the workflow's own inputs. */
  readonly input_schema: JsonObject
  readonly description?: string
}

/** The request that runs a revision: the arguments are its inputs. */
export const invocationOf = (revision: string): CallDescriptor => ({
  method: "POST",
  path: "/api/workflows/invoke",
  body: { references: { workflow_revision: { id: revision } } },
  args_into: "data.inputs"
})
