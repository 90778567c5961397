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
  "test/process/StoreCommands.test.ts",
  "test/process/UnreadOutput.test.ts",
  "test/process/AppFile.test.ts",
  "test/sql/EmptyPglite.test.ts",
  "test/sql/Backup.test.ts",
  "test/conformance/Directory.test.ts",
  "test/http/FullDisk.test.ts",
  "test/replay/Embedded.test.ts",
  "test/bench/BareLog.test.ts",
  "test/bench/BareMemory.test.ts",
  "test/sql/LongRun.test.ts",
  "test/process/TokenCommand.test.ts",
  "test/process/Growth.test.ts",
  "test/process/RandomKills.test.ts",
  "test/process/Resting.test.ts",
  "test/process/Siege.test.ts"
]

/** Files and folders with a long form. */
export const files: ReadonlyArray<string> = [
  "test/bench",
  "test/calls/SchemaStripRules.test.ts",
  "test/delivery/Crash.test.ts",
  "test/entry/HostileTexts.test.ts",
  "test/entry/Stopped.test.ts",
  "test/http/Away.test.ts",
  "test/http/Chat.test.ts",
  "test/memory/Agreement.test.ts",
  "test/memory/FullTier.test.ts",
  "test/memory/Gateway.test.ts",
  "test/memory/Retention.test.ts",
  "test/package",
  "test/permission/UrlRules.test.ts",
  "test/platform/Stores.test.ts",
  "test/process/Asked.test.ts",
  "test/process/ClientAsked.test.ts",
  "test/process/CommandLines.test.ts",
  "test/process/Deploy.test.ts",
  "test/process/DeployFiles.test.ts",
  "test/process/HandedOver.test.ts",
  "test/process/Owners.test.ts",
  "test/process/Reopen.test.ts",
  "test/process/Start.test.ts",
  "test/queue/Processes.test.ts",
  "test/release",
  "test/replay/Command.test.ts",
  "test/run/RunDecider.test.ts",
  "test/simulation",
  "test/spectral/Crowd.test.ts",
  "test/sql/AlteredApproval.test.ts",
  "test/sql/Amendments.test.ts",
  "test/sql/AnsweredQuestions.test.ts",
  "test/sql/Crash.test.ts",
  "test/sql/DirectoryLock.test.ts",
  "test/sql/ForgottenStores.test.ts",
  "test/sql/ForgottenTenants.test.ts",
  "test/sql/GroupedReads.test.ts",
  "test/sql/LateAcknowledgement.test.ts",
  "test/sql/LostAcknowledgement.test.ts",
  "test/sql/LostRecords.test.ts",
  "test/sql/Migrations.test.ts",
  "test/sql/Pairs.test.ts",
  "test/sql/PgliteUpkeep.test.ts",
  "test/sql/Plans.test.ts",
  "test/sql/Quarantine.test.ts",
  "test/sql/Retention.test.ts",
  "test/sql/SqlOutbox.test.ts",
  "test/sql/SqlStores.test.ts",
  "test/sql/SubjectScan.test.ts",
  "test/sql/Turns.test.ts",
  "test/sql/Watchers.test.ts",
  "test/telemetry/Exported.test.ts",
  "test/worlds/Stores.test.ts",
  ...late
]

/** What `npm test` leaves to the long form, one line each. */
export const left: ReadonlyArray<string> = [
  "test/bench: every row but step, in small sizes, and the lower bounds of memory and of a store beside the runtime's",
  "test/entry: hostile texts of 100,000 characters; those of 10,000 are searched here",
  "test/http: a service, and its stop, while PostgreSQL stands still; while it is down it is here",
  "test/http: a service whose disk is full",
  "test/http: the chat client behind a question, by its environment, and where what answers is no service or restarts elsewhere",
  "test/run: the seeds 400 to 2,499 of runs in any order of their inputs",
  "test/simulation: seeds 101 to 1,500, and whether all seeds together met every fault",
  "test/simulation: a crash at every I/O of seeds 1 to 50, and whether each of three seeds makes the same journal twice; one seed, and each third I/O of it, is here",
  "test/calls, test/permission: two thirds of the generated schemas and spellings of URLs",
  "test/simulation: seven planted bugs out of eight",
  "test/package: a build that checks and writes types, three packed examples out of four, and a replay by the packed command",
  "test/package: its types in a project of its own, bundles by esbuild and Vite, and Node 22.19, Bun and Deno",
  "test/replay: the command over a directory; over a PostgreSQL server it runs here",
  "test/sql: what 2,000 messages read behind 20,000 runs, and where statistics are old; of 72 behind 1,000 it is counted here",
  "test/platform, test/worlds: an erasure of somebody whose name is any word of any record; the words that say a state are here",
  "test/sql, test/platform, test/worlds: the tests of most rows on PGlite, which are bounds of a thousand and most erasures; on PostgreSQL they are here",
  "test/sql, test/memory: on PGlite the tests of amendments, erasure, databases of releases, quarantine, the outbox, watchers and the memory's full tier; on PostgreSQL they are here, and the contracts on both",
  "test/telemetry: how many batches wait for a collector that hangs; how long each does is here",
  "test/spectral: 1,000 agents of three kinds at once; 200 are here",
  "test/process: the packages of the image are installed, and it starts; what it copies and is told is checked here",
  "test/process: random kills of a service on each engine; a kill at each crash point of both is here",
  "test/process, test/delivery, test/sql: further kills on PGlite, and two in which another process is quick or sessions are cut; the other kills on PostgreSQL are here",
  "test/conformance: directories of vectors that cannot be read",
  "test/process: unknown flags of npm start and of the conformance runner; one of npm test is refused here",
  "test/process: npm start with a module, and modules that cannot be served; a second service on a directory",
  "test/process: what commands do with a store that is not there, of another version, or somebody else's",
  "test/sql: the permissions of a database that is made; of one that was made before they are seen here",
  "test/sql: how the log of an embedded database is bounded",
  "test/sql: ways in which a test leaves a database that no other may use",
  "test/process: npm start with its other agents, its output unread, a rolling update of three services, and troupe token",
  "test/queue: three more ways in which a worker is killed in a body; four are here",
  "test/replay: a replay of an embedder's directory and module by the command",
  "test/sql: a server restored from a backup of a running one, and a copied directory",
  "test/sql: a run of over 10,000 events, and upgrades from each version; from the oldest and the newest they are here",
  "test/process: random kills of two services, a worker and their server at once",
  "test/process: what a process with an embedded database holds at rest",
  "test/process: what thousands of runs and steps leave behind; what a few leave is in test/runtime/Leaks"
]
