import { Schema } from "effect"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)
const shop = agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const token = "4c6a8e0d2f4b7b0a3c5e9d1f48e2a6c8"

const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")]),
  http: { port: 0, console: true, tokens: [{ token, principal: olga }] }
})
// People open `${troupe.url}/console`, sign in with the token, and decide there.
const { run } = await troupe.ask({ agent: "shop", text: "Pay order 1003 back" }, olga)

// What a browser does, without one: it signs in, reads the question, and sends its form.
const form = (path: string, fields: Record<string, string>, cookie = "") =>
  fetch(troupe.url + path, {
    method: "POST",
    redirect: "manual",
    headers: { cookie },
    body: new URLSearchParams(fields)
  })
const signedIn = await form("/console/sign-in", { token })
const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? ""
const inbox = await (await fetch(`${troupe.url}/console/inbox`, { headers: { cookie } })).text()
const form_key = /name="form_key" value="(\w+)"/.exec(inbox)?.[1] ?? ""
const question = /\/console\/inbox\/[\w-]+/.exec(inbox)?.[0] ?? ""
console.log((await form(question, { form_key, decision: "approve" }, cookie)).status)
console.log((await troupe.result(run)).text)
await troupe.stop()

// Output:
// 303
// It is paid back.
