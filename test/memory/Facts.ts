/** Pairs of texts that say one fact, and pairs that say two. */
type Pairs = ReadonlyArray<readonly [string, string]>

export const one_fact: Pairs = [
  ["Olga prefers tea", "olga prefers Tea."],
  ["Olga likes tea", "Olga really likes tea"],
  ["Olga likes tea", "Remember that Olga likes the tea!"],
  ["User prefers dark mode", "Note: the user prefers “dark mode”."],
  ["The shop isn't open on Sunday", "the shop isn’t open on Sunday"],
  ["Olga does not like tea", "Olga doesn't like tea."],
  ["José prefers tea", "José prefers tea".normalize("NFD")],
  [
    "The customer of the shop in the north prefers tea to coffee",
    "The customers of the shop in the north prefer tea to coffee"
  ],
  ["Оля любит чай", "оля любит чай!"],
  ["奥尔加喜欢喝茶。", "奥尔加喜欢喝茶"]
]

const contract = (of: string) => `The contract with ${of} of the northern branch ends in the summer`
const parcels = (from: string) =>
  `The northern branch sends its parcels in the morning from ${from} on`
const order = (number: string, is: string) =>
  `The order ${number} of the customer in the north ${is} paid and sent`

export const two_facts: Pairs = [
  ["Olga likes tea", "Olga does not like tea"],
  ["Olga likes tea", "Olga doesn't like tea"],
  ["Olga likes tea", "Olga never likes tea"],
  ["Olga likes tea", "Paul likes tea"],
  ["Olga likes tea", "Olga liked tea"],
  ["Olga likes tea", "Olga likes tea?"],
  ["Olga is not ill", "Olga is not certainly ill"],
  ["Robert is away", "Roberts is away"],
  ["Olga needs vitamin A", "Olga needs vitamin"],
  [contract("Anna Schmidt"), contract("Anna Schmitt")],
  [contract("the firm in Berlin"), contract("the firm in Bern")],
  [parcels("May"), parcels("June")],
  [parcels("3 May"), parcels("4 May")],
  [parcels("3 May"), parcels("3 June")],
  [parcels("Monday"), parcels("Sunday")],
  [parcels("2026-11-02"), parcels("2026-12-02")],
  [order("1003", "is"), order("1004", "is")],
  [order("1003", "is"), order("1003", "is not")],
  [order("1003", "is"), order("1003", "isn't")],
  [order("1003", "is"), order("1003", "was")],
  [
    "The branch has two doors on the side of the yard",
    "The branch has ten doors on the side of the yard"
  ],
  ["The shelf of the shop is 5' long", `The shelf of the shop is 5" long`],
  ["The discount is for [10,20) parcels", "The discount is for (10,20] parcels"],
  ["The balance of the branch is (500)", "The balance of the branch is 500"],
  ["The sender of the north takes 5 mW", "The sender of the north takes 5 MW"],
  ["The parcels of the north go to the US", "The parcels of the north go to us"],
  ["The key of the shop is x7Qa", "The key of the shop is X7qa"],
  ["Olga of the shop took option a", "Olga of the shop took an option"],
  ["The northern hall had -5 degrees", "The northern hall had 5 degrees"],
  ["The parcels of the shop cost $5", "The parcels of the shop cost €5"],
  ["The parcel weighs 3.5 pounds", "The parcel weighs 35 pounds"],
  ["Olga of the northern shop writes C", "Olga of the northern shop writes C++"],
  ["Paul is the boss of Olga", "Olga is the boss of Paul"],
  ["The train goes from Berlin to Paris", "The train goes to Berlin from Paris"],
  ["Olga aus dem Laden mag am Morgen gern Tee", "Olga aus dem Laden mag am Morgen nicht gern Tee"],
  ["Оля из магазина любит чай с лимоном", "Оля из магазина не любит чай с лимоном"],
  ["北方商店的奥尔加喜欢在早上喝茶", "北方商店的奥尔加不喜欢在早上喝茶"]
]
