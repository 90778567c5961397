import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import * as z from "zod"

const send = tool(
  {
    namespace: "mail",
    name: "send",
    description: "Sends a letter.",
    side_effects: "external",
    input: z.object({ to: z.string(), body: z.string() })
  },
  async ({ to, body }) => `sent to ${to}: ${body}`
)
const clerk = AgentSpec.make({ name: "clerk", instructions: "Answer letters.", tools: ["send"] })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const model = scripted([call("send", { to: "Olga", body: "No." }), text("It is sent.")])
const troupe = await start({ agents: [clerk], tools: [send], model })

// The thread is the conversation. Nothing has to be compiled, and no interrupt thrown: the tool asks before it runs.
const thread = { agent: "clerk", conversation: "thread-1" }
const { run, status } = await troupe.ask({ ...thread, text: "Answer Olga" })
console.log(status)

// `Command({ resume })`: the call goes on with these arguments, and nothing before it runs again.
const [question] = await troupe.pending(boss)
const edited = { to: "Olga", body: "Not yet." }
await troupe.decide(question!.id, { decision: "modify", arguments: edited }, boss)
console.log((await troupe.result(run)).text)

// `getStateHistory`: what happened, in order.
for (const { event } of await troupe.runEvents(run)) {
  if (event._tag === "ApprovalDecided") console.log(event.decision._tag, "by", event.by)
  if (event._tag === "CallSettled" && event.outcome._tag === "Value")
    console.log(event.outcome.json)
}
await troupe.stop()

// Output:
// awaiting_approval
// It is sent.
// Modify by boss
// "sent to Olga: Not yet."
