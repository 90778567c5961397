/**
 * `troupe doctor`: examines the store of a service, for people and for monitors.
 */
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import * as Doctor from "../../layers/compose/entries/Doctor.ts"
import { oneLine } from "../chat/View.ts"
import { optionalText, toggle } from "../command/CommandLine.ts"
import { during } from "../command/Progress.ts"
import { appOf } from "./App.ts"
import { dataFlag, endWith, say, where } from "./Stored.ts"
import { storeLocation } from "./StoreLocation.ts"

/** As plugins of monitors end. */
const codes = { ok: 0, warning: 1, fault: 2, unknown: 3 } as const

const flags = {
  app: optionalText(
    "app",
    "FILE",
    "a module that exports agents and tools, with which open questions are compared; else those of npm start"
  ),
  data: dataFlag,
  json: toggle("json", "the findings as JSON")
}

const lineOf = ({ check, ids = [], level, message }: Doctor.Finding): string =>
  [
    `${level.padEnd(8)} ${check.padEnd(13)} ${oneLine(message)}`,
    ...ids.map((id) => `${" ".repeat(23)}${oneLine(id)}`)
  ].join("\n")

const examine = Effect.fnUntraced(function* (given: Command.Command.Config.Infer<typeof flags>) {
  const app = yield* appOf(given.app)
  const { database, directory } = yield* storeLocation(given.data)
  const findings = yield* during("examining", {}, () =>
    Option.match(database, {
      onNone: () => Doctor.examineDirectory(directory, app),
      onSome: (url) => Doctor.examinePostgres(url, app)
    })
  )
  const worst = Doctor.worstOf(findings)
  yield* say(
    given.json ? JSON.stringify({ level: worst, findings }) : findings.map(lineOf).join("\n")
  )
  return codes[worst]
})

export const doctorCommand = Command.make("doctor", flags, (given) =>
  endWith(examine(given), "not examined", codes.unknown)
).pipe(
  Command.withDescription(
    `Examines the store of a service, and the work in it that needs somebody. Changes nothing.

${where}
  A PostgreSQL server may be in use; of a directory that a process uses only the disk is examined.

  Exit code: 0 when all is well, 1 with warnings, 2 with faults, 3 when something could not be looked at. A command line that
  cannot be read is 2 as well.`
  ),
  Command.withShortDescription("examines a store and the work in it")
)
