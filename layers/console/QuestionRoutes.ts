/** The routes of the inbox: its questions, and the decisions on them. */
import { Effect, Predicate, Result, Schema } from "effect"
import type { Approval } from "../../src/approval/Approval.ts"
import { DecisionPayload } from "../../src/approval/Approval.ts"
import * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import { approverRefusal } from "../../src/principal/Rights.ts"
import type { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { readJson } from "../../src/value/BoundedJson.ts"
import { isSameJson } from "../../src/value/Canonical.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { knownEvents } from "./KnownEvents.ts"
import { apiLine } from "./ApiLine.ts"
import { argumentParts, argumentsIn, fieldsIn } from "./ArgumentFields.ts"
import type { ArgumentEditor } from "./ArgumentForm.ts"
import { lists, markOf } from "./FollowedLists.ts"
import { changePage, editedJson, inboxPage, questionPage } from "./QuestionPages.ts"
import type { Rejected } from "./Shell.ts"
import type { Asked, Page, Surface } from "./SignedPages.ts"
import {
  decoded,
  doneOr,
  followedPage,
  html,
  nothingHere,
  pageQuery,
  perform,
  queryOf,
  signedPage,
  to
} from "./SignedPages.ts"

const questionsOf = (asked: Asked) =>
  Effect.flatMap(pageQuery(asked, ApprovalOperations.list.query), (query) =>
    perform(operations.approvals, query, asked)
  )

/** The list of questions with its mark, where it is the first page, which is the one that is followed. */
const followedQuestions = Effect.fnUntraced(function* (asked: Asked) {
  const questions = yield* questionsOf(asked)
  if (Object.hasOwn(queryOf(asked, ["after"]), "after")) return questions
  return { ...questions, mark: yield* markOf(lists.inbox, questions) }
})

const inbox = followedPage((asked) =>
  Effect.map(followedQuestions(asked), (questions) => {
    const line = apiLine(asked, ApprovalOperations.list, queryOf(asked, ["after"]))
    return inboxPage(asked.view, { ...questions, line })
  })
)

/** What the arguments of a question that waits are edited with: fields, or JSON where the address or the form asks for it. */
const editorFor = Effect.fnUntraced(function* (asked: Asked, approval: Approval) {
  const { arguments: args, client, id, status, tool_key } = approval
  const json = status === "pending" && client === undefined ? editedJson(args) : undefined
  if (json === undefined) return undefined
  const { items } = yield* perform(operations.tools, {}, asked)
  const schema = items.find(({ key }) => key === tool_key)?.input_schema
  const parts = argumentParts(schema, args)
  if (parts === undefined) return { json } satisfies ArgumentEditor
  const path = `${asked.view.path}/inbox/${id}`
  const isJson = queryOf(asked, ["as"])["as"] === "json" || "arguments" in asked.fields
  const editor: ArgumentEditor = isJson
    ? { json, other: path }
    : { json, parts, other: `${path}?as=json` }
  return editor
})

const questionWith = Effect.fnUntraced(function* (
  asked: Asked,
  approval: Approval,
  editor: ArgumentEditor | undefined,
  rejected?: Rejected
) {
  const questions = yield* followedQuestions(asked)
  const events = yield* knownEvents(asked, approval.run_id)
  const line = apiLine(asked, { path: `/v1/approvals/${approval.id}` }, {})
  return questionPage(
    asked.view,
    { ...questions, line },
    {
      approval,
      events,
      ...defined({ editor, rejected })
    }
  )
})

/** The question that an address names, with what edits its arguments. */
const questionAt = Effect.fnUntraced(function* (asked: Asked) {
  const { id } = yield* decoded(ApprovalOperations.get.params, asked.params, nothingHere)
  const approval = yield* perform(operations.approval, { id }, asked)
  return { approval, editor: yield* editorFor(asked, approval) }
})

const question = signedPage((asked) =>
  Effect.flatMap(questionAt(asked), ({ approval, editor }) => questionWith(asked, approval, editor))
)

/** Why a form is no decision: for all of it, and for its fields by their names. */
type Unread = Omit<Rejected, "typed">

const unread = (message: string): Unread => ({ message })

/** The arguments that a form has sent. */
const argumentsOf = (
  { fields }: Asked,
  editor: ArgumentEditor | undefined
): Result.Result<unknown, Unread> => {
  const { arguments: json } = fields
  if (json !== undefined) {
    return Result.mapError(readJson(json), ({ message }) =>
      unread(`The arguments are not JSON that can be read: ${message}.`)
    )
  }
  if (editor?.parts === undefined) return Result.fail(unread("There are no arguments."))
  return Result.mapError(argumentsIn(editor.parts, fields), (problems) => ({
    message: "Some fields cannot be read. Nothing was changed.",
    places: Object.fromEntries(problems.map(({ message, name }) => [name, message]))
  }))
}

/** The decision of a form. */
const decisionOf = (
  asked: Asked,
  editor: ArgumentEditor | undefined
): Result.Result<DecisionPayload, Unread> =>
  Result.gen(function* () {
    const { decision, note, reason } = asked.fields
    const args = decision === "modify" ? yield* argumentsOf(asked, editor) : undefined
    const given = { decision, ...defined({ reason, note, arguments: args }) }
    return yield* Result.mapError(
      Schema.decodeUnknownResult(DecisionPayload)(given),
      ({ message }) => unread(message)
    )
  })

/** The fields that a refusal of arguments is about: the one at its place, or the one in which that place is. */
const placesOf = (
  { field, reason }: InvalidInput,
  editor: ArgumentEditor | undefined
): Rejected["places"] => {
  const wanted = field.split(".").slice(2).join(".")
  const found = fieldsIn(editor?.parts ?? []).find(({ path }) =>
    `${wanted}.`.startsWith(`${path.join(".")}.`)
  )
  return found === undefined ? {} : { [found.name]: reason }
}

/** The page of what would change, or of the question where it cannot. */
const preview = Effect.fnUntraced(function* (
  asked: Asked,
  approval: Approval,
  editor: ArgumentEditor | undefined
) {
  const { fields, view } = asked
  const refusal = approverRefusal(view.principal, "decide", approval.approvers)
  if (refusal !== undefined) return yield* Effect.fail(refusal)
  // It was answered meanwhile.
  if (editor === undefined) return to(`${view.path}/inbox/${approval.id}`)
  const again = (rejected: Unread) =>
    Effect.map(questionWith(asked, approval, editor, { ...rejected, typed: fields }), (page) =>
      html(page, 422)
    )
  const read = argumentsOf(asked, editor)
  if (Result.isFailure(read)) return yield* again(read.failure)
  if (isSameJson(approval.arguments, read.success)) {
    return yield* again(unread("Nothing was changed. Approve it as it is, or change something."))
  }
  return html(changePage(view, approval, { changed: read.success, editor, sent: fields }))
})

const decide = (surface: Surface) =>
  signedPage(
    Effect.fnUntraced(function* (asked: Asked) {
      const { fields, view } = asked
      const { approval, editor } = yield* questionAt(asked)
      const again = (rejected: Unread, status: number) =>
        Effect.flatMap(questionAt(asked), (now) =>
          Effect.map(
            questionWith(asked, now.approval, now.editor, { ...rejected, typed: fields }),
            (page) => html(page, status)
          )
        )
      if (fields["decision"] === "preview") return yield* preview(asked, approval, editor)
      if (fields["decision"] === "edit") return yield* again({}, 200)
      const read = decisionOf(asked, editor)
      if (Result.isFailure(read)) return yield* again(read.failure, 422)
      return yield* doneOr(
        surface,
        Effect.as(
          perform(operations.decide, { id: approval.id, ...read.success }, asked),
          to(`${view.path}/inbox/${approval.id}`)
        ),
        (message, status, error) => again({ message, ...placedBy(error, editor) }, status)
      )
    })
  )(surface)

const placedBy = (error: unknown, editor: ArgumentEditor | undefined): Pick<Unread, "places"> =>
  Predicate.isTagged(error, "InvalidInput")
    ? defined({ places: placesOf(error as InvalidInput, editor) })
    : {}

/** The inbox, one question, and the decision on it. */
export const questions: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/inbox", answer: inbox },
  { method: "GET", path: "/console/inbox/:id", answer: question },
  { method: "POST", path: "/console/inbox/:id", answer: decide }
]
