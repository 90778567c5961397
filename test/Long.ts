/**
 * The two forms of a long test: a little of it in `npm test`, all of it in `npm run test:full`, which runs these files
 * alone. What the short form leaves out is printed by the runner.
 */

/** Is this the run of the long forms? */
export const isFull: boolean = process.env["TROUPE_TEST"] === "full"

/** How much of something a test does: `short` in `npm test`, `full` in `npm run test:full`. */
export const either = (short: number, full: number): number => (isFull ? full : short)

/** Files that `npm test` leaves out whole. */
export const late: ReadonlyArray<string> = [
  "test/bench/BareLog.test.ts",
  "test/bench/BareMemory.test.ts",
  "test/bench/Bench.test.ts",
  "test/conformance/Directory.test.ts",
  "test/delivery/Crash.test.ts",
  "test/ephemeral/ForgottenRecords.test.ts",
  "test/http/Away.test.ts",
  "test/http/Chat.test.ts",
  "test/http/FullDisk.test.ts",
  "test/mcp/Command.test.ts",
  "test/mcp/RealServers.test.ts",
  "test/memory/Trigram.test.ts",
  "test/process/AppFile.test.ts",
  "test/process/Asked.test.ts",
  "test/process/CommandLines.test.ts",
  "test/process/FewFiles.test.ts",
  "test/process/Growth.test.ts",
  "test/process/Owners.test.ts",
  "test/process/RandomKills.test.ts",
  "test/process/Resting.test.ts",
  "test/process/Runner.test.ts",
  "test/process/Siege.test.ts",
  "test/process/StoreCommands.test.ts",
  "test/process/TokenCommand.test.ts",
  "test/process/ToolFile.test.ts",
  "test/process/UnreadOutput.test.ts",
  "test/process/WorkCommands.test.ts",
  "test/queue/Processes.test.ts",
  "test/replay/Command.test.ts",
  "test/replay/Embedded.test.ts",
  "test/simulation/Sweep.test.ts",
  "test/sql/Backup.test.ts",
  "test/sql/Crash.test.ts",
  "test/sql/DirectoryLock.test.ts",
  "test/sql/EmptyPglite.test.ts",
  "test/sql/FullDirectory.test.ts",
  "test/sql/LargeEvents.test.ts",
  "test/sql/LongRun.test.ts",
  "test/sql/Plans.test.ts"
]

/** Files and folders with a long form. */
export const files: ReadonlyArray<string> = [
  "test/bench",
  "test/calls/OpenApiProducts.test.ts",
  "test/calls/SchemaStripRules.test.ts",
  "test/entry/HostileTexts.test.ts",
  "test/entry/Stopped.test.ts",
  "test/http/Floods.test.ts",
  "test/mcp/Away.test.ts",
  "test/mcp/Compose.test.ts",
  "test/mcp/ForeignSchema.test.ts",
  "test/memory",
  "test/model/Providers.failures.test.ts",
  "test/package",
  "test/permission/UrlRules.test.ts",
  "test/platform",
  "test/process/ClientAsked.test.ts",
  "test/process/Deploy.test.ts",
  "test/process/DeployFiles.test.ts",
  "test/process/Environment.test.ts",
  "test/process/HandedOver.test.ts",
  "test/process/Memory.test.ts",
  "test/process/Reopen.test.ts",
  "test/process/Start.test.ts",
  "test/queue",
  "test/release",
  "test/run/RunDecider.test.ts",
  "test/simulation",
  "test/spectral/Crowd.test.ts",
  "test/sql",
  "test/telemetry/Exported.test.ts",
  "test/worlds",
  ...late
]

/** What `npm test` leaves to the long form, one line each. */
export const left: ReadonlyArray<string> = [
  "test/sql, test/memory, test/platform, test/worlds: everything on PGlite that PostgreSQL shows here with the same statements",
  "test/bench: every row, in small sizes",
  "test/calls, test/permission: two thirds of the generated schemas and spellings of URLs",
  "test/conformance: directories of vectors that cannot be read",
  "test/contracts: an erasure of somebody whose name is any word of any record; the words that say a state are here",
  "test/delivery, test/sql: kills of a process around a delivery and an append, and of a server; a kill at each crash point is here",
  "test/entry: hostile texts of 100,000 characters, those of 1,000 are searched here; a stop of a service in memory",
  "test/ephemeral: how many dead letters, queued calls and other records a store in memory keeps",
  "test/http: the chat client, but for the walk of npm start; a service whose disk is full, or whose server is away or stands still",
  "test/http: a client that never reads its stream; one over the bound of unread bytes is here",
  "test/mcp: fifteen servers of the npm registry and seven others behind one start; four are here",
  "test/mcp: troupe mcp, slow servers over HTTP and of the newest protocol alone, what is left when a process is killed, and hostile schemas",
  "test/memory: what pg_trgm calls similar; 400 of the 500 texts that gateway and trigger must judge alike",
  "test/model: failures of five packaged wires of seven",
  "test/package: a build that checks and writes types, three packed examples out of four, and a replay by the packed command",
  "test/package: npm resolves the package with each of its optional peers, and with all of them",
  "test/package: its types in a project of its own, bundles by esbuild and Vite, and Node 22.19, Bun and Deno",
  "test/process: the commands, npm start with a module or another agent, and files of tools that cannot be used",
  "test/process: takeover by other processes, a question behind a kill, rolling updates, a process that may open few files",
  "test/process: a container's health check that ends a service, and the packages of its image",
  "test/process: storms of runs with more results than a heap of 256 MB holds; two of 128 MB are here",
  "test/process: random kills of services, workers and their server; what a process holds at rest, and behind thousands of runs",
  "test/queue: workers that are killed in a body; one that is lost is here",
  "test/replay: the command, over a directory, over a server and for an embedder's module",
  "test/run: the seeds 400 to 2,499 of runs in any order of their inputs",
  "test/simulation: seeds 21 to 1,500, a crash at every I/O of seeds 1 to 50, and most of the planted bugs",
  "test/spectral: 1,000 agents of three kinds at once; 200 are here",
  "test/sql: full disks, locked directories, backups, how the log is bounded, runs of over 10,000 events, upgrades from each version",
  "test/sql: what 2,000 messages read behind 20,000 runs, and where statistics are old",
  "test/telemetry: how many batches wait for a collector that hangs; how long each does is here"
]
