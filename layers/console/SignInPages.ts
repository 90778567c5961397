/** Where people sign in, and what they are told when something cannot be shown. */
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { barePage } from "./Shell.ts"

const signInForm = (path: string, ...content: ReadonlyArray<Child>) =>
  element("form", { method: "post", action: `${path}/sign-in`, class: "panel" }, content)

/** The form for a token. `problem`: why the last try did not succeed. */
export const signInPage = (path: string, problem?: string): Html =>
  barePage(
    path,
    "Sign in",
    problem !== undefined && element("p", { class: "problem", role: "alert" }, problem),
    signInForm(
      path,
      element("label", { for: "token" }, "Token"),
      element("input", {
        id: "token",
        name: "token",
        type: "password",
        autocomplete: "off",
        required: true,
        maxlength: 1_000,
        autofocus: true
      }),
      element(
        "p",
        { class: "quiet small" },
        "A token of the HTTP API. It is sent once and not kept."
      ),
      element("button", { class: "go" }, "Sign in")
    )
  )

/** The page of a link that signs in once. A press uses it, so that a program that looks at the link does not. */
export const linkPage = (path: string, code: string): Html =>
  barePage(
    path,
    "Sign in",
    signInForm(
      path,
      element("input", { type: "hidden", name: "code", value: code }),
      element("p", {}, "This link signs in once."),
      element("button", { class: "go", autofocus: true }, "Sign in")
    )
  )

/** What went wrong, in a page of its own. */
export const problemPage = (
  path: string,
  { detail, title }: { readonly detail: string; readonly title: string }
): Html =>
  barePage(
    path,
    title,
    element("p", { role: "alert" }, detail),
    element("p", {}, element("a", { href: path }, "To the console"))
  )
