/**
 * A workflow that is stored on the platform, as a tool: chosen by variant or by environment, and resolved to one revision,
 * which the fixed body of its calls names.
 */
import { Result, Schema } from "effect"
import { readJsonValue } from "../entry/BoundedJson.ts"
import { issueText } from "../entry/SchemaIssues.ts"
import type { CallDescriptor } from "./CallDescriptor.ts"
import { WrittenSchema } from "./CallDescriptor.ts"
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

/** The id of the one revision that is run. */
const RevisionId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
export const isRevisionId = Schema.is(RevisionId)

/** What the platform says of a reference. */
const WorkflowRevision = Schema.Struct({
  revision: RevisionId,
  /** JSON Schema of the workflow's own inputs. */
  input_schema: WrittenSchema,
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_000)))
})
export interface WorkflowRevision extends Schema.Schema.Type<typeof WorkflowRevision> {}

const decode = Schema.decodeUnknownResult(WorkflowRevision)

/** A copy of what a host says of a reference; fails with a sentence. */
export const decodeWorkflowRevision = (value: unknown): Result.Result<WorkflowRevision, string> => {
  const read = readJsonValue(value)
  return Result.isFailure(read)
    ? Result.fail(read.failure.message)
    : Result.mapError(decode(read.success), issueText)
}

/** Where the request names the revision. */
export const revision_place = "references.workflow_revision.id"

/** The request that runs a revision: the arguments are its inputs. */
export const invocationOf = (revision: string): CallDescriptor => ({
  method: "POST",
  path: "/api/workflows/invoke",
  body: { references: { workflow_revision: { id: revision } } },
  args_into: "data.inputs"
})
