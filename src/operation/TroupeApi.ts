/**
 * The HTTP API as a value, from which the server, clients and OpenAPI are derived.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { ApprovalsApi } from "./ApprovalsApi.ts"
import { AuthorizationsApi } from "./AuthorizationsApi.ts"
import { ClientCallsApi } from "./ClientCallsApi.ts"
import { ConversationsApi } from "./ConversationsApi.ts"
import { CostsApi } from "./CostsApi.ts"
import { DraftsApi } from "./DraftsApi.ts"
import { ErasuresApi } from "./ErasuresApi.ts"
import { EventsApi } from "./EventsApi.ts"
import { FilesApi } from "./FilesApi.ts"
import { KillSwitchApi } from "./KillSwitchApi.ts"
import { NoticesApi } from "./NoticesApi.ts"
import { AgentsApi, DeadLettersApi, HealthApi } from "./OperationsApi.ts"
import { QuarantineApi } from "./QuarantineApi.ts"
import { RecordsApi } from "./RecordsApi.ts"
import { RunsApi } from "./RunsApi.ts"
import { TokensApi } from "./TokensApi.ts"

export class TroupeApi extends HttpApi.make("troupe")
  .add(
    ConversationsApi,
    RunsApi,
    ApprovalsApi,
    AuthorizationsApi,
    ClientCallsApi,
    CostsApi,
    AgentsApi,
    DeadLettersApi,
    KillSwitchApi,
    QuarantineApi,
    RecordsApi,
    DraftsApi,
    EventsApi,
    FilesApi,
    NoticesApi,
    TokensApi,
    ErasuresApi,
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
        "Governed agents: send messages, follow runs, decide what waits for a person. Every error is a problem document (RFC 9457)."
    })
  ) {}
