import { Effect, Schema } from "effect"
import { AgentSpec, Tenant } from "troupe"
import { start } from "troupe/embed"
import { feature, operation, Rows, said, serve, table, tableRows, text } from "troupe/feature"
import { scripted } from "troupe/testing"

const notes = table({
  name: "notes",
  what: "notes",
  key: ["tenant", "id"],
  columns: { tenant: text(Tenant), id: text(Schema.String), said },
  erased: { removed: ["said"] }
})
const migrations = {
  "0001_notes": [
    "CREATE TABLE troupe.notes (tenant text, id text, said text NOT NULL, PRIMARY KEY (tenant, id))"
  ]
}

const Note = Schema.Struct({ id: Schema.String, said: Schema.String })
const add = operation({
  id: "add",
  name: "addNote",
  method: "POST",
  path: "/v1/notes",
  payload: Note,
  right: "curate",
  summary: "Keep a note"
})
const list = operation({
  id: "list",
  name: "notes",
  method: "GET",
  path: "/v1/notes",
  success: Schema.Array(Note),
  right: "inspect",
  summary: "Notes of this tenant"
})
const effects = {
  addNote: serve(add, (note, { tenant }) =>
    Effect.gen(function* () {
      yield* tableRows(yield* Rows, notes).add([{ tenant, ...note }], ["said"])
    })
  ),
  notes: serve(list, (_, { tenant }) =>
    Effect.gen(function* () {
      const found = yield* tableRows(yield* Rows, notes).all({ where: { tenant } })
      return found.map(({ id, said }) => ({ id, said }))
    })
  )
}
const book = feature({
  name: "book",
  groups: [{ id: "notes", title: "Notes", effects }],
  tables: [notes],
  migrations
})

const clerk = AgentSpec.make({ name: "clerk", instructions: "Explain." })
const olga = { id: "olga", tenant: "acme", roles: ["operator"] } as const
const troupe = await start({ agents: [clerk], model: scripted([]), features: [book] })
await troupe.of(book).addNote({ id: "n-1", said: "Call the customer." }, olga)
console.log(await troupe.of(book).notes(olga))
await troupe.stop()

// Output:
// [ { id: 'n-1', said: 'Call the customer.' } ]
