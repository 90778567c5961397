/** Access tokens: who holds which, made with a role and an end, shown once, and revoked. */
import type { AccessToken, IssuedToken } from "../../src/permission/AccessToken.ts"
import { isInForce } from "../../src/permission/AccessToken.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { listPage } from "./ListPage.ts"
import type { Rejected, View } from "./Shell.ts"
import { form, page } from "./Shell.ts"
import { opening } from "./WordedForm.ts"
import { moment } from "./Words.ts"

const current = "/tokens"

/** How long a token may hold, in days. */
export const days = [1, 7, 30, 90, 365] as const

/** The field of a role. */
export const roleField = (role: string): string => `role-${role}`

/** A page of tokens, and where the next one begins. */
export interface Tokens {
  readonly items: ReadonlyArray<AccessToken>
  readonly next_after?: string
  /** An identity provider has signed in whoever looks. */
  readonly isProvided: boolean
  /** The roles that a token may have here. */
  readonly roles: ReadonlyArray<string>
  /** What asks the API for them. */
  readonly line: string
  readonly rejected?: Rejected
}

const field = (name: string, label: string, typed: Rejected["typed"], more = {}) => [
  element("label", { for: name }, label),
  element("input", { id: name, name, value: typed[name] ?? "", autocomplete: "off", ...more })
]

const roleBox = (role: string, typed: Rejected["typed"]): Html =>
  element(
    "label",
    { class: "box" },
    element("input", {
      type: "checkbox",
      name: roleField(role),
      value: "yes",
      checked: typed[roleField(role)] === "yes"
    }),
    role
  )

const newToken = (view: View, { isProvided, rejected, roles }: Tokens): Html => {
  const typed = rejected?.typed ?? {}
  return opening(
    "New token …",
    { isOpen: typed["decision"] === "create" },
    form(
      view,
      view.path + current,
      { class: "panel talk" },
      field("name", "What is it for?", typed, { required: true, maxlength: 100 }),
      field("principal", "Whose is it? (left out: yours)", typed, { maxlength: 200 }),
      element(
        "fieldset",
        {},
        element("legend", {}, "What may it do? (roles)"),
        element(
          "div",
          { class: "legend" },
          roles.map((role) => roleBox(role, typed))
        )
      ),
      element("label", { for: "days" }, "How long does it hold?"),
      element(
        "select",
        { id: "days", name: "days" },
        days.map((each) =>
          element(
            "option",
            { value: each, selected: String(each) === (typed["days"] ?? "90") },
            each === 1 ? "a day" : `${each} days`
          )
        )
      ),
      element(
        "p",
        { class: "small quiet" },
        `It holds no longer than ${isProvided ? "this session of yours" : "the token with which you signed in"}. Its text is shown once.`
      ),
      element("button", { class: "go", name: "decision", value: "create" }, "Make the token")
    )
  )
}

const standing = (view: View, token: AccessToken): Html => {
  const { expires_at, revoked_at, revoked_by } = token
  if (revoked_at !== undefined) {
    return element("span", { class: "tag bad" }, `revoked by ${revoked_by ?? "nobody"}`)
  }
  return isInForce(token, view.now)
    ? element("span", { class: "tag good" }, "ends ", moment(expires_at, view.now))
    : element("span", { class: "tag" }, "ended ", moment(expires_at, view.now))
}

const revokeForm = (view: View, token: AccessToken): Child =>
  isInForce(token, view.now) &&
  opening(
    "Revoke …",
    { isGrave: true },
    form(
      view,
      `${view.path}${current}/${token.id}/revoke`,
      {},
      element(
        "p",
        { class: "small quiet" },
        "No request that begins from then on may use it, and who signed in with it is signed out."
      ),
      element("button", { class: "no" }, "Revoke")
    )
  )

const tokenRow = (view: View, token: AccessToken): Html => {
  const { created_at, created_by, last_used_at, name, principal, roles } = token
  return element(
    "tr",
    {},
    element("td", { class: "wide" }, element("b", {}, name), revokeForm(view, token)),
    element("td", {}, principal),
    element("td", {}, roles.join(", ")),
    element("td", { class: "line" }, standing(view, token)),
    element(
      "td",
      { class: "num" },
      last_used_at === undefined ? "never" : moment(last_used_at, view.now)
    ),
    element(
      "td",
      { class: "num" },
      moment(created_at, view.now),
      element("p", { class: "small quiet" }, `by ${created_by}`)
    )
  )
}

/** The tokens of the tenant, the newest first. */
export const tokensPage = (view: View, tokens: Tokens): Html => {
  const { items, line, next_after, rejected } = tokens
  return listPage(view, {
    title: "Access tokens",
    current,
    rejected,
    form: newToken(view, tokens),
    columns: ["Token", "Whose", "Roles", "State", "Used", "Made"],
    rows: items.map((each) => tokenRow(view, each)),
    numbersFrom: 4,
    none: [
      "No token was made here yet.",
      "Those that the service was started with are none of these."
    ],
    next_after,
    line
  })
}

/** A token that was made, with its text, which no other page ever has. */
export const issuedPage = (
  view: View,
  { expires_at, name, principal, roles, token }: IssuedToken
): Html =>
  page(
    view,
    { title: "Access tokens", current },
    element(
      "div",
      { class: "panel" },
      element(
        "section",
        {},
        element("h2", {}, name),
        element(
          "p",
          { class: "quiet" },
          `For ${principal}, as ${roles.join(", ")}, until `,
          moment(expires_at, view.now),
          "."
        )
      ),
      element(
        "section",
        {},
        element(
          "p",
          { class: "notice" },
          "Copy it now: it is shown only here, and stored nowhere."
        ),
        element("pre", { tabindex: 0, "aria-label": "Token" }, token)
      ),
      element("div", { class: "actions" }, element("a", { href: view.path + current }, "I have it"))
    )
  )
