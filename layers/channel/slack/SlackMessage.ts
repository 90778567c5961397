/**
 * What people are told, as a message of Slack (https://docs.slack.dev/reference/block-kit): a question has two buttons.
 */
import type { Schema } from "effect"
import { cutText } from "../../../src/value/CutText.ts"
import type { NoticeContent } from "../../../src/delivery/Notice.ts"
import type { ApprovalId } from "../../../src/value/Ids.ts"

/** Of a section's text and of a message's; an escaped character is up to five. */
const section_max = 3_000
const units_max = 550
/** A message has at most 50 blocks. */
const contents_max = 20

export const approve_action = "troupe.approve"
export const deny_action = "troupe.deny"

/** Slack reads these three (https://docs.slack.dev/messaging/formatting-message-text): no text can mention or link. */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** The text of a message, as its user wrote it. */
export const unescaped = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")

/** Pieces that fit a section, whatever is escaped in them. */
const sections = (text: string): ReadonlyArray<Schema.Json> => {
  const pieces: Array<Schema.Json> = []
  let rest = text.toWellFormed()
  while (rest !== "") {
    const whole = escaped(rest)
    const piece = whole.length <= section_max ? rest : cutText(rest, units_max).slice(0, -1)
    rest = rest.slice(piece.length)
    pieces.push({ type: "section", text: { type: "mrkdwn", text: escaped(piece), verbatim: true } })
  }
  return pieces
}

const button = (action_id: string, text: string, style: string, approval: ApprovalId) => ({
  type: "button",
  action_id,
  style,
  text: { type: "plain_text", text },
  value: approval
})

const blocksOf = ({ approval, text }: NoticeContent): ReadonlyArray<Schema.Json> =>
  approval === undefined
    ? sections(text)
    : [
        ...sections(text),
        {
          type: "actions",
          elements: [
            button(approve_action, "Approve", "primary", approval),
            button(deny_action, "Deny", "danger", approval)
          ]
        }
      ]

export interface SlackMessage {
  /** For notifications, where blocks are not shown. */
  readonly text: string
  readonly blocks: ReadonlyArray<Schema.Json>
}

const shortText = (text: string): string => escaped(cutText(text.toWellFormed(), units_max))

export const messageOf = (contents: ReadonlyArray<NoticeContent>): SlackMessage => {
  const shown = contents.slice(0, contents_max)
  const left = contents.length - shown.length
  const more = left === 0 ? [] : sections(`And ${left} more, in the application.`)
  const [first] = shown
  return {
    text: contents.length > 1 ? `${contents.length} messages` : shortText(first?.text ?? ""),
    blocks:
      shown.length > 1
        ? // Several have one section each, so that they fit.
          [...shown.flatMap(({ text }) => sections(cutText(text, units_max))), ...more]
        : shown.flatMap(blocksOf)
  }
}

/** One sentence. */
export const sentenceOf = (text: string): SlackMessage => ({
  text: shortText(text),
  blocks: sections(cutText(text, units_max))
})
