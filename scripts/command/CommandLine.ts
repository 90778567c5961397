/**
 * The command lines of this folder: the library reads them, prints the help and suggests what a misspelt flag may have
 * meant. Help that was asked for goes to stdout with exit code 0; a command line that cannot be read goes to stderr,
 * with what is wrong first and the help behind it, and ends with exit code 2.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer, Option } from "effect"
import { CliConfig, CliError, CliOutput, Command, Flag, GlobalFlag } from "effect/cli"

const unreadable_code = 2

const presenter = CliOutput.layerPresenter({
  present: (event) =>
    Effect.gen(function* () {
      const formatter = yield* CliOutput.Formatter
      if (event._tag === "Version") return
      const help = formatter.formatHelpDoc(event.helpDoc)
      if (event._tag === "InvalidInvocation") {
        const errors = event.errors.map((error) => formatter.formatCliError(error)).join("\n")
        return yield* Console.error(`${errors}\n\n${help}`)
      }
      if (event.reason === "Requested") return yield* Console.log(help)
      return yield* Console.error(help)
    })
})

/** Only `--help`: a version, shell completions and a log level would say nothing here. */
const environment = Layer.mergeAll(
  NodeServices.layer,
  presenter,
  CliConfig.layer({ builtIns: [GlobalFlag.Help] })
)

const ignoreClosedPipe = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "EPIPE") throw error
}

/**
 * Who reads the output may go before its end, as `head` does. What is printed after that is dropped; the program goes
 * on, because its exit code is to be what it would have been.
 */
const dropUnreadOutput = Effect.sync(() => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", ignoreClosedPipe)
})

/** Runs a command with this process's arguments; sets the exit code 2 when they cannot be read. */
export const runCommandLine = <Name extends string, Input, Shared, E, R>(
  command: Command.Command<Name, Input, Shared, E, R>
) =>
  dropUnreadOutput.pipe(
    Effect.andThen(Command.runWith(command, { version: "" })(process.argv.slice(2))),
    Effect.catchIf(
      (error): error is CliError.ShowHelp =>
        CliError.isCliError(error) && error._tag === "ShowHelp",
      () =>
        Effect.sync(() => {
          process.exitCode = unreadable_code
        })
    ),
    Effect.provide(environment)
  )

/** For flags that each can be read and do not go together. */
export const unreadableCommand = (
  commandPath: ReadonlyArray<string>,
  message: string
): CliError.ShowHelp =>
  new CliError.ShowHelp({
    commandPath,
    errors: [new CliError.UserError({ cause: message, userMessage: message })]
  })

/** A flag with a text; undefined when it is absent. */
export const optionalText = (
  name: string,
  metavar: string,
  description: string
): Flag.Flag<string | undefined> =>
  Flag.String(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(description),
    Flag.optional,
    Flag.map(Option.getOrUndefined)
  )

/** A flag with a directory. An empty text, as of a variable that is not set, is none. */
export const optionalDirectory = (
  name: string,
  description: string
): Flag.Flag<string | undefined> =>
  optionalText(name, "DIR", description).pipe(
    Flag.filter(
      (text) => text !== "",
      () => "a directory"
    )
  )

/** A flag that is on when it is given; it has no `--no-` form. */
export const toggle = (name: string, description: string): Flag.Flag<boolean> =>
  Flag.Boolean(name).pipe(
    Flag.withoutNegation,
    Flag.withDescription(description),
    Flag.withDefault(false)
  )

/** A flag with a whole number of at least `least`. */
export const wholeNumber = (name: string, least: number, description: string): Flag.Flag<number> =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => Number.isSafeInteger(value) && value >= least,
      () => `a whole number of at least ${least}`
    ),
    Flag.withMetavar("N"),
    Flag.withDescription(description)
  )
