/**
 * Plans of the functions that append, begin and claim runs, and take messages. A session keeps the plan of a function's
 * statement, and may have made it while the tables were empty or small: there all ways to a row seem equally
 * cheap, and the kept plan may read a whole table, or a whole index, until statistics are gathered, however many rows came
 * since. All that these functions read they find by a key that they are given. So that only one way is left, whenever a
 * plan is made:
 *
 * - a function has settings of its own, which also hold behind a pooler of connections (`by_key`);
 * - a table that is joined by a key is restricted to an array of the keys as well (`= ANY`): the join may begin with it;
 * - a column is compared as an expression (`status + 0`) where the plain comparison would also suit an index of few rows
 *   (`WHERE status = 0`);
 * - where another index begins with the tenant, the index of a key begins with what tells rows apart; or the tenant is compared
 *   by `IS NOT DISTINCT FROM`, which no index serves;
 * - an index of lists and turns has the tenant as an expression (`tenant || ''`): it serves who asks for it in these words,
 *   and not who looks for a key of a tenant.
 */

/** Leaves the planner nothing but probes of indexes. */
export const by_key =
  "SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

/**
 * The session keeps one plan for each statement of the function, whatever its arguments are. They can be planned in one way only,
 * so a plan for the lengths of particular arrays would be the same.
 */
export const once = "SET plan_cache_mode = force_generic_plan"
