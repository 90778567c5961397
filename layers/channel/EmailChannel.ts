/**
 * Delivers notices by e-mail over SMTP. It needs the package `nodemailer`, which is loaded when the adapter is built. A message
 * has the same Message-ID at every attempt, so that a mailbox that already has it shows it once.
 */
import { Context, Effect, Redacted, Schema } from "effect"
import type { SentMessageInfo, Transporter } from "nodemailer"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import { email, isMailbox } from "../../src/conversation/ChannelBinding.ts"
import { isPlainText } from "../../src/value/Ids.ts"
import { cutText } from "../../src/value/CutText.ts"
import type { NoticeContent } from "../../src/delivery/Notice.ts"
import type { ChannelAdapter, Outgoing } from "./NotificationService.ts"

/** The mail server, and how this process signs in to it. */
export class EmailConfig extends Context.Service<
  EmailConfig,
  {
    /** The name or address of the SMTP server. */
    readonly host: string
    /** Its port, 1 to 65,535: usually 465 or 587. */
    readonly port: number
    /** True = TLS from the first byte (port 465). Absent = STARTTLS, which the server must offer. */
    readonly secure?: boolean | undefined
    /** True = continue without TLS if the server offers none; only for a server on this machine. Absent = no. */
    readonly plain?: boolean | undefined
    /** The name to sign in with. Absent = no sign-in. */
    readonly user?: string | undefined
    /** The password of `user`. Never logged. */
    readonly password?: Redacted.Redacted | undefined
    /** The sender, such as `Troupe <troupe@example.com>`. */
    readonly from: string
    /** How long the server may be silent, in ms; absent = 10,000. */
    readonly timeout_ms?: number | undefined
  }
>()("troupe/layers/channel/EmailConfig") {}

/** The package `nodemailer` is not installed. */
export class EmailDriverMissing extends Schema.TaggedError<EmailDriverMissing>()(
  "EmailDriverMissing",
  {
    /** The command that installs it. */
    message: Schema.String
  }
) {}

/** The configuration is invalid. */
export class EmailMisconfigured extends Schema.TaggedError<EmailMisconfigured>()(
  "EmailMisconfigured",
  {
    /** The member of `EmailConfig` at fault. */
    field: Schema.String,
    /** What is wrong with it, and what to write instead. */
    message: Schema.String
  }
) {}

/** What is not set would not fail a start: without a host, mails and the password would go to this machine. */
const wrongIn = ({ from, host, port }: EmailConfig["Service"]): EmailMisconfigured | undefined => {
  if (host.trim() === "") return new EmailMisconfigured({ field: "host", message: "it is empty" })
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    return new EmailMisconfigured({ field: "port", message: "it is a number from 1 to 65535" })
  }
  if (isPlainText(from) !== true) {
    return new EmailMisconfigured({ field: "from", message: "it has a control character" })
  }
  return from.includes("@")
    ? undefined
    : new EmailMisconfigured({ field: "from", message: "it has no address" })
}

const timeout_ms_default = 10_000
const subject_max = 120

const load = Effect.tryPromise({
  try: () => import("nodemailer"),
  catch: () => new EmailDriverMissing({ message: "e-mail needs a package: npm install nodemailer" })
})

/** By SMTP status: 4xx is transient, 5xx is permanent (RFC 5321, section 4.2.1). Any other error is a connection problem. */
const failureOf = (error: unknown): DeliveryFailed | DeliveryRefused => {
  const { code, responseCode } = Object(error) as {
    readonly code?: unknown
    readonly responseCode?: unknown
  }
  if (typeof responseCode === "number" && responseCode >= 500 && code !== "EAUTH") {
    return new DeliveryRefused({ message: `the mail server refused the message (${responseCode})` })
  }
  const why = typeof responseCode === "number" ? String(responseCode) : String(code ?? "no answer")
  return new DeliveryFailed({
    message: `the mail server did not take the message (${/^[A-Z0-9_]{1,32}$/.test(why) ? why : "no answer"})`
  })
}

const firstLine = (text: string): string =>
  cutText(text.split(/\r|\n/, 1)[0]?.trim() ?? "", subject_max)

const subjects: Partial<Record<NoticeContent["kind"], string>> = {
  question: "A question",
  settled: "No longer open"
}

const subjectOf = ([first, ...more]: ReadonlyArray<NoticeContent>): string => {
  if (more.length > 0) return `${more.length + 1} messages`
  const about = subjects[first?.kind ?? "answer"] ?? `From ${first?.agent ?? "an agent"}`
  return cutText(`${about}: ${firstLine(first?.text ?? "")}`, subject_max)
}

const textOf = (contents: ReadonlyArray<NoticeContent>): string =>
  contents
    .map(({ agent, approval, conversation, kind, text }) =>
      [
        text,
        approval === undefined || kind !== "question"
          ? ""
          : `\nDecide it in the application: approval ${approval}.`,
        `\n-- \n${agent}, conversation ${conversation}`
      ].join("\n")
    )
    .join("\n\n")
    .toWellFormed()

/** The headers that give all messages of one conversation the same ancestor, so that a mailbox shows them together. */
const threadOf = ([first, ...more]: ReadonlyArray<NoticeContent>, host: string) => {
  if (first === undefined || more.length > 0) return {}
  const root = `<${encodeURIComponent(first.conversation)}@${host}>`
  return { inReplyTo: root, references: root }
}

const send = (
  transport: Transporter<SentMessageInfo>,
  from: string,
  { address, contents }: Outgoing,
  id: string
) => {
  const host = from.replace(/^.*@/, "").replace(/[^A-Za-z0-9.-].*$/, "")
  return Effect.tryPromise({
    try: () =>
      transport.sendMail({
        from,
        to: { name: "", address },
        subject: subjectOf(contents),
        text: textOf(contents),
        messageId: `<${id}@${host}>`,
        ...threadOf(contents, host),
        // No answer of a machine comes back (RFC 3834).
        headers: { "Auto-Submitted": "auto-generated" },
        disableFileAccess: true,
        disableUrlAccess: true
      }),
    catch: failureOf
  })
}

/**
 * The channel `email`: sends each notice or digest as one mail. Fails to build if the driver is missing or the configuration
 * wrong.
 */
export const adapter: Effect.Effect<
  ChannelAdapter,
  EmailDriverMissing | EmailMisconfigured,
  EmailConfig
> = Effect.gen(function* () {
  const config = yield* EmailConfig
  const wrong = wrongIn(config)
  if (wrong !== undefined) return yield* wrong
  const { from, host, plain = false, port, secure = false } = config
  const { timeout_ms = timeout_ms_default } = config
  const { createTransport } = yield* load
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && !plain,
    ignoreTLS: plain,
    ...(config.user === undefined
      ? undefined
      : {
          auth: {
            user: config.user,
            pass: config.password === undefined ? "" : Redacted.value(config.password)
          }
        }),
    connectionTimeout: timeout_ms,
    greetingTimeout: timeout_ms,
    socketTimeout: timeout_ms
  })
  return {
    name: email,
    deliver: (outgoing, { id }) =>
      isMailbox(outgoing.address)
        ? // A mail cannot be changed: another one of its thread says how its question ended.
          Effect.as(send(transport, from, outgoing, id), id)
        : Effect.fail(new DeliveryRefused({ message: "the address is no mailbox" }))
  }
})
