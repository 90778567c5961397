/**
 * Decides approvals by amending the run, so that of several decisions at once one wins, whichever process and channel they
 * come from. A decision is durable when that amendment commits; then the run goes on in one of three ways:
 *
 * - Its actor waits in this process: `OpenQuestions.completeQuestion` completes the `Deferred` that the actor's fiber awaits.
 * - Its actor waits in another process: the journal notifies that process of the amendment (`DecisionWait`).
 * - It is parked, or its process has restarted: the amendment claims it for this process, if that may run it, and starts its
 *   actor with what was read; or it wakes another process (`Recovery.ts`). Where the notification is lost, a sweep finds the run.
 */
import { Clock, Effect, Exit, Layer, Result, Cause } from "effect"
import { Digest } from "effect/crypto"
import type { Approval, ClientAnswer, Decision } from "../../../src/approval/Approval.ts"
import {
  ApprovalAltered,
  ApprovalNotFound,
  ClientResultRefused,
  clientCallOf
} from "../../../src/approval/Approval.ts"
import { shownByRequest, differencesOf } from "../../../src/approval/ShownApproval.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import { isOpenTo } from "../../../src/conversation/CustomerView.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { ApprovalId, ConversationId } from "../../../src/value/Ids.ts"
import { begunBy, hiding } from "../../../src/principal/HiddenReason.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { answerClient } from "../../../src/run/ClientAnswer.ts"
import type { Amendment } from "../../../src/run/RunCommand.ts"
import { decideApproval, expireApproval } from "../../../src/run/RunCommand.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { questionOf } from "../../../src/run/RunState.ts"
import { spanned } from "../../../src/value/Telemetry.ts"
import { truncateUnits, isBeyondBytes } from "../../../src/value/CutText.ts"
import { bounds_result, readJsonValue } from "../../../src/value/BoundedJson.ts"
import type { Outcome } from "../../../src/run/RunEvent.ts"
import { jsonSchemaCheck } from "../../../src/tool/ToolCodec.ts"
import { refusalPath, refusalText } from "../../../src/schema/SchemaIssues.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { ApprovalRecords } from "../../../services/ApprovalRecords.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import { RunReader } from "../../../services/RunReader.ts"
import { RunObservers, ToolCallObservers } from "../../../services/RunObserver.ts"
import { boundDigest, shownDigest } from "../tool/CallDigests.ts"
import { callCatching } from "../fiber/Catching.ts"
import { makeFaultReporter } from "../tool/FaultReport.ts"
import { invalidToolArguments } from "../tool/GateRefusal.ts"
import type { OnDurable } from "../feed/Observers.ts"
import { amend, observeCalls, observeRuns } from "../feed/Observers.ts"
import * as OpenQuestions from "./OpenQuestions.ts"

/** Of a result as JSON, in UTF-8. */
const client_result_bytes_max = 1_000_000

type ClientOutcome = Extract<Outcome, { readonly _tag: "Value" | "Failed" }>

const problem_units_max = 500

/**
 * The outcome that a client gives to a call, checked as the result of any other tool is: bounds, then the schema that the call
 * was requested with. `readJsonValue` has copied the value, so that nobody changes it meanwhile.
 */
const clientOutcome = (
  { client, id }: Approval,
  answer: ClientAnswer
): Effect.Effect<ClientOutcome, ClientResultRefused> =>
  Effect.gen(function* () {
    const refuse = (problem: string) =>
      new ClientResultRefused({ id, message: truncateUnits(problem, problem_units_max) })
    if ("error" in answer) {
      return {
        _tag: "Failed",
        error: {
          class: "ToolTerminalError",
          kind: "external",
          reason: "CLIENT_FAILED",
          message: answer.error
        }
      } satisfies ClientOutcome
    }
    const read = readJsonValue(answer.result, bounds_result)
    if (Result.isFailure(read)) return yield* refuse(read.failure.message)
    const json = JSON.stringify(read.success)
    if (isBeyondBytes(json, client_result_bytes_max)) {
      return yield* refuse(`a result has at most ${client_result_bytes_max} bytes`)
    }
    const check = jsonSchemaCheck(client?.output_schema ?? {})
    if (Result.isFailure(check)) return yield* refuse("its schema cannot be checked")
    const checked = check.success(read.success)
    if (Exit.isFailure(checked)) return yield* refuse(refusalText(Cause.squash(checked.cause)))
    return { _tag: "Value", json } satisfies ClientOutcome
  })

const pendingLimit = Entries.limitUpTo(500)

/** Stands for the outcome of an answer to a question that takes none, and is refused. */
const no_outcome = { _tag: "Value", json: "null" } as const

interface Services {
  readonly agents: Pick<AgentDirectory["Service"], "get">
  readonly conversations: ConversationStore["Service"]
  readonly journal: RunJournal["Service"]
  readonly reader: RunReader["Service"]
  readonly records: ApprovalRecords["Service"]
  readonly questions: OpenQuestions.OpenQuestions["Service"]
  readonly digest: Digest.Digest["Service"]
  readonly onDurable: OnDurable
}

/** A record as people were shown it, with the digest of what that is. */
interface ShownRecord {
  readonly record: Approval
  readonly digest: string
}

/**
 * Decides only on a record that says what the run requested. A denial counts whatever was shown, because nothing runs for it;
 * a question that the run does not have is refused by `decideApproval`.
 */
const unlessAltered = <A, E>(
  state: RunState,
  { digest, record }: ShownRecord,
  decision: Decision | "answer",
  decide: () => Amendment<A, E>
): Amendment<A, E | ApprovalAltered> => {
  const request = questionOf(state, record.id)
  const isDenial = decision !== "answer" && decision._tag === "Deny"
  if (request === undefined || isDenial) return decide()
  const fields = differencesOf(
    record,
    shownByRequest(record.run_id, state.accepted.tenant, request)
  )
  const isAltered =
    fields.length > 0 ||
    record.shown_digest !== request.shown_digest ||
    (request.shown_digest !== undefined && request.shown_digest !== digest)
  if (!isAltered) return decide()
  const altered = fields.length > 0 ? fields : ["shown_digest"]
  return {
    events: [],
    answer: Result.fail(new ApprovalAltered({ id: record.id, fields: altered }))
  }
}

/** The tenant's record. */
const recordOf = Effect.fnUntraced(function* (
  { records }: Services,
  id: ApprovalId,
  by: Principal
) {
  const record = yield* records.get(id)
  if (record?.tenant !== by.tenant) return yield* new ApprovalNotFound({ id })
  return record
})

/** What the tool of the question says to arguments in the place of its own; undefined = it reads them, or is not here. */
const unfitArguments = (
  { agents }: Services,
  { payload: { agent_name }, tool_key }: Approval,
  given: unknown
): InvalidInput | undefined => {
  for (const tool of agents.get(agent_name)?.tools.values() ?? []) {
    if (tool.key !== tool_key) continue
    const read = callCatching(tool.decode, given, undefined, Exit.die)
    if (Exit.isSuccess(read)) return undefined
    const path = refusalPath(Cause.squash(read.cause))
    const { message: reason } = invalidToolArguments(tool, given, read)
    return new InvalidInput({ field: ["decision", "arguments", ...path].join("."), reason })
  }
  return undefined
}

/**
 * Changed arguments that the tool cannot read are refused while its question is open: a person can correct them, and a decision
 * that was taken is not given back. Where this process does not host the agent the gate refuses them, which reads them again.
 */
const failIfUnfit = (
  services: Services,
  record: Approval,
  decision: Decision
): Effect.Effect<void, InvalidInput> => {
  if (decision._tag !== "Modify" || record.status !== "pending") return Effect.void
  const unfit = unfitArguments(services, record, decision.arguments)
  return unfit === undefined ? Effect.void : Effect.fail(unfit)
}

const decideRecord = Effect.fnUntraced(function* (
  services: Services,
  record: Approval,
  decision: Decision,
  by: Principal
) {
  const { digest, journal, onDurable, questions } = services
  const { call, id, run_id } = record
  yield* failIfUnfit(services, record, decision)
  const shown = { record, digest: yield* shownDigest(digest, record) }
  const bound = yield* boundDigest(digest, record, decision)
  yield* amend(journal, onDurable, run_id, (state, now) =>
    unlessAltered(state, shown, decision, () =>
      decideApproval(state, { call, approval: id, decision, by, digest: bound }, now)
    )
  ).pipe(
    Effect.tap(() =>
      Effect.sync(() => OpenQuestions.completeQuestion(questions, run_id, id, decision))
    ),
    // The caller may be interrupted in between: what is durable is observed all the same.
    Effect.uninterruptible,
    Effect.catchTag("RunNotFound", () => new ApprovalNotFound({ id })),
    Effect.tapErrorTag("ApprovalAltered", ({ fields, message }) =>
      Effect.annotateLogs(Effect.logError(message), { approval: id, run: run_id, fields })
    )
  )
})

/** Runs of one conversation that are looked at: they go on one after the other, so that one of them waits. */
const runs_max = 100
/** Calls of one run that are listed. */
const calls_max = 100

/** Oldest first. For a customer a conversation that it did not begin is not there. */
const clientCallsOf = Effect.fnUntraced(function* (
  { conversations, reader, records }: Services,
  id: ConversationId,
  by: Principal
) {
  const { tenant } = by
  const found = yield* conversations.read(tenant, id)
  if (found === undefined) return yield* new ConversationNotFound({ id })
  if (!isOpenTo(by, "answer", found.begun_by)) {
    return yield* hiding(begunBy(found.begun_by), new ConversationNotFound({ id }))
  }
  const heads = yield* reader.unfinished(tenant, found.address, runs_max)
  const lists = yield* Effect.forEach(
    heads.filter(({ conversation }) => conversation === id),
    ({ run_id }) =>
      records.list({ tenant, run_id, status: "pending", kind: "client", limit: calls_max })
  )
  return lists.flat().flatMap((record) => clientCallOf(record) ?? [])
})

const answerRecord = Effect.fnUntraced(function* (
  { digest, journal, onDurable, questions }: Services,
  record: Approval,
  answer: ClientAnswer,
  by: Principal
) {
  const { id, run_id } = record
  const shown = { record, digest: yield* shownDigest(digest, record) }
  // What the record was changed to is compared with what the run asked before the result counts.
  const outcome = yield* record.client === undefined
    ? Effect.succeed(no_outcome)
    : clientOutcome(record, answer)
  yield* amend(journal, onDurable, run_id, (state, now) =>
    unlessAltered(state, shown, "answer", () => answerClient(state, id, outcome, by, now))
  ).pipe(
    Effect.tap(() => Effect.sync(() => OpenQuestions.dropQuestions(questions, run_id, "amended"))),
    // The caller may be interrupted in between: what is durable is observed all the same.
    Effect.uninterruptible,
    Effect.catchTag("RunNotFound", () => new ApprovalNotFound({ id }))
  )
})

/** Reads what the caller gave, and decides. */
const decideAs = Effect.fnUntraced(function* (
  services: Services,
  ...[id, decision, by]: Parameters<ApprovalDesk["Service"]["decide"]>
) {
  const which = yield* Entries.approvalId(id, "id")
  const what = yield* Entries.decision(decision, "decision")
  const who = yield* Entries.entitled(by, "decide")
  yield* decideRecord(services, yield* recordOf(services, which, who), what, who)
})

/** Closes one question whose time is over. False: its run could not be amended now, and a later sweep tries again. */
const expireRecord = (
  { journal, onDurable }: Services,
  { call, id, run_id }: Approval
): Effect.Effect<boolean> =>
  amend(journal, onDurable, run_id, (state, now) => expireApproval(state, call, id, now)).pipe(
    Effect.catchTag(["RunNotFound", "RunQuarantined"], () => Effect.void),
    Effect.as(true),
    Effect.catchTag("JournalError", ({ message }) =>
      Effect.logWarning(`a question whose time is over stays open: ${message}`).pipe(
        Effect.annotateLogs({ approval: id, run: run_id }),
        Effect.as(false)
      )
    )
  )

const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const report = yield* makeFaultReporter
  const services: Services = {
    agents: yield* AgentDirectory,
    conversations: yield* ConversationStore,
    journal: yield* RunJournal,
    reader: yield* RunReader,
    records: yield* ApprovalRecords,
    questions: yield* OpenQuestions.OpenQuestions,
    digest: yield* Digest.Digest,
    onDurable: observeRuns(
      yield* RunObservers,
      observeCalls(yield* ToolCallObservers, clock, report),
      report
    )
  }
  const { records } = services
  return ApprovalDesk.of({
    get: Effect.fn("ApprovalDesk.get")(function* (id, by) {
      const which = yield* Entries.approvalId(id, "id")
      const { tenant } = yield* Entries.entitled(by, "inspect")
      const record = yield* records.read(tenant, which)
      return record ?? (yield* new ApprovalNotFound({ id: which }))
    }),
    decide: spanned("ApprovalDesk.decide", (id, decision, by) =>
      decideAs(services, id, decision, by)
    ),
    pending: Effect.fn("ApprovalDesk.pending")(function* (by, limit, after) {
      const { tenant } = yield* Entries.entitled(by, "inspect")
      return yield* records.list({
        tenant,
        status: "pending",
        kind: "approval",
        limit: yield* pendingLimit(limit, "limit"),
        after: after === undefined ? undefined : yield* Entries.approvalId(after, "after")
      })
    }),
    clientCalls: Effect.fn("ApprovalDesk.clientCalls")(function* (conversation, by) {
      const which = yield* Entries.conversationId(conversation, "conversation")
      return yield* clientCallsOf(services, which, yield* Entries.entitled(by, "answer"))
    }),
    answer: Effect.fn("ApprovalDesk.answer")(function* (id, answer, by) {
      const which = yield* Entries.approvalId(id, "id")
      const what = yield* Entries.clientAnswer(answer, "answer")
      const who = yield* Entries.entitled(by, "answer")
      yield* answerRecord(services, yield* recordOf(services, which, who), what, who)
    }),
    expire: Effect.fn("ApprovalDesk.expire")(function* (limit) {
      const now = clock.currentTimeMillisUnsafe()
      const overdue = yield* records.overdue(now, limit)
      const closed = yield* Effect.filter(overdue, (record) => expireRecord(services, record))
      return closed.length < limit ? yield* records.nextExpiry(now) : now
    })
  })
})

export const layer: Layer.Layer<
  ApprovalDesk,
  never,
  | AgentDirectory
  | ApprovalRecords
  | ConversationStore
  | Digest.Digest
  | OpenQuestions.OpenQuestions
  | RunJournal
  | RunReader
> = Layer.effect(ApprovalDesk, make)
