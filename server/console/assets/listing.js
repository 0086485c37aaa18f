// Lists of items. The cursors of the server are used to load the lists page by page.

import { follow, get } from './api.js';
import { toastError } from './ui.js';

/** @typedef {import('./item.js').Item} Item */

/**
 * @typedef {object} Source the filter or query of a list, and its order
 * @property {string} [filter] the UUID of a filter
 * @property {string} q the query. With a filter, it narrows the items of the filter.
 * @property {string} [sort_by]
 * @property {string} [favorite_tag]
 * @property {string} [seed]
 * @property {number} [page_size] the number of items of the first page, if it differs from that of the later pages
 */

/** The number of items of a page. */
const pageSize = 100;

/**
 * Returns the request for the first page.
 * @param {Source} source
 * @returns {{path: string, query: Record<string, string | number | undefined>}}
 */
export function requestOf({ filter, q, page_size = pageSize, ...rest }) {
  return filter
    ? { path: `v2/content/filters/${encodeURIComponent(filter)}`, query: { additional_query: q, ...rest, page_size } }
    : { path: 'v2/content/items', query: { q: q || '*:*', ...rest, page_size } };
}

export class Listing {
  /** @type {Item[]} */
  items = [];
  /**
   * The number of items of the list, including those that are not loaded yet. It is the number at the first page: items can leave the query
   * while the user works on the list, and the server does not count them in the later pages.
   */
  total = 0;
  ms = 0;
  /** The ETag of the first page. */
  etag = '';
  /** @type {Source} */
  source = { q: '' };
  /** @type {string[]} */
  warnings = [];
  /** @type {string | null} */
  #next = null;
  /** @type {AbortController} */
  #abort = new AbortController();
  #loading = false;

  /**
   * Loads the first page. It throws a Problem, or an AbortError after stop.
   * @param {Source} source
   */
  async start(source) {
    this.source = source;
    const { path, query } = requestOf(source);
    this.#take(await get(path, query, this.#abort.signal));
  }

  /** Whether the list has more items than it has loaded. */
  get more() {
    return this.#next !== null;
  }

  /** Loads the next page, and returns whether there are new items. */
  async continue() {
    if (this.#next === null || this.#loading) return false;
    this.#loading = true;
    try {
      const next = new URL(this.#next, location.href);
      next.searchParams.set('page_size', String(pageSize)); // the cursor in the link determines where the page begins
      this.#take(await follow(next.href, { signal: this.#abort.signal }));
      return true;
    } finally {
      this.#loading = false;
    }
  }

  stop() {
    this.#abort.abort();
  }

  /** @param {import('./api.js').Answer} answer */
  #take({ data, warnings, ms, etag }) {
    if (this.items.length === 0) {
      this.ms = ms;
      this.etag = etag;
      this.warnings = warnings;
      this.total = data.total_results ?? 0;
    }
    this.items.push(...(data._embedded?.['ugc:item'] ?? []));
    this.#next = data._links?.next?.href ?? null;
    // Other users can add items, and can remove items before they are loaded.
    this.total = this.#next === null ? this.items.length : Math.max(this.total, this.items.length);
  }
}

/** The list that a page shows, and the list that it requested last. */
export class Listings {
  shown = new Listing();
  /** @type {Listing | null} null after stop */
  #requested = null;

  /**
   * Loads the first page of another list and shows that list. It returns false if the page has requested a different list or has stopped
   * in the meantime. Otherwise, it throws the errors of Listing.start.
   * @param {() => Source | Promise<Source>} source
   */
  async load(source) {
    this.stop();
    const current = new Listing();
    this.#requested = current;
    try {
      await current.start(await source());
    } catch (err) {
      if (this.#requested === current) throw err;
    }
    if (this.#requested !== current) return false;
    this.shown = current;
    return true;
  }

  /** Loads the next page of the list. It returns whether the list has new items and is still shown. */
  async more() {
    const current = this.shown;
    try {
      return await current.continue() && current === this.shown;
    } catch (err) {
      toastError(err);
      return false;
    }
  }

  /** Cancels all requests. */
  stop() {
    this.#requested?.stop();
    this.#requested = null;
    this.shown.stop();
  }
}
