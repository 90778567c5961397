/**
 * `troupe export` writes runs that have ended to a file, and `troupe import` brings them into a database.
 */
import { join } from "node:path"
import { Clock, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ArchiveFile from "../../layers/sql/archive/ArchiveFile.ts"
import * as RunExport from "../../layers/sql/archive/RunExport.ts"
import * as RunImport from "../../layers/sql/archive/RunImport.ts"
import { IsoTime } from "../../src/delivery/AgeRange.ts"
import { toggle, unreadableCommand } from "../command/CommandLine.ts"
import { during } from "../command/Progress.ts"
import { Refused } from "../command/Refused.ts"
import { databasesIn } from "./StoreLocation.ts"
import { dataFlag, endWith, overNewStore, overStore, say, tenantFlag, where } from "./Stored.ts"

const file = Argument.String("file").pipe(Argument.withMetavar("FILE"))

const runs = (count: number): string => (count === 1 ? "1 run" : `${count} runs`)

const exportFlags = {
  file: file.pipe(
    Argument.withDescription("the archive to write; one that is there is not replaced")
  ),
  tenant: tenantFlag.pipe(
    Flag.withDescription("only runs of this tenant"),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  ),
  before: Flag.String("before").pipe(
    Flag.filter(
      Schema.is(IsoTime),
      () => "a date that exists, such as 2026-01-31 (UTC), or a date and time with a zone"
    ),
    Flag.map((text) => Date.parse(text)),
    Flag.withMetavar("DATE"),
    Flag.withDescription("only runs that ended earlier, such as 2026-01-31"),
    Flag.optional
  ),
  data: dataFlag
}

const exporting = ({
  before,
  data,
  file,
  tenant
}: Command.Command.Config.Infer<typeof exportFlags>) => {
  const chosen = { tenant, before: Option.getOrUndefined(before) }
  const work = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    const { broken, runs: count } = yield* during("exporting", { unit: "runs" }, (progress) =>
      ArchiveFile.writeFile(file, (write) =>
        RunExport.exportRuns(RunExport.endedRuns(chosen), at, write, (done) => progress.at(done))
      )
    )
    yield* say(`${runs(count)} written to ${file}`)
    for (const run of broken)
      yield* say(`left out, because events of it or its task are missing: run ${run}`)
    return broken.length === 0 ? 0 : 1
  })
  return endWith(overStore(data, work), "not exported")
}

const importFlags = {
  file: file.pipe(Argument.withDescription("an archive that export or a service wrote")),
  data: dataFlag,
  isNew: toggle("new", "makes a new store in the directory that --data names")
}

const importing = Effect.fnUntraced(function* ({
  data,
  file,
  isNew
}: Command.Command.Config.Infer<typeof importFlags>) {
  if (isNew && data === undefined) {
    return yield* unreadableCommand(["troupe", "import"], "--new goes with --data")
  }
  const work = Effect.gen(function* () {
    const brought = during("importing", { unit: "runs" }, (progress) =>
      RunImport.importRuns(file, (done, total) => progress.at(done, "", total))
    )
    const { known, refused, runs: imported } = yield* brought
    yield* say(`${runs(imported)} imported, ${known} already there`)
    for (const run of refused) {
      yield* say(
        `left out, because it is not whole, or its conversation or its idempotency key was used again here: run ${run}`
      )
    }
    return refused.length === 0 ? 0 : 1
  })
  const made = Effect.gen(function* () {
    const directory = data ?? ""
    if (databasesIn(directory).length > 0) {
      return yield* new Refused({ message: `there is a store in ${directory}: leave --new out` })
    }
    // Before anything is made.
    yield* RunImport.check(file)
    return yield* Effect.provide(
      work,
      Stores.withoutSweeps(Stores.directory(join(directory, "db")))
    )
  })
  const brought = Effect.andThen(RunImport.check(file), overNewStore(data, work))
  return yield* endWith(isNew ? made : brought, "not imported")
})

export const archiveCommands = [
  Command.make("export", exportFlags, exporting).pipe(
    Command.withDescription(
      `Writes runs that have ended to a file: their journals, messages, questions, costs, records of calls and files, as JSON lines
  with digests. Open runs and those in quarantine are left out. A run that lacks events is left out and named.

${where}

  Exit code: 0 when the file is written, 1 when it is not or lacks a run that was named, 2 when the command line cannot be read.`
    ),
    Command.withShortDescription("writes runs that have ended to an archive")
  ),
  Command.make("import", importFlags, importing).pipe(
    Command.withDescription(
      `Brings the runs of an archive into a store, to be read and replayed. Their conversations take no messages. A run that the
  store has is left as it is, and one whose conversation or idempotency key the store has used again is left out and named. An
  archive that was changed is refused before anything is written.

${where}

  Exit code: 0 when the runs are there, 1 when one of them is not, 2 when the command line cannot be read.`
    ),
    Command.withShortDescription("brings runs of an archive into a store")
  )
] as const
