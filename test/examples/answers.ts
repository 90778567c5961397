import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"
import * as z from "zod"

const Ticket = z.object({ order: z.string(), urgent: z.boolean() })
const support = AgentSpec.make({ name: "support", instructions: "Sort what customers write." })
const model = scripted([text('{"order":"1003","urgent":true}')])

const troupe = await start({ agents: [support], model })
const question = { agent: "support", text: "Order 1003 is wet, and the party is today!" }
const answer = await troupe.ask({ ...question, answer: Ticket })
if (answer.status === "complete") console.log(answer.value.order, answer.value.urgent)
else console.log(answer.status)
await troupe.stop()

// Output:
// 1003 true
