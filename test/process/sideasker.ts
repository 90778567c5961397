/**
 * A process with two conversations: in each a run waited for a person, a side run is at work, and a message is behind it. In the
 * second, the run that waited has been decided meanwhile. Argument: its store, as JSON. Prints their runs, and stays.
 */
import { start } from "../../layers/compose/entries/Embed.ts"
import { olga, options } from "./SideShop.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const troupe = await start({ ...options(true), store })

/** Until the run's journal has such an event. */
const happened = async (run: string, tag: string) => {
  for await (const item of troupe.watch(run)) {
    if (item._tag === "Event" && item.entry.event._tag === tag) return
  }
}

const open = async () => {
  const asked = await troupe.ask({ agent: "clerk", text: "pay" })
  const { conversation, run: waiting } = asked
  const approval = asked.status === "awaiting_approval" ? asked.approvals[0]?.id : undefined
  const { run: side } = await troupe.send({ conversation, text: "two" })
  await happened(side, "RunBeside")
  const { run: behind } = await troupe.send({ conversation, text: "three" })
  return { conversation, waiting, approval, side, behind }
}

const first = await open()
const second = await open()
await troupe.decide(second.approval ?? "", { _tag: "Approve" }, olga)
await happened(second.waiting, "CallSettled")
process.stdout.write(`open ${JSON.stringify([first, second])}\n`)
setInterval(() => {}, 1_000)
