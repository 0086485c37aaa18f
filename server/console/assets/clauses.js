// The clauses of a query, as the server reads them.

import { get } from './api.js';

/**
 * @typedef {object} Clause `field` is missing if the clause does not offer values of one field.
 * @property {number} start in UTF-16 code units
 * @property {number} end
 * @property {'must' | 'should' | 'must not'} occur
 * @property {string} [field]
 * @property {string[]} [values]
 * @property {string} [from] the bounds of a range
 * @property {string} [to]
 */

/** @typedef {{clause: string, q: string}} Miss a clause, and the query for the items that match all other clauses, but fail this one */

/** For a query with more clauses, there are no near misses. The query for them would be too long. */
const most = 8;

/**
 * Returns the near misses of a query: one for each clause that items must or must not match. There are none for a query with one clause.
 * @param {string} q
 * @returns {Promise<Miss[]>}
 */
export async function nearMisses(q) {
  /** @type {Clause[]} */
  const all = (await get('v2/content/suggest', { q })).data.clauses;
  const clauses = all.filter(({ occur }) => occur !== 'should').map(({ start, end, occur }) => ({ text: q.slice(start, end), not: occur === 'must not' }));
  if (clauses.length < 2 || clauses.length > most) return [];
  return clauses.map((failed) => ({
    clause: failed.not ? `NOT ${failed.text}` : failed.text,
    q: clauses.map((c) => ((c === failed) === c.not ? `(${c.text})` : `NOT (${c.text})`)).join(' AND '),
  }));
}
