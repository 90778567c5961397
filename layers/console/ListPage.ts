/** A page of a list: what can be done with it, its rows or what would stand there, what follows, and the line for the API. */
import { apiPart } from "./ApiLine.ts"
import type { Following } from "./Following.ts"
import type { Child, Html } from "./Html.ts"
import type { PagePath, Rejected, View } from "./Shell.ts"
import { emptyList, nextPage, page, rejectedNotice, table } from "./Shell.ts"

/** A list as its page has it. */
export interface Listed {
  readonly title: string
  readonly current: PagePath
  /** A form above it that was sent and refused. */
  readonly rejected?: Rejected | undefined
  /** The form above it. Absent = none. */
  readonly form?: Html
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<Html>
  /** From which column on they are numbers. */
  readonly numbersFrom: number
  /** What stands in place of no rows, and more. */
  readonly none: readonly [what: string, more: string]
  /** Where the next page begins. Absent = there is none. */
  readonly next_after?: string | undefined
  /** What it follows. Absent = it stays as it is. */
  readonly follows?: Following
  /** What asks the API for it. */
  readonly line: string
}

export const listPage = (view: View, listed: Listed): Html => {
  const { columns, current, follows, form, line, next_after, none, numbersFrom } = listed
  const { rejected, rows, title } = listed
  const next: Child =
    next_after !== undefined &&
    nextPage(`${view.path}${current}?${new URLSearchParams({ after: next_after })}`)
  return page(
    view,
    { title, current, follows },
    rejectedNotice(rejected),
    form,
    rows.length === 0 ? emptyList(...none) : table(columns, rows, numbersFrom),
    next,
    apiPart(line)
  )
}
