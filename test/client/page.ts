/** A page that talks to an agent: what is written in it, what the agent answers, a button for a question, and a file. */
import { createClient } from "../../layers/compose/entries/Client.ts"

const token = decodeURIComponent(location.hash.slice(1))
const client = createClient({ url: "/agents", token })

const add = (tag: string, text: string): HTMLElement => {
  const element = document.createElement(tag)
  element.textContent = text
  document.body.append(element)
  return element
}

const ask = async (text: string, files: ReadonlyArray<File>) => {
  const said = add("p", "")
  try {
    const parts = await Promise.all(files.map((file) => client.upload(file)))
    const message = { agent: "clerk", text, ...(parts.length > 0 && { parts }) }
    for await (const part of client.stream(message)) {
      if (part.type === "text") said.textContent += part.text
      if (part.type === "event" && part.event._tag === "ApprovalRequested") {
        const { approval: id, payload } = part.event
        const button = add("button", `Approve ${payload.args_summary}`)
        button.addEventListener("click", () => void client.decide(id, { decision: "approve" }))
      }
      if (part.type !== "end") continue
      add("output", part.answer.status)
      const { items } = await client.conversations({ limit: 1 })
      add("output", `in ${items.length} conversation`)
      for (const { digest } of parts) {
        const file = await client.file(part.answer.conversation, digest)
        add("output", `a file of ${file.size} bytes, ${file.type}`)
      }
    }
  } catch (error) {
    add("output", String((error as { readonly _tag?: string })._tag ?? error))
  }
}

const form = document.querySelector("form")!
form.addEventListener("submit", (event) => {
  event.preventDefault()
  const [text, file] = form.querySelectorAll("input")
  void ask(text!.value, [...(file!.files ?? [])])
})
