/** A page with a chat as the AI SDK's documentation has it: `useChat`, its messages, and buttons for what waits for an answer. */
import { useChat } from "@ai-sdk/react"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import type { UIMessage } from "ai"
import { createElement as h, useState } from "react"
import { createRoot } from "react-dom/client"

export interface Given {
  readonly api: string
  readonly token: string
  readonly id: string
  /** Whether the page goes on with a run that is at work. */
  readonly resume: boolean
  /** What the service has of the chat. */
  readonly messages: Array<UIMessage>
}

type Part = UIMessage["parts"][number]
type Answer = (answer: { readonly id: string; readonly approved: boolean }) => unknown

const shown = (part: Part, at: number, answer: Answer) => {
  if (part.type === "text") return h("p", { key: at }, part.text)
  if (part.type !== "dynamic-tool") return null
  const { approval, state, toolName } = part
  const asks = state === "approval-requested" && approval !== undefined
  return h("div", { key: at, className: "call" }, [
    h("span", { key: "state" }, `${toolName} ${state}`),
    ...(asks
      ? [true, false].map((approved) =>
          h(
            "button",
            { key: String(approved), onClick: () => answer({ id: approval.id, approved }) },
            approved ? "Approve" : "Deny"
          )
        )
      : [])
  ])
}

const Page = ({ api, id, messages: initial, resume, token }: Given) => {
  const [text, setText] = useState("")
  const { addToolApprovalResponse, error, messages, sendMessage, status } = useChat({
    id,
    messages: initial,
    resume,
    transport: new DefaultChatTransport({ api, headers: { authorization: `Bearer ${token}` } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  })
  return h("main", {}, [
    ...messages.map(({ id, parts, role }) =>
      h(
        "section",
        { key: id, className: role },
        parts.map((part, at) => shown(part, at, addToolApprovalResponse))
      )
    ),
    h("output", { key: "status" }, error === undefined ? status : String(error.message)),
    h(
      "form",
      {
        key: "form",
        onSubmit: (event: { readonly preventDefault: () => void }) => {
          event.preventDefault()
          void sendMessage({ text })
          setText("")
        }
      },
      h("input", {
        value: text,
        onChange: (event: { readonly target: { readonly value: string } }) =>
          setText(event.target.value)
      })
    )
  ])
}

/** Shows the chat in an element. Gives what takes it away. */
export const mount = (element: Element, given: Given): (() => void) => {
  const root = createRoot(element)
  root.render(h(Page, given))
  return () => root.unmount()
}
