// Filters as the API returns them.

import { pages, Problem } from './api.js';
import { h } from './dom.js';

/** @typedef {Record<string, any>} Filter a filter as the API returns it */

/**
 * Reads all filters, some at a time.
 * @returns {AsyncGenerator<Filter[]>}
 */
export async function* allFilters() {
  for await (const page of pages('v2/content/filters', { page_size: 100 })) yield page._embeded ?? [];
}

/**
 * Returns the owner of a filter: its manifest, or HTTP.
 * @param {unknown} managedBy
 */
export function ownerOf(managedBy) {
  if (!managedBy) return h('span', { class: 'muted' }, 'HTTP');
  const [kind, name] = String(managedBy).split(' ');
  return h('span', { class: 'owner' }, h('bdi', null, name ?? kind));
}

/**
 * Returns the reason why the session cannot use the query of a filter, or null if it can. The API leaves out a query or an order with
 * private fields if the token does not allow ReadPrivate.
 * @param {Filter} filter
 */
export function hiddenFilter({ query, sort_by }) {
  if (query !== undefined && sort_by !== undefined) return null;
  return new Problem(403, { type: 'class-refused', detail: 'the filter uses private fields, so this needs a token that allows the action ReadPrivate' });
}
