/**
 * The HTTP API as a value, from which the server, clients and OpenAPI are derived.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import * as ApprovalOperations from "./ApprovalOperations.ts"
import * as AuthorizationOperations from "./AuthorizationOperations.ts"
import * as BulkOperations from "./BulkOperations.ts"
import * as ClientCallOperations from "./ClientCallOperations.ts"
import { ConversationsApi } from "./ConversationsApi.ts"
import * as CostOperations from "./CostOperations.ts"
import * as ErasureOperations from "./ErasureOperations.ts"
import { groupOf } from "./Endpoint.ts"
import { EventsApi } from "./EventsApi.ts"
import { FilesApi } from "./FilesApi.ts"
import * as KillSwitchOperations from "./KillSwitchOperations.ts"
import * as MemoryOperations from "./MemoryOperations.ts"
import * as NoticeOperations from "./NoticeOperations.ts"
import * as DeadLetterOperations from "./DeadLetterOperations.ts"
import * as AgentOperations from "./AgentOperations.ts"
import { HealthApi } from "./HealthApi.ts"
import * as QuarantineOperations from "./QuarantineOperations.ts"
import * as RunOperations from "./RunOperations.ts"
import * as StandingOperations from "./StandingOperations.ts"
import * as TokenOperations from "./TokenOperations.ts"
import * as ToolOperations from "./ToolOperations.ts"
import * as WebhookOperations from "./WebhookOperations.ts"

export class TroupeApi extends HttpApi.make("troupe")
  .add(
    ConversationsApi,
    groupOf("runs", "Runs", RunOperations),
    groupOf("approvals", "Approvals", ApprovalOperations),
    groupOf("authorizations", "Authorisations", AuthorizationOperations),
    groupOf("clientCalls", "Client calls", ClientCallOperations),
    groupOf("costs", "Costs", CostOperations),
    groupOf("agents", "Agents", AgentOperations),
    groupOf("deadLetters", "Dead letters", DeadLetterOperations),
    groupOf("bulk", "Bulks", BulkOperations),
    groupOf("killSwitch", "Kill switch", KillSwitchOperations),
    groupOf("standing", "How the service stands", StandingOperations),
    groupOf("quarantine", "Quarantine", QuarantineOperations),
    EventsApi,
    FilesApi,
    groupOf("notices", "Channels and notices", NoticeOperations),
    groupOf("memories", "Memories", MemoryOperations),
    groupOf("tools", "Tools and their policy", ToolOperations),
    groupOf("tokens", "Tokens", TokenOperations),
    groupOf("webhooks", "Webhooks", WebhookOperations),
    groupOf("erasures", "Erasures", ErasureOperations),
    HealthApi
  )
  // An unknown member is a mistake or a false claim (`approved_by`), so it is refused; all issues are reported
  // together.
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Troupe",
      version: "1",
      description:
        "Governed agents: send messages, follow runs, decide what waits for a person. Every error is a problem document (RFC 9457). A token whose role says so acts for a user with the header On-Behalf-Of: the user's id, percent-encoded, and roles other than customer as in `anna; roles=approver viewer`."
    })
  ) {}
