/** Where people see an approval beside the API. */
import { Context } from "effect"

/** An address in which `{id}` stands for the id of the approval. Undefined = there is none. */
export const ApprovalUrl: Context.Reference<string | undefined> = Context.Reference<
  string | undefined
>("troupe/service/ApprovalUrl", { defaultValue: () => undefined })
