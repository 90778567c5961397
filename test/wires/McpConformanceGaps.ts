/**
 * What the conformance suite of the Model Context Protocol asks of a server that agents as tools do not have, by revision and reason.
 * A line names a scenario, and behind a colon the checks of it that fail; without one, the check of its name.
 */

/** Checks that fail, by why they do. */
export type Gaps = Readonly<Record<string, string>>

const no_prompts = `
  prompts-list
  prompts-get-simple
  prompts-get-with-args
  prompts-get-embedded-resource
  prompts-get-with-image`
const no_resources = `
  resources-list
  resources-read-text
  resources-read-binary
  resources-templates-read`
/** The suite calls tools by names of its own, and the names here are those of agents. */
const no_fixture_tools = `
  tools-call-simple-text
  tools-call-error
  tools-call-image
  tools-call-audio
  tools-call-embedded-resource
  tools-call-mixed-content
  tools-call-with-progress
  json-schema-2020-12: json-schema-2020-12-tool-found`

export const gaps: Readonly<Record<"2025-11-25" | "2026-07-28", Gaps>> = {
  "2025-11-25": {
    "the tools are agents: text and one structure, no media and no progress": no_fixture_tools,
    "an agent offers no prompts": no_prompts,
    "an agent offers no resources": `${no_resources}
      resources-subscribe
      resources-unsubscribe`,
    "nothing is completed for a client": `
      completion-complete`,
    "a client is not asked while its request is open: what it can is known to sessions alone": `
      tools-call-elicitation
      elicitation-sep1034-defaults: elicitation-sep1034-general
      elicitation-sep1330-enums: elicitation-sep1330-general`,
    "no model of a client is asked": `
      tools-call-sampling`,
    "a client is sent no log": `
      logging-set-level
      tools-call-with-logging`
  },
  "2026-07-28": {
    "the tools are agents: text and one structure, no media and no progress": no_fixture_tools,
    "an agent offers no prompts": `${no_prompts}
      caching: sep-2549-prompts-list-caching-hints`,
    "an agent offers no resources": `${no_resources}
      caching: sep-2549-resources-list-caching-hints sep-2549-resources-templates-list-caching-hints`,
    "nothing is completed for a client": `
      completion-complete`,
    "no form is asked for: a client is asked to open pages, which the suite does not": `
      input-required-result-basic-elicitation: sep-2322-elicitation-incomplete
      input-required-result-basic-sampling: sep-2322-sampling-incomplete
      input-required-result-basic-list-roots: sep-2322-list-roots-incomplete
      input-required-result-request-state: sep-2322-request-state-incomplete
      input-required-result-multiple-input-requests: sep-2322-multiple-inputs-incomplete
      input-required-result-multi-round: sep-2322-multi-round-r1
      input-required-result-non-tool-request: sep-2322-non-tool-incomplete
      input-required-result-result-type: sep-2322-result-type-included
      input-required-result-tampered-state: sep-2322-reject-tampered-state
      input-required-result-capability-check: sep-2322-respect-client-capabilities`,
    "no tool needs a capability of its client, streams to it or logs": `
      server-stateless: sep-2575-server-rejects-undeclared-capability
      server-stateless: sep-2575-missing-capability-http-400
      server-stateless: sep-2575-http-server-no-independent-requests-on-stream
      server-stateless: sep-2575-server-no-log-without-loglevel`,
    "no argument of a tool stands in a header too": `
      http-custom-header-server-validation: sep-2243-server-no-xmcp-tool sep-2243-server-decode-base64
      http-custom-header-server-validation: sep-2243-server-validate-param-match
      http-custom-header-server-validation: sep-2243-server-reject-invalid-param-chars
      http-custom-header-server-validation: sep-2243-server-reject-param-mismatch`,
    "an answer has the agent's text in a structure, and a run that fails is a result": `
      tasks-request-headers: tasks-headers-tolerate-mcp-method-on-tools-call
      tasks-lifecycle: sep-2663-tasks-get-status-failed`,
    "no task asks for a form either": `
      tasks-mrtr-input: sep-2663-tasks-get-status-input-required tasks-mrtr-tasks-update-resumes
      tasks-mrtr-input: tasks-mrtr-partial-fulfillment
      tasks-mrtr-composition: sep-2663-mrtr-synchronous-before-task-creation
      tasks-dispatch-and-envelope: tasks-result-type-complete-on-non-task-responses`,
    "no agent needs a client that knows tasks: run_result reads on": `
      tasks-required-task-error: sep-2663-server-returns-missing-capability-when-required`
  }
}

/** Each check that is expected to fail, as `scenario:check`. */
export const failing = (of: Gaps): ReadonlyArray<string> =>
  Object.values(of).flatMap((lines) =>
    lines
      .trim()
      .split("\n")
      .flatMap((line) => {
        const [scenario = "", checks = scenario] = line.trim().split(": ")
        return checks.split(" ").map((check) => `${scenario}:${check}`)
      })
  )
