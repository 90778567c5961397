/**
 * Three made-up systems of a made-up workspace: what they are for, by what they are judged, and in which ways they fail.
 */

/** A way in which a system fails: one failure cluster. */
export interface Weakness {
  readonly id: string
  readonly rubric: string
  readonly severity: "critical" | "high" | "medium" | "low"
  readonly title: string
  readonly terms: ReadonlyArray<string>
  /** What one failure says; `#` is a number. */
  readonly excerpt: string
  /** How many of 100 evaluated traces fail so at the beginning. */
  readonly rate: number
  /** By how much each change makes it rarer, 0 to 1; below 0 it becomes more frequent. */
  readonly relief: number
}

export interface Outline {
  readonly system: string
  readonly name: string
  readonly purpose: string
  readonly owner: string
  readonly parts: ReadonlyArray<string>
  readonly limits: ReadonlyArray<string>
  readonly framework: string
  readonly world: string
  /** Rubric, threshold, and what an evaluated trace has to fulfil. */
  readonly rubrics: ReadonlyArray<readonly [id: string, threshold: number, criterion: string]>
  readonly weaknesses: ReadonlyArray<Weakness>
  /** What is changed at the end of each cycle: title, setting, before, after. */
  readonly changes: ReadonlyArray<readonly [string, string, string, string]>
}

const weakness = (
  id: string,
  rubric: string,
  severity: Weakness["severity"],
  title: string,
  excerpt: string,
  rate: number,
  relief: number,
  ...terms: ReadonlyArray<string>
): Weakness => ({ id, rubric, severity, title, terms, excerpt, rate, relief })

const support: Outline = {
  system: "support-bot",
  name: "Support bot",
  purpose: "Answers customers' questions about loans and accounts.",
  owner: "Customer support",
  parts: ["a language model", "a search of the handbook", "a tool that looks up contracts"],
  limits: ["It must not decide about refunds.", "It does not know contracts of before 2019."],
  framework: "customer-answers",
  world: "credit",
  rubrics: [
    ["groundedness", 0.95, "Each statement has a source in the handbook or the contract."],
    ["completeness", 0.955, "Every part of the question has an answer."],
    ["tone", 0.98, "The answer is polite and puts nobody under pressure."]
  ],
  weaknesses: [
    weakness(
      "invented-deadline",
      "groundedness",
      "critical",
      "Names a deadline that no source has",
      "Contract #: the answer names a withdrawal period of # days; the contract has none.",
      2.6,
      0.45,
      "deadline",
      "withdrawal",
      "days"
    ),
    weakness(
      "old-rate",
      "groundedness",
      "high",
      "Quotes a rate of an older price list",
      "Asked about offer #, the answer quotes a yearly rate of last year's list.",
      2.1,
      0.3,
      "rate",
      "price list"
    ),
    weakness(
      "no-source",
      "groundedness",
      "medium",
      "Gives no source for a fee",
      "The answer to question # names a fee and no page of the handbook.",
      1.7,
      0.5,
      "fee",
      "source"
    ),
    weakness(
      "second-question",
      "completeness",
      "medium",
      "Leaves the second question unanswered",
      "Message # asks two things; the answer has one of them.",
      3.2,
      0.25,
      "also",
      "and"
    ),
    weakness(
      "no-total",
      "completeness",
      "high",
      "Leaves out the total amount",
      "Offer #: the monthly amount is given and the total is not.",
      1.9,
      0.2,
      "total",
      "monthly"
    ),
    weakness(
      "pressure",
      "tone",
      "high",
      "Urges the customer to sign",
      "Conversation #: the answer says that the offer ends today.",
      0.7,
      0.6,
      "today",
      "sign"
    ),
    weakness(
      "cold",
      "tone",
      "low",
      "Sounds curt after a complaint",
      "Complaint # gets an answer of one sentence.",
      1.4,
      0.1,
      "complaint"
    )
  ],
  changes: [
    ["Ask for a source in each answer", "prompt.sources", "", "required"],
    ["Search the newest price list alone", "retrieval.price_list", "all", "newest"],
    ["Answer questions one by one", "prompt.questions", "", "numbered"]
  ]
}

const claims: Outline = {
  system: "claims-triage",
  name: "Claims triage",
  purpose: "Sorts reports of damage and says which papers are missing.",
  owner: "Claims",
  parts: ["a language model", "a table of categories"],
  limits: ["It must not refuse a claim.", "It reads no handwriting."],
  framework: "claims-triage",
  world: "privacy",
  rubrics: [
    ["category", 0.965, "The category is the one that an expert would give."],
    ["data-minimised", 0.985, "The summary has no personal data that the category does not need."],
    ["papers", 0.965, "Each missing paper is named, and no other."]
  ],
  weaknesses: [
    weakness(
      "health-data",
      "data-minimised",
      "critical",
      "Repeats health data in the summary",
      "Report #: the summary names a diagnosis.",
      1.1,
      0.4,
      "diagnosis",
      "treatment"
    ),
    weakness(
      "full-name",
      "data-minimised",
      "medium",
      "Keeps names of third persons",
      "Report #: the summary names a witness.",
      1.3,
      0.35,
      "witness",
      "neighbour"
    ),
    weakness(
      "water-storm",
      "category",
      "high",
      "Takes storm damage for water damage",
      "Report # tells of a storm; it is sorted under water.",
      2.8,
      0.3,
      "storm",
      "roof",
      "water"
    ),
    weakness(
      "glass",
      "category",
      "low",
      "Takes glass for household goods",
      "Report # tells of a window; it is sorted under household.",
      1.6,
      0.15,
      "window",
      "glass"
    ),
    weakness(
      "paper-twice",
      "papers",
      "medium",
      "Asks for a paper that is there",
      "Report # has the invoice; it is asked for again.",
      2.4,
      0.4,
      "invoice",
      "attached"
    ),
    weakness(
      "no-police",
      "papers",
      "high",
      "Forgets the police report after a theft",
      "Report # tells of a theft; the police report is not asked for.",
      1.5,
      -0.1,
      "theft",
      "police"
    )
  ],
  changes: [
    ["Give examples of storm damage", "prompt.examples", "4", "12"],
    ["Leave out names in summaries", "summary.names", "kept", "removed"],
    ["Look at attachments first", "pipeline.attachments", "last", "first"]
  ]
}

const search: Outline = {
  system: "help-search",
  name: "Help search",
  purpose: "Finds pages of the help centre and sums them up.",
  owner: "Web",
  parts: ["an index of 4,000 pages", "a language model for summaries"],
  limits: ["It answers in English and German alone."],
  framework: "help-search",
  world: "accessibility",
  rubrics: [
    ["relevance", 0.95, "One of the first three pages has the answer."],
    ["plain-language", 0.96, "The summary is understood without knowledge of the field."],
    ["links", 0.99, "Each link leads to a page that is there."]
  ],
  weaknesses: [
    weakness(
      "dead-link",
      "links",
      "high",
      "Links to pages that were moved",
      "Query #: the second link leads nowhere.",
      1.2,
      0.5,
      "moved",
      "404"
    ),
    weakness(
      "other-product",
      "relevance",
      "medium",
      "Finds pages of another product",
      "Query # is about the card; the pages are about the loan.",
      3.4,
      0.2,
      "card",
      "loan"
    ),
    weakness(
      "typo",
      "relevance",
      "low",
      "Finds nothing after a slip of the pen",
      "Query # has two letters in the wrong order and no result.",
      2.2,
      0.3,
      "spelling"
    ),
    weakness(
      "jargon",
      "plain-language",
      "medium",
      "Uses terms of the trade",
      "Summary # has a term that the help centre does not explain.",
      2.9,
      0.25,
      "term",
      "abbreviation"
    ),
    weakness(
      "long-sentences",
      "plain-language",
      "low",
      "Writes sentences of more than 40 words",
      "Summary # has one sentence of # words.",
      1.8,
      0.1,
      "which",
      "whereby"
    )
  ],
  changes: [
    ["Check links before they are shown", "links.check", "off", "on"],
    ["Weigh the product's name", "ranking.product", "1", "3"],
    ["Explain terms of the trade", "prompt.terms", "", "explained"]
  ]
}

export const outlines: ReadonlyArray<Outline> = [support, claims, search]
