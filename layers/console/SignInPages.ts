/** Where people sign in, and what they are told when something cannot be shown. */
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import { barePage } from "./Shell.ts"

/** What went wrong, for people. */
export interface Trouble {
  readonly status: number
  readonly title: string
  readonly detail: string
}

const signInForm = (path: string, ...content: ReadonlyArray<Child>) =>
  element("form", { method: "post", action: `${path}/sign-in`, class: "panel" }, content)

/**
 * The form for a token, and the way to an identity provider of this name. `problem`: why the last try did not succeed; `page`: what
 * was asked for before.
 */
export const signInPage = (
  path: string,
  {
    page,
    problem,
    provider
  }: { readonly page: string; readonly problem?: string; readonly provider?: string | undefined }
): Html =>
  barePage(
    path,
    "Sign in",
    problem !== undefined && element("p", { class: "problem", role: "alert" }, problem),
    provider !== undefined &&
      element(
        "p",
        { class: "panel" },
        element(
          "a",
          { class: "go", href: `${path}/sign-in/provider?${new URLSearchParams({ to: page })}` },
          `Sign in with ${provider}`
        )
      ),
    signInForm(
      path,
      element("input", { type: "hidden", name: "to", value: page }),
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

/** Where somebody is signed out here and not yet at the provider of this name. The page leads there by itself. */
export const signedOutPage = (path: string, provider: string, address: string): Html =>
  barePage(
    path,
    "Signed out",
    // A redirect from a form would be one of the form, which goes nowhere but here.
    element("meta", { "http-equiv": "refresh", content: `0;url=${address}` }),
    element("p", {}, "You are signed out here."),
    element("p", {}, element("a", { href: address }, `Sign out of ${provider} too`))
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
