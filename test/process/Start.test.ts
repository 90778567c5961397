/** The walk of `npm start` and `npm run chat`, with the real processes of both. */
import { cpSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import { bundled, runnable } from "./Bundle.ts"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import { isFull } from "../Long.ts"

const order = "5f2c7d1e-93ab-4c04-8e6d-000000001001"

/** A model from the environment of whoever runs the tests would not follow the script. */
const unset = { TROUPE_MODEL: "", TROUPE_MODEL_BASE_URL: "", TROUPE_DATABASE_URL: undefined }

/** The first process of each script is what users start; in `npm test`, and after it, its bundle, which starts with less. */
const started = isFull ? runnable : bundled
const launch = (data: string, form = bundled) =>
  Children.start("scripts/start.ts", [], { ...unset, TROUPE_DATA: data, TROUPE_PORT: "0" }, form)

/** The service when it is up and has nothing more to say. */
const up = Effect.fnUntraced(function* (data: string, form = bundled) {
  const child = yield* launch(data, form)
  yield* child.printed("npm run chat")
  return child
})

const textOf = (data: string, name: string) => readFileSync(join(data, name), "utf8").trim()

const chatOf = (form: typeof bundled) =>
  Effect.fnUntraced(function* (data: string, ...args: ReadonlyArray<string>) {
    const env = { TROUPE_URL: textOf(data, "url"), TROUPE_TOKEN: textOf(data, "token") }
    const child = yield* Children.start("scripts/chat.ts", args, env, form)
    const { code } = yield* child.ended
    return { code, text: child.text() }
  })
const chat = chatOf(bundled)

const get = (data: string, path: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${textOf(data, "url")}${path}`, {
      headers: { authorization: `Bearer ${textOf(data, "token")}` }
    })
    assert.strictEqual(response.status, 200)
    return (await response.json()) as { readonly items: ReadonlyArray<unknown> }
  })

/** What the receiver has written down, outside of the service's database. */
const received = (data: string) => {
  const log = join(data, "receiver", "received.log")
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []
}

/** A data directory whose database is made already. */
const home = Effect.gen(function* () {
  const data = join(yield* Homes.temporary, "data")
  const store = yield* Homes.directory
  mkdirSync(data)
  if ("directory" in store) cpSync(store.directory, join(data, "db"), { recursive: true })
  return data
})

const pending = Effect.fnUntraced(function* (data: string) {
  const { code, text } = yield* chat(data, "--pending")
  assert.strictEqual(code, 0, text)
  return text.trim().split("\n")
})

it.live(
  "ST-04 ST-45 a stuck event is proposed, the service is stopped and killed while the approval waits, and approving delivers it once",
  () =>
    Effect.gen(function* () {
      const data = yield* home
      const first = yield* up(data, started)
      // What kill -9 is given, where other services run on the machine too.
      assert.include(first.text(), `process         ${first.pid}\n`)
      // The chat finds the service with what is printed.
      assert.include(first.text(), `TROUPE_DATA=${data} npm run chat -- --conversation walk`)
      // An error is what an operator has to see to: the dead letters, announced, and no part of the walk.
      const errors = first.text().split(" level=ERROR ")
      assert.include(errors[0], "the log has an error for each, as it would for yours:\n")
      assert.lengthOf(
        errors.filter((each) => each.includes("a message became a dead letter")),
        3
      )
      assert.lengthOf(errors, 4)
      const token = textOf(data, "token")
      assert.include(first.text(), token)
      // Held open, so that no later file can have its number.
      const address = openSync(join(data, "url"), "r")

      const second = yield* launch(data)
      assert.strictEqual((yield* second.ended).code, 1)
      assert.include(second.text(), `did not start: ${join(data, "db")} is in use by process`)
      assert.notMatch(second.text(), /^\s+at /m)

      const asked = yield* chatOf(started)(data, "--message", "Replay order 1001")
      assert.strictEqual(asked.code, 0, asked.text)
      assert.include(asked.text, "--approve ")
      const [line] = yield* pending(data)
      const [id, tool] = line!.split("\t")
      assert.strictEqual(tool, "replay_dlq_event")

      if (isFull) {
        yield* first.signal("SIGTERM")
        assert.deepStrictEqual(yield* first.ended, { code: 143, signal: null }, first.text())
        const third = yield* up(data)
        assert.deepStrictEqual(yield* pending(data), [line])
        yield* third.kill
      } else yield* first.kill

      const last = yield* up(data)
      assert.include(last.text(), "A question waits for a person")
      assert.notInclude(last.text(), "What is stuck?")
      // It is another file: who read it meanwhile has read all of the old one.
      assert.notStrictEqual(statSync(join(data, "url")).ino, fstatSync(address).ino)
      assert.notInclude(last.text(), token)
      assert.include(last.text(), join(data, "token"))
      assert.deepStrictEqual(yield* pending(data), [line])
      assert.notInclude(received(data), `accepted ${order}`)
      const [approval] = (yield* get(data, "/v1/approvals")).items as ReadonlyArray<{
        readonly run_id: string
      }>
      const approved = yield* chat(data, "--approve", id!)
      assert.strictEqual(approved.code, 0, approved.text)
      const again = yield* chat(data, "--approve", id!)
      assert.strictEqual(again.code, 1)

      yield* delivered(data)
      yield* tells(data, approval!.run_id, id!)

      assert.notInclude(last.text(), "level=ERROR")

      yield* last.signal("SIGINT")
      assert.deepStrictEqual(yield* last.ended, { code: 130, signal: null }, last.text())
    }),
  180_000
)

if (isFull) {
  it.live(
    "an operator is asked in the walk with the Spectral Agent and in that with a world's agent",
    () =>
      Effect.gen(function* () {
        const data = yield* home
        yield* up(data)
        for (const [agent, message, tool, answer] of [
          ["spectral", "Scan every week", "change_configuration", '"scan_schedule":"weekly"'],
          ["world-advertising", "Propose a rule", "propose_rule_candidate", "no rule has changed"]
        ] as const) {
          const asked = yield* chat(data, "--agent", agent, "--message", message)
          assert.strictEqual(asked.code, 0, asked.text)
          const [line] = yield* pending(data)
          const [id, name] = line!.split("\t")
          assert.strictEqual(name, tool)
          const approved = yield* chat(data, "--approve", id!)
          assert.strictEqual(approved.code, 0, approved.text)
          assert.include(approved.text, answer)
        }
      }),
    180_000
  )

  it.live(
    "a start after all events of the walk were delivered says so, and how to begin anew",
    () =>
      Effect.gen(function* () {
        const data = yield* home
        const first = yield* up(data)
        assert.notInclude(first.text(), "were delivered")
        const asked = yield* chat(data, "--message", "Replay all of them")
        assert.strictEqual(asked.code, 0, asked.text)
        for (const line of yield* pending(data)) {
          const approved = yield* chat(data, "--approve", line.split("\t")[0]!)
          assert.strictEqual(approved.code, 0, approved.text)
        }
        yield* delivered(data, 3)
        yield* first.kill
        const last = yield* up(data)
        assert.include(
          last.text(),
          `All events of the incident were delivered. To begin anew, stop this process and remove ${data}.`
        )
        assert.include(last.text(), `TROUPE_DATA=${data} npm run chat -- --conversation walk`)
        assert.notInclude(last.text(), "dead letters")
      }),
    180_000
  )
}

/** As many orders were accepted, from 1001 on; each once. */
const delivered = (data: string, orders = 1) =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 400 && received(data).length < orders; tries++) {
      yield* Effect.sleep("25 millis")
    }
    const ids = Array.from({ length: orders }, (_, i) => order.replace(/1$/, `${i + 1}`))
    assert.deepStrictEqual(
      received(data).sort(),
      ids.map((id) => `accepted ${id}`)
    )
  })

interface Found<Tag extends RunEvent["_tag"]> {
  readonly at: number
  readonly event: Extract<RunEvent, { readonly _tag: Tag }>
}

/** The journal says who decided, when, and why it was proposed. */
const tells = Effect.fnUntraced(function* (data: string, run: string, approval: string) {
  const entries = (yield* get(data, `/v1/runs/${run}/events?limit=500`))
    .items as ReadonlyArray<JournalEntry>
  const find = <Tag extends RunEvent["_tag"]>(tag: Tag) =>
    entries.filter(({ event }) => event._tag === tag) as unknown as ReadonlyArray<Found<Tag>>
  const [requested, ...more] = find("ApprovalRequested")
  assert.strictEqual(more.length, 0)
  const { reason } = requested!.event.arguments as { readonly reason: string }
  assert.include(reason, "order-1001")
  const { at, event: decided } = find("ApprovalDecided")[0]!
  assert.strictEqual(decided.approval, approval)
  assert.strictEqual(decided.by, "operator")
  assert.deepStrictEqual(decided.decision, { _tag: "Approve" })
  assert.isAtLeast(at, requested!.at)
  assert.strictEqual(find("CallDispatched").length, 1)
  assert.strictEqual(find("RunEnded")[0]!.event.status, "complete")
})
