/** The inbox, and one question in it: what will happen, why it is asked, exactly what will run, and who may decide. */
import type { Approval } from "../../src/approval/Approval.ts"
import { approverRefusal } from "../../src/principal/Rights.ts"
import type { KnownEvents } from "./KnownEvents.ts"
import { eventAddress } from "./KnownEvents.ts"
import { causalChain } from "./CausalChain.ts"
import { apiPart } from "./ApiLine.ts"
import type { ArgumentEditor } from "./ArgumentForm.ts"
import { argumentChanges, argumentForm, changeForm } from "./ArgumentForm.ts"
import type { Child, Html } from "./Html.ts"
import { keyHint } from "./Keys.ts"
import type { Origin } from "./Origins.ts"
import { originsIn } from "./Origins.ts"
import { boundedJson, element, jsonText } from "./Html.ts"
import type { SentBack } from "./Revisions.ts"
import { sentBackBefore } from "./Revisions.ts"
import type { Rejected, View } from "./Shell.ts"
import { emptyList, fact, form, nextPage, page, rejectedNotice } from "./Shell.ts"
import type { Worded } from "./WordedForm.ts"
import { wordedForm } from "./WordedForm.ts"
import { moment, shortId } from "./Words.ts"

/** A page of questions, and where the next one begins. */
export interface Questions {
  readonly items: ReadonlyArray<Approval>
  readonly next_after?: string
  /** What asks the API for what the page shows. Absent = nothing does. */
  readonly line?: string
  /** Stands for the list, for whoever follows it. Absent = it is not followed. */
  readonly mark?: string
}

const hourMs = 3_600_000

const tag = (kind: string, ...content: ReadonlyArray<Child>) =>
  element("span", { class: `tag ${kind}` }, content)

/** How it stands, as a word. */
const standing = ({ decided_by, decision, expires_at, status }: Approval, now: number): Html => {
  if (status === "decided") {
    const words = {
      Approve: "approved",
      Deny: "denied",
      RequestRevision: "sent back",
      Modify: "changed and approved"
    }
    const kind = decision?._tag === "Deny" ? "bad" : "good"
    return tag(
      kind,
      `${decision === undefined ? "decided" : words[decision._tag]} by ${decided_by ?? "nobody"}`
    )
  }
  if (status !== "pending") return tag("", status)
  if (expires_at === undefined) return tag("wait", "waits, without an end")
  return tag(expires_at - now < hourMs ? "bad" : "wait", "expires ", moment(expires_at, now))
}

const listed = (view: View, { id, payload, requested_at, ...rest }: Approval, open?: string) =>
  element(
    "a",
    {
      // By its id it keeps the focus, whatever comes before it.
      id: `question-${id}`,
      href: `${view.path}/inbox/${id}`,
      "aria-current": id === open ? "true" : undefined
    },
    element(
      "div",
      { class: "top" },
      element("b", {}, payload.tool_name),
      element("span", { class: "small quiet" }, moment(requested_at, view.now))
    ),
    element("p", {}, payload.effect_description),
    tag("", payload.agent_name),
    " ",
    rest.expires_at !== undefined && standing({ id, payload, requested_at, ...rest }, view.now)
  )

const list = (view: View, { items }: Questions, open?: string) =>
  element(
    "section",
    { class: "list", "aria-label": "Questions" },
    items.map((each) => listed(view, each, open))
  )

const aside = ({ items, next_after }: Questions): Html =>
  element(
    "span",
    { class: "quiet" },
    items.length === 0
      ? "nothing waits"
      : `${items.length}${next_after === undefined ? "" : " or more"} ${items.length === 1 ? "question waits" : "questions wait"}, the oldest first`
  )

const newer = ({ path }: View, { next_after }: Questions) =>
  nextPage(next_after === undefined ? undefined : `${path}/inbox?after=${next_after}`, "Newer ones")

/** `at`: the page itself, from that of the inbox. */
const followed = ({ path }: View, { mark }: Questions, at = "") =>
  mark === undefined
    ? undefined
    : { page: `${path}/inbox${at}`, news: `${path}/live?of=inbox&after=${mark}` }

/** All questions that wait, with none of them open. */
export const inboxPage = (view: View, questions: Questions): Html =>
  page(
    view,
    {
      title: "Inbox",
      current: "/inbox",
      aside: aside(questions),
      follows: followed(view, questions)
    },
    questions.items.length === 0
      ? emptyList(
          "No question waits for a person.",
          "A tool that changes something asks here first, unless a policy or an authorisation lets it run."
        )
      : list(view, questions),
    newer(view, questions),
    questions.line !== undefined && apiPart(questions.line)
  )

/** Where a value came from, each with the event that has it. */
const originLine = (at: Traced["at"], { found, isWhole, path }: Origin): Html =>
  element(
    "p",
    { class: "small quiet" },
    path !== "" && `${path.slice(1)}: `,
    found.length === 0
      ? element(
          "span",
          { class: "tag wait" },
          isWhole ? "not found in the run: the model's own" : "not found in a part of the run"
        )
      : [
          "in ",
          found.map(({ seq, what }, place) => [
            place > 0 && ", ",
            element("a", { href: at(seq) }, what)
          ])
        ]
  )

/** What says where the values of an argument came from, and the addresses of the run's events. */
interface Traced {
  readonly at: (seq: number) => string
  readonly origins: (argument: unknown) => ReadonlyArray<Origin>
}

const argumentRow = ([name, value]: readonly [string, unknown], traced: Traced | undefined) =>
  element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    element(
      "td",
      {},
      typeof value === "string" ? `“${value}”` : element("code", {}, jsonText(value)),
      traced?.origins(value).map((origin) => originLine(traced.at, origin))
    )
  )

/** What a page has of a call's arguments, or of another value, in UTF-16 units of JSON. */
const arguments_units_max = 500_000

/** The arguments of a call as JSON to edit; undefined = a page has no room for all of it. */
export const editedJson = (args: unknown): string | undefined => {
  const { missing, text } = boundedJson(args, arguments_units_max)
  return missing === 0 ? text : undefined
}

/** JSON as a text. Where a page has no room for its end, it says so. */
export const jsonBlock = (value: unknown): Html => {
  const { missing, text } = boundedJson(value, arguments_units_max)
  return element(
    "div",
    {},
    missing > 0 &&
      element(
        "p",
        { class: "problem", role: "alert" },
        `The last ${missing.toLocaleString("en")} characters are not shown here. The API has all of it.`
      ),
    element("pre", { tabindex: 0 }, text)
  )
}

/** The arguments of a call, one in a line, and where each came from if that is known. */
export const argumentsOf = (args: unknown, traced?: Traced): Html =>
  typeof args === "object" &&
  args !== null &&
  !Array.isArray(args) &&
  jsonText(args).length <= arguments_units_max
    ? element(
        "table",
        { class: "args" },
        Object.entries(args).map((each) => argumentRow(each, traced))
      )
    : jsonBlock(args)

/** What whoever looks may answer. A question about a limit, or by guards, takes fewer answers: a refusal says which. */
const answers = (
  view: View,
  approval: Approval,
  editor: ArgumentEditor | undefined,
  rejected?: Rejected
): Child => {
  const { altered, approvers, client, id, quarantined, status } = approval
  if (status !== "pending" || quarantined === true) return false
  if (client !== undefined) {
    return element("p", { class: "quiet" }, "The client of the conversation answers it.")
  }
  if (approverRefusal(view.principal, "decide", approvers) !== undefined) {
    return element("p", { class: "quiet" }, "You may not decide this one.")
  }
  const action = `${view.path}/inbox/${id}`
  const one = (given: Worded) => wordedForm(view, action, given, rejected)
  const deny = one({
    decision: "deny",
    key: "d",
    isGrave: true,
    name: "reason",
    opens: "Deny …",
    label: "Why not? The agent reads it."
  })
  if (altered === true) return deny
  return [
    form(
      view,
      action,
      {},
      element(
        "button",
        { class: "go", name: "decision", value: "approve" },
        "Approve",
        keyHint("a")
      )
    ),
    deny,
    one({
      decision: "request_revision",
      key: "r",
      name: "note",
      opens: "Ask for a revision …",
      label: "What should be different? The agent reads it."
    }),
    editor !== undefined && argumentForm(view, action, editor, rejected)
  ]
}

const spoken = (
  { arguments: args, decided_at, decided_by, decided_via, decision }: Approval,
  now: number
): Child => {
  if (decision === undefined || decided_by === undefined) return false
  const said = decision._tag === "Deny" ? decision.reason : decision.note
  return element(
    "p",
    {},
    element("b", {}, decided_by),
    decided_via !== undefined && ` through ${decided_via}`,
    " ",
    decided_at !== undefined && element("span", { class: "quiet" }, moment(decided_at, now)),
    said !== undefined && `: “${said}”`,
    decision._tag === "Modify" && argumentChanges(args, decision.arguments)
  )
}

const warnings = ({ altered, quarantined }: Approval): Child => [
  altered === true &&
    element(
      "p",
      { class: "problem", role: "alert" },
      "The record was changed in the database since its run asked. It can be denied, and not approved."
    ),
  quarantined === true &&
    element(
      "p",
      { class: "problem", role: "alert" },
      "The run's journal does not fold: nobody can decide until an operator has released it."
    )
]

const facts = (view: View, approval: Approval): Html => {
  const {
    agent,
    approvers,
    arguments: args,
    asked_by,
    asked_via,
    conversation,
    digest,
    payload,
    requested_at,
    run_id,
    tool_key
  } = approval
  return element(
    "dl",
    { class: "facts" },
    fact(
      "Agent",
      agent === undefined || agent === payload.agent_name
        ? payload.agent_name
        : `${agent} › ${payload.agent_name}`
    ),
    fact("Tool", element("code", {}, tool_key)),
    fact("Asked", moment(requested_at, view.now)),
    asked_by !== undefined &&
      fact("For", asked_via === undefined ? asked_by : `${asked_by} through ${asked_via}`),
    conversation !== undefined &&
      fact(
        "Conversation",
        element("a", { href: `${view.path}/conversations/${conversation}` }, shortId(conversation))
      ),
    fact("Run", element("a", { href: `${view.path}/runs/${run_id}` }, shortId(run_id))),
    fact("Digest", shortId(digest)),
    fact("May decide", approvers.length === 0 ? "any approver or operator" : approvers.join(", ")),
    args === null && fact("Arguments", "none")
  )
}

/** What a proposal changed after the one before was sent back. */
const sentBack = (before: SentBack | undefined, args: unknown): Child =>
  before !== undefined &&
  element(
    "section",
    {},
    element("h3", {}, "What changed since it was sent back"),
    element("p", {}, element("b", {}, before.by), `: “${before.note}”`),
    argumentChanges(before.arguments, args)
  )

/** What differs from the proposal, to be confirmed. Nothing was decided yet. */
export const changePage = (
  view: View,
  { arguments: args, id, payload }: Approval,
  {
    changed,
    editor,
    sent
  }: {
    readonly changed: unknown
    readonly editor: ArgumentEditor
    readonly sent: Readonly<Record<string, string>>
  }
): Html =>
  page(
    view,
    { title: "Change and run", current: "/inbox" },
    element(
      "article",
      { class: "panel", "aria-label": "Changes" },
      element(
        "section",
        {},
        element("h2", {}, payload.effect_description),
        element(
          "p",
          { class: "quiet" },
          `${payload.agent_name} proposes ${payload.tool_name}. Nothing is decided yet.`
        )
      ),
      element("section", {}, element("h3", {}, "What changes"), argumentChanges(args, changed)),
      element(
        "div",
        { class: "actions" },
        changeForm(view, `${view.path}/inbox/${id}`, editor, sent)
      )
    )
  )

/** A question, and what its page has beside it. */
export interface Question {
  readonly approval: Approval
  /** The events of its run, for why it is asked. */
  readonly events: KnownEvents
  /** What changes its arguments. Absent = nothing does, or a page has no room for them. */
  readonly editor?: ArgumentEditor
  readonly rejected?: Rejected
}

/** One question beside the list. */
export const questionPage = (
  view: View,
  questions: Questions,
  { approval, editor, events, rejected }: Question
): Html => {
  const { entries } = events
  const { arguments: args, call, id, payload } = approval
  // What follows the page keeps the form that was asked for.
  const asJson = editor?.parts === undefined && editor?.other !== undefined ? "?as=json" : ""
  const { agent_name: agent, effect_description, tool_name: tool } = payload
  return page(
    view,
    {
      title: "Inbox",
      current: "/inbox",
      aside: aside(questions),
      // What was refused is on this page alone.
      follows: rejected === undefined ? followed(view, questions, `/${id}${asJson}`) : undefined
    },
    element(
      "div",
      { class: "split" },
      list(view, questions, id),
      element(
        "article",
        { class: "panel", "aria-label": "Question" },
        element(
          "section",
          {},
          element(
            "div",
            { class: "top" },
            element("h2", {}, effect_description),
            standing(approval, view.now)
          ),
          warnings(approval),
          rejectedNotice(rejected)
        ),
        element(
          "section",
          {},
          element("h3", {}, "Why it is asked"),
          causalChain(entries, { agent, call, tool })
        ),
        element(
          "section",
          {},
          element("h3", {}, "Exactly what will run"),
          argumentsOf(args, {
            at: (seq) => eventAddress(`${view.path}/runs/${approval.run_id}`, seq, events),
            origins: originsIn(events, call)
          })
        ),
        sentBack(sentBackBefore(entries, approval), args),
        element("section", {}, facts(view, approval), spoken(approval, view.now)),
        element("div", { class: "actions" }, answers(view, approval, editor, rejected))
      )
    ),
    newer(view, questions),
    questions.line !== undefined && apiPart(questions.line)
  )
}
